-- The person in `stella-ls demo --editor nvim`: opens the file, asks, types a
-- line while the session plans, and reports everything as JSON lines.
local env = vim.env

local function report(e)
  io.stdout:write(vim.json.encode(e), '\n')
  io.stdout:flush()
end

vim.opt.runtimepath:prepend(env.DEMO_PLUGIN)
vim.o.swapfile = false

local P = require('stella.protocol')
local handlers = require('stella.handlers')
local said, typed = '', false

local function release()
  require('stella.client').request('stella/test/release', { name = 'person' })
end

local function type_line()
  typed = true
  vim.cmd.buffer(env.DEMO_FILE)
  local keys = vim.api.nvim_replace_termcodes('Go<CR><CR>' .. env.DEMO_LINE .. '<Esc>', true, false, true)
  vim.o.autoindent = false
  vim.bo.indentexpr = ''
  vim.bo.formatoptions = ''
  vim.api.nvim_feedkeys(keys, 'tx', false)
  report({ person = 'types at the end of ' .. env.DEMO_FILE .. ', without saving: ' .. env.DEMO_LINE })
  release()
end

local update = handlers[P.sessionUpdate]
handlers[P.sessionUpdate] = function(err, p, ctx)
  update(err, p, ctx)
  local u = p.update
  report({ update = { kind = u.kind, text = u.text, tool = u.tool, ok = u.ok, input = u.input } })
  if u.kind == 'text' then
    said = said .. u.text
  end
  if not typed and said:find(env.DEMO_HOLD, 1, true) then
    vim.schedule(type_line)
    typed = true
  end
end

require('stella').setup({ cmd = { env.DEMO_SERVER, 'serve', '--stdio', '--test-hooks' }, trusted = true, root_markers = { 'README.md' } })
vim.cmd.edit(env.DEMO_FILE)
require('stella.client').attach(0)
vim.wait(10000, function() return require('stella.client').get(0) ~= nil end, 5)
report({ person = 'opens ' .. env.DEMO_FILE .. ' in the editor' })
local buf = vim.api.nvim_get_current_buf()

local done
report({ person = 'asks: ' .. env.DEMO_REQUEST })
require('stella').ask(env.DEMO_REQUEST, nil, function(err, r)
  done = { stop = r and r.stop or 'error', error = err or (r and r.error ~= vim.NIL and r.error) or nil }
end)
if not vim.wait(50000, function() return done ~= nil end, 10) then
  done = { stop = 'error', error = 'the turn did not end' }
end

done.buffer = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n') .. '\n'
done.dirty = vim.bo[buf].modified
report({ ['end'] = done })
local client = require('stella.client').get(buf)
if client then
  if vim.fn.has('nvim-0.11') == 1 then client:stop() else client.stop() end
  vim.wait(5000, function() return client:is_stopped() end, 10)
end
vim.cmd('qall!')
