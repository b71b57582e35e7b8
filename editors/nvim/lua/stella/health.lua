local M = {}

function M.check()
  local h, config = vim.health, require('stella.config')
  h.start('stella')
  if vim.fn.has('nvim-0.10') == 1 then
    h.ok('Neovim ' .. tostring(vim.version()))
  else
    h.error('Neovim 0.10 or later is needed')
  end
  local cmd = config.get().cmd
  for _, p in ipairs(config.problems()) do
    h.error(p)
  end
  local path = vim.fn.exepath(cmd[1])
  if path == '' then
    h.error(('the server %q is not on the PATH'):format(cmd[1]), { 'build and install it with `make install`', "or set vim.g.stella = { cmd = { '/path/to/stella-ls' } }" })
    return
  end
  h.ok('server: ' .. path)
  local r = vim.system({ path, 'doctor' }, { text = true, timeout = 10000 }):wait()
  if r.code == 0 then
    h.ok('stella-ls doctor:\n' .. vim.trim(r.stdout or ''))
  else
    h.warn('stella-ls doctor reports problems:\n' .. vim.trim((r.stdout or '') .. (r.stderr or '')))
  end
  local c = require('stella.client').get()
  if c then
    h.ok(('a server runs for %s (client %d, positions in %s)'):format(c.config.root_dir or 'no root', c.id, c.offset_encoding))
  else
    h.info('no server runs now; open a file, then :Stella ask')
  end
  h.info('client log: ' .. (vim.lsp.log and vim.lsp.log.get_filename and vim.lsp.log.get_filename() or vim.lsp.get_log_path()))
end

return M
