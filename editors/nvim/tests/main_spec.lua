-- The main job in a real Neovim with the real server: a person types while a
-- session works; the stale write is refused, the status shows it, the model
-- plans anew, and the person's text survives.
local h = dofile(vim.fs.dirname(vim.fn.fnamemodify(arg[0], ':p')) .. '/helper.lua')
local server = assert(vim.env.STELLA_SERVER, 'STELLA_SERVER names the built server')

local dir = h.dir()
vim.fn.mkdir(dir .. '/api', 'p')
local path = dir .. '/api/pricing.py'
h.write(path, 'def price(tier):\n    if tier == "gold":\n        return 80\n    return 100\n')
h.write(dir .. '/script.yaml', [[
turns:
  - text: "Let me look at the prices."
    calls: [{tool: read_file, input: {path: api/pricing.py}}]
  - text: "Gold becomes 75."
    wait: typed
    calls: [{tool: edit_file, input: {path: api/pricing.py, base: "{{base api/pricing.py}}", edits: [{old: "return 80", new: "return 75"}]}}]
  - expect: {tool_result: {status: stale_base, changed_by: {contains: typing}, diff_since_read: {contains: "+# mine"}}}
    text: "It changed; I read it again."
    calls: [{tool: read_file, input: {path: api/pricing.py}}]
  - calls: [{tool: edit_file, input: {path: api/pricing.py, base: "{{base api/pricing.py}}", edits: [{old: "return 80", new: "return 75"}]}}]
  - expect: {tool_result: {status: applied}}
    text: "Done, and your line is still there."
  - text: "Second turn: one more."
    calls: [{tool: edit_file, input: {path: api/pricing.py, base: "{{base api/pricing.py}}", edits: [{old: "return 100", new: "return 110"}]}}]
  - expect: {tool_result: {status: applied, saved: true}}
    text: "Saved."
]])

require('stella').setup({
  cmd = { server, 'serve', '--stdio', '--test-hooks' },
  settings = { model = { provider = 'script', script = dir .. '/script.yaml' } },
  trusted = true,
})
vim.cmd.edit(vim.fn.fnameescape(path))
local buf = vim.api.nvim_get_current_buf()
vim.bo[buf].autoindent = false

local function lines()
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n')
end
local function transcript()
  local id = require('stella.session').current
  local b = id and require('stella.transcript').buffer(id)
  return b and table.concat(vim.api.nvim_buf_get_lines(b, 0, -1, true), '\n') or ''
end
local function shown()
  return ('status %q\ntranscript:\n%s'):format(require('stella').status(), transcript())
end

h.test('attaches', function()
  h.wait('a client', function()
    local c = require('stella.client').get(buf)
    return c and c.initialized
  end)
  h.eq('stella: idle', require('stella').status())
end)

h.test('asks from a code action, and the transcript streams', function()
  local select, input = vim.ui.select, vim.ui.input
  local offered
  vim.ui.select = function(items, opts, cb)
    offered = vim.tbl_map(opts.format_item or tostring, items)
    for i, title in ipairs(offered) do
      if title:find('Ask Stella', 1, true) then
        return cb(items[i], i)
      end
    end
    cb(nil)
  end
  vim.ui.input = function(_, cb)
    cb('make gold 75')
  end
  vim.lsp.buf.code_action()
  h.wait(function() return 'the action; offered: ' .. vim.inspect(offered) end, function()
    return offered ~= nil and transcript():find('make gold 75', 1, true) ~= nil
  end)
  vim.ui.select, vim.ui.input = select, input
  local id
  h.wait('session', function() id = require('stella.session').current; return id ~= nil end)
  local ask = require('stella.session')
  h.wait(shown, function() return transcript():find('Let me look at the prices.', 1, true) ~= nil end)
  h.wait(shown, function() return require('stella').status():find('1 guarded', 1, true) ~= nil end)
  assert(ask.running(), 'not running: ' .. shown())
  assert(require('stella').status():find('working', 1, true), shown())
  h.eq('fresh', vim.b[buf].stella_status)
end)

