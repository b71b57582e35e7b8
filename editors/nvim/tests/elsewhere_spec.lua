-- graph.serve: what the editor gets from here, alone and beside another server.
local h = dofile(vim.fs.dirname(vim.fn.fnamemodify(arg[0], ':p')) .. '/helper.lua')
local server = assert(vim.env.STELLA_SERVER, 'STELLA_SERVER names the built server')

local dir = h.dir()
h.write(dir .. '/a.py', 'def area():\n    return 1\n')
h.write(dir .. '/b.py', 'from a import area\n\narea()\n')
h.write(dir .. '/c.go', 'package c\n\nfunc Area() {}\n\nfunc use() { Area() }\n')
require('stella').setup({ cmd = { server, 'serve', '--stdio' }, trusted = true })
vim.cmd('filetype on')

local function open(name)
  vim.cmd.edit(dir .. '/' .. name)
  local buf = vim.api.nvim_get_current_buf()
  h.wait('the server', function() return require('stella.client').get(buf) ~= nil end)
  return buf
end

--- How many definitions the server gives for a place.
local function definitions(buf, line, character)
  local client, got = require('stella.client').get(buf), nil
  local params = { textDocument = { uri = vim.uri_from_bufnr(buf) }, position = { line = line, character = character } }
  local function done(err, result)
    assert(not err, vim.inspect(err))
    got = result == vim.NIL and {} or result or {}
  end
  if vim.fn.has('nvim-0.11') == 1 then
    client:request('textDocument/definition', params, done, buf)
  else
    client.request('textDocument/definition', params, done, buf)
  end
  h.wait('an answer', function() return got ~= nil end)
  return #got
end

local function soon(what, want, buf, line, character)
  local got
  h.wait(function() return ('%s: want %d, got %s'):format(what, want, tostring(got)) end, function()
    got = definitions(buf, line, character)
    return got == want
  end)
end

local py, other
h.test('alone it answers', function()
  py = open('b.py')
  soon('python', 1, py, 2, 1)
end)

h.test('beside a server that only watches it answers still', function()
  local id = vim.lsp.start({ name = 'watcher', cmd = h.fake_server('utf-16').cmd, root_dir = dir }, { bufnr = py })
  vim.wait(200)
  h.eq({}, require('stella.elsewhere').languages(require('stella.client').get(py)))
  soon('python', 1, py, 2, 1)
  vim.lsp.stop_client(id)
end)

h.test('another server of the language makes it quiet, for that language', function()
  local fake = h.fake_server('utf-16')
  fake.provides = { definitionProvider = true }
  other = vim.lsp.start({ name = 'another', cmd = fake.cmd, root_dir = dir }, { bufnr = py })
  soon('python beside another server', 0, py, 2, 1)
  local go = open('c.go')
  soon('go', 1, go, 4, 14)
  soon('python beside another server', 0, py, 2, 1)
end)

h.test('it answers again when the other one is gone', function()
  vim.lsp.stop_client(other, true)
  soon('python', 1, py, 2, 1)
end)

h.finish()
