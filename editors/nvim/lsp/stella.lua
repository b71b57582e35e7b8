-- For vim.lsp.enable('stella') (Neovim 0.11 and later).
return require('stella.client').config()