h.test('typing makes the file stale within 100 ms, in status, sign and hint', function()
  local t0 = vim.uv.hrtime()
  vim.api.nvim_feedkeys('O# mine\27', 'tx', false)
  h.wait(shown, function() return require('stella').status():find('1 stale', 1, true) ~= nil end)
  local ms = (vim.uv.hrtime() - t0) / 1e6
  h.say(('     stale after %.0f ms'):format(ms))
  h.eq('stale', vim.b[buf].stella_status)
  local ns = vim.api.nvim_get_namespaces().stella
  local marks = vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })
  h.eq('S!', vim.trim(marks[1][4].sign_text))
  assert(marks[1][4].virt_text[1][1]:find('typing', 1, true), vim.inspect(marks))
end)

h.test('the stale write is refused and shown with its diff; the re-planned one lands beside the typing', function()
  require('stella.client').request('stella/test/release', { name = 'typed' })
  h.wait(shown, function() return transcript():find('your line is still there', 1, true) ~= nil end)
  h.wait(shown, function() return not require('stella.session').running() end)
  local t = transcript()
  assert(t:find('refused', 1, true) and t:find('+# mine', 1, true) and t:find('stale_base', 1, true), t)
  h.eq('# mine\ndef price(tier):\n    if tier == "gold":\n        return 75\n    return 100', lines())
  h.eq(true, vim.bo[buf].modified, 'the person has not saved')
  assert(h.read(path):find('return 80', 1, true), 'nothing reached the disk')
  h.wait(shown, function() return require('stella').status() == 'stella: idle, 1 guarded' end)
end)

h.test('one undo takes the edit back and leaves the typing', function()
  vim.cmd.undo()
  assert(lines():find('return 80', 1, true) and lines():find('# mine', 1, true), lines())
  vim.cmd.redo()
  assert(lines():find('return 75', 1, true), lines())
end)

h.test('after a save, an edit of the session is saved too', function()
  vim.cmd('silent write')
  vim.cmd('Stella ask one more')
  h.wait(shown, function() return transcript():find('Saved.', 1, true) ~= nil end)
  h.wait(shown, function() return not require('stella.session').running() end)
  assert(h.read(path):find('return 110', 1, true), h.read(path))
  h.eq(false, vim.bo[buf].modified)
  h.eq(lines() .. '\n', h.read(path))
end)

h.test('guarded files in the quickfix window', function()
  vim.cmd('Stella guarded')
  h.wait('quickfix', function() return #vim.fn.getqflist() == 1 end)
  assert(vim.fn.getqflist()[1].text:find('fresh', 1, true))
  vim.cmd.cclose()
end)

h.test('tool calls fold in the transcript, the refusal does not', function()
  local b = require('stella.transcript').buffer(require('stella.session').current)
  local folded, open_ = 0, 0
  for i, l in ipairs(vim.api.nvim_buf_get_lines(b, 0, -1, true)) do
    local level = vim.api.nvim_buf_call(b, function() return require('stella.transcript').foldexpr(i) end)
    if l:find('^### tool:') then
      h.eq('>1', level, l)
      folded = folded + 1
    elseif l:find('refused', 1, true) then
      h.eq('0', level, l)
      open_ = open_ + 1
    end
  end
  assert(folded >= 4 and open_ >= 1, folded .. ' ' .. open_)
end)

h.test('checkhealth speaks', function()
  vim.cmd('silent checkhealth stella')
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\n')
  assert(text:find('server', 1, true), text)
  vim.cmd('bwipeout!')
end)

h.test('vimdoc has its tags', function()
  vim.cmd('silent helptags ' .. vim.fn.fnameescape(h.plugin .. '/doc'))
  vim.cmd('help :Stella')
  h.eq('help', vim.bo.buftype)
  assert(vim.api.nvim_buf_get_name(0):find('stella.txt', 1, true), vim.api.nvim_buf_get_name(0))
  os.remove(h.plugin .. '/doc/tags')
  vim.cmd('bwipeout!')
end)

h.finish()
