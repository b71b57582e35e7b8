-- stella/applyEdit: compare the buffer with what the server computed its edit
-- from, and apply, in one go. Nothing between the comparison and the last
-- nvim_buf_set_lines may yield or run the event loop.
local text = require('stella.text')
local disk = require('stella.disk')

local M = {}

--- Sends changes that are still held back by the debounce, so that no answer
--- of ours overtakes its own didChange.
---@param client vim.lsp.Client
---@param buf integer
function M.flush(client, buf)
  local ok, tracking = pcall(require, 'vim.lsp._changetracking')
  if ok and tracking.flush then
    pcall(tracking.flush, client, buf)
  end
end

---@param uri string
---@return integer? buffer that is loaded for uri
local function loaded(uri)
  local ok, name = pcall(vim.uri_to_fname, uri)
  if not ok then
    name = uri
  end
  for _, b in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(b) and (vim.api.nvim_buf_get_name(b) == name or vim.uri_from_bufnr(b) == uri) then
      return b
    end
  end
end

---@param buf integer
local function break_undo(buf)
  local levels = vim.bo[buf].undolevels
  vim.bo[buf].undolevels = levels
end

---@param p stella.ApplyEditParams
---@param client vim.lsp.Client
---@return stella.ApplyEditResult
function M.apply(p, client)
  local buf = loaded(p.uri)
  local function refuse(reason, version, sha)
    return { applied = false, reason = reason, version = version or 0, sha256_applied = sha or '', saved = false }
  end
  if not buf or not vim.lsp.buf_is_attached(buf, client.id) then
    return refuse('closed')
  end
  M.flush(client, buf)
  local version = vim.lsp.util.buf_versions[buf] or 0
  if not vim.bo[buf].modifiable or vim.bo[buf].readonly then
    return refuse('readonly', version)
  end
  local was_modified = vim.bo[buf].modified
  local old, new = text.splice(buf, p.edits, client.offset_encoding)
  local sha = text.sha256(old)
  if sha ~= p.sha256 then
    return refuse('content', version, sha)
  end
  if version ~= p.version then
    return refuse('version', version, sha)
  end
  break_undo(buf)
  local eol_changed = text.replace(buf, old, new)
  break_undo(buf)
  M.flush(client, buf)
  if eol_changed then
    -- Neovim sends no didChange for a final newline alone: show the server the
    -- buffer afresh.
    vim.lsp.buf_detach_client(buf, client.id)
    vim.lsp.buf_attach_client(buf, client.id)
  end
  local result = {
    applied = true,
    version = vim.lsp.util.buf_versions[buf] or 0,
    sha256_applied = text.sha256(text.full(buf)),
    saved = false,
  }
  if p.save and was_modified then
    result.save_reason = 'the buffer held unsaved changes'
  elseif p.save then
    result.saved, result.save_reason = disk.save(buf)
    M.flush(client, buf)
    if result.saved then
      result.sha256_after = text.sha256(text.full(buf))
      result.version = vim.lsp.util.buf_versions[buf] or 0
    end
  end
  return result
end

---@param err any
---@param p stella.ApplyEditParams
---@param ctx {client_id: integer}
function M.handler(err, p, ctx)
  if err then
    return nil, err
  end
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  local ok, r = pcall(M.apply, p, client)
  if ok then
    return r
  end
  vim.schedule(function()
    vim.notify('stella: an edit could not be applied: ' .. tostring(r), vim.log.levels.ERROR)
  end)
  return { applied = false, reason = 'error', version = 0, sha256_applied = '', saved = false }
end

return M
