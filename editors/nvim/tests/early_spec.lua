-- A question that comes before the server has answered initialize waits for it.
local h = dofile(vim.fs.dirname(vim.fn.fnamemodify(arg[0], ':p')) .. '/helper.lua')
local server = assert(vim.env.STELLA_SERVER, 'STELLA_SERVER names the built server')

local dir = h.dir()
h.write(dir .. '/a.txt', 'one\n')
h.write(dir .. '/script.yaml', 'turns:\n  - text: "Hello."\n')
vim.g.stella = {
  cmd = { server, 'serve', '--stdio' },
  settings = { model = { provider = 'script', script = dir .. '/script.yaml' } },
  trusted = true,
}

h.test('asks at once, and by vim.g.stella alone', function()
  vim.cmd.edit(dir .. '/a.txt')
  local outcome
  require('stella').ask('hello', nil, function(err, r)
    outcome = err or r.stop
  end)
  h.wait('an answer', function() return outcome ~= nil end)
  h.eq('end_turn', outcome)
end)

h.test('a server that is not there is named, and where to look', function()
  require('stella.config').set({ cmd = { 'stella-ls-that-is-not-there' } })
  vim.cmd('checkhealth stella')
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\n')
  assert(text:find('is not on the PATH', 1, true) and text:find('make install', 1, true), text)
end)

h.finish()
