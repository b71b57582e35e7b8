-- Hover in a real Neovim with the real server: the memory that cites a symbol is
-- shown with its id and how often sessions cited it, and marked once it is
-- quarantined.
local h = dofile(vim.fs.dirname(vim.fn.fnamemodify(arg[0], ':p')) .. '/helper.lua')
local server = assert(vim.env.STELLA_SERVER, 'STELLA_SERVER names the built server')

local id = 'nod_d8e68b0b69512e3d25f0a6cc' -- of memory://port
local dir = h.dir()
vim.fn.mkdir(dir .. '/deploy', 'p')
vim.fn.mkdir(dir .. '/.stella/memories', 'p')
local path = dir .. '/deploy/proxy.py'
h.write(path, 'def start_proxy():\n    return 8080\n')
h.write(dir .. '/.stella/memories/port.md', 'The staging proxy listens on port 8080 (start_proxy in deploy/proxy.py).\n')
local cite = [[
  - calls: [{tool: cite_memory, input: {memory_id: %s, useful_score: %d, truthful: %s, remark: "looked at the proxy"}}]
  - text: "Turn %d is over."
]]
h.write(dir .. '/script.yaml', 'turns:\n' .. cite:format(id, 5, 'true', 1) .. cite:format(id, 4, 'true', 2)
  .. cite:format(id, 1, 'false', 3) .. cite:format(id, 1, 'false', 4))

require('stella').setup({
  cmd = { server, 'serve', '--stdio' },
  settings = { model = { provider = 'script', script = dir .. '/script.yaml' } },
  trusted = true,
})
vim.cmd.edit(vim.fn.fnameescape(path))
local win = vim.api.nvim_get_current_win()

local function transcript()
  local s = require('stella.session').current
  local b = s and require('stella.transcript').buffer(s)
  return b and table.concat(vim.api.nvim_buf_get_lines(b, 0, -1, true), '\n') or ''
end

local function ask(turn)
  vim.api.nvim_set_current_win(win)
  vim.cmd('Stella ask turn ' .. turn)
  h.wait(function() return 'turn ' .. turn .. ': ' .. transcript() end, function()
    return transcript():find('Turn ' .. turn .. ' is over.', 1, true) ~= nil and not require('stella.session').running()
  end, 30000)
end

--- What the floating window of vim.lsp.buf.hover() holds.
local function hover()
  vim.api.nvim_set_current_win(win)
  vim.api.nvim_win_set_cursor(win, { 1, 6 })
  local function float()
    for _, w in ipairs(vim.api.nvim_list_wins()) do
      if w ~= win and vim.api.nvim_win_get_config(w).relative ~= '' then
        return w
      end
    end
  end
  local old = float()
  if old then
    vim.api.nvim_win_close(old, true)
  end
  vim.lsp.buf.hover()
  h.wait('the hover', float, 30000)
  local shown = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(float()), 0, -1, true), '\n')
  vim.api.nvim_win_close(float(), true)
  return shown
end

h.test('attaches', function()
  h.wait('a client', function()
    local c = require('stella.client').get(vim.api.nvim_win_get_buf(win))
    return c and c.initialized
  end, 30000)
end)

h.test('hover shows the memory that cites the symbol, and its citations', function()
  ask(1)
  local shown = hover()
  assert(shown:find(id, 1, true), shown)
  assert(shown:find('cited once', 1, true), shown)
  ask(2)
  shown = hover()
  assert(shown:find(id, 1, true) and shown:find('cited 2 times', 1, true), shown)
  assert(shown:find('looked at the proxy', 1, true), shown)
end)

h.test('a quarantined memory is marked', function()
  ask(3)
  local once = hover()
  assert(once:find(id, 1, true) and not once:find('quarantined', 1, true), once)
  ask(4)
  local shown = hover()
  assert(shown:find(id, 1, true) and shown:find('quarantined', 1, true), shown)
end)

h.finish()
