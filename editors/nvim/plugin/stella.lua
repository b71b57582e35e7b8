-- Requires nothing at start-up: everything is loaded on first use.
if vim.g.loaded_stella then
  return
end
vim.g.loaded_stella = true

vim.api.nvim_create_user_command('Stella', function(o)
  require('stella.command').run(o)
end, {
  nargs = '*',
  bang = true,
  range = true,
  desc = 'Stella: agent sessions that never overwrite what you changed',
  complete = function(...)
    return require('stella.command').complete(...)
  end,
})

for name, sub in pairs({ Ask = 'ask', Explain = 'explain', Fix = 'fix', Cancel = 'cancel', Guarded = 'guarded', Transcript = 'transcript' }) do
  vim.keymap.set({ 'n', 'x' }, '<Plug>(Stella' .. name .. ')', ':Stella ' .. sub .. '<CR>', { silent = true })
end

-- A buffer without a filetype would be invisible to vim.lsp.enable.
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufWritePost', 'FileType' }, {
  group = vim.api.nvim_create_augroup('stella', {}),
  callback = function(ev)
    if vim.g.stella_enabled or (vim.lsp.is_enabled and vim.lsp.is_enabled('stella')) then
      require('stella.client').attach(ev.buf)
    end
    if ev.event == 'BufReadPost' or ev.event == 'BufWritePost' then
      require('stella.disk').remember(ev.buf)
    end
  end,
})

-- Another server came to a buffer, or left it, or has said late what it can do.
vim.api.nvim_create_autocmd({ 'LspAttach', 'LspDetach', 'BufEnter' }, {
  group = 'stella',
  callback = function()
    if package.loaded['stella.client'] then
      require('stella.elsewhere').refresh()
    end
  end,
})
