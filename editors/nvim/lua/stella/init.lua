-- Stella for Neovim: thin. What a session does is decided in the server; this
-- side shows it, answers questions, and applies edits by compare-and-set.
local M = {}

--- Optional. Without it, `vim.lsp.enable('stella')` or `:Stella ask` start the server.
---@param opts? stella.Options
function M.setup(opts)
  require('stella.config').set(opts)
  vim.g.stella_enabled = true
  for _, b in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(b) then
      require('stella.client').attach(b)
    end
  end
end

--- For any status line; empty while no server runs.
---@return string
function M.status()
  return require('stella.ui').status()
end

--- Asks in the current session; cb gets the outcome of the turn.
---@param text string
---@param context? {uri: string, range?: lsp.Range}[]
---@param cb? fun(err?: string, result?: table)
function M.ask(text, context, cb)
  require('stella.session').ask(text, context, cb)
end

return M
