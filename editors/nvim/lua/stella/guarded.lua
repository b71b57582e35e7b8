-- Guarded files: what the sessions have seen, and how it stands.
local P = require('stella.protocol')

local M = {
  ---@type table<string, table<string, stella.GuardedFile>> by uri, then by session
  files = {},
  fresh = 0,
  stale = 0,
}

local ns = vim.api.nvim_create_namespace('stella')

---@param uri string
---@return stella.GuardedFile[] the sessions' rows, stale ones first
function M.of(uri)
  local rows = vim.tbl_values(M.files[uri] or {})
  table.sort(rows, function(a, b)
    if (a.state == 'stale') ~= (b.state == 'stale') then
      return a.state == 'stale'
    end
    return a.sessionId < b.sessionId
  end)
  return rows
end

---@param buf integer
local function draw(buf)
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  local rows = M.of(vim.uri_from_bufnr(buf))
  local row = rows[1]
  vim.b[buf].stella_status = row and row.state or nil
  if not row or not require('stella.config').get().signs then
    return
  end
  local stale = row.state == 'stale'
  local hint = stale and ('stella: stale, ' .. table.concat(row.changedBy or {}, ', '))
    or row.state == 'writing' and 'stella: writing'
    or 'stella: guarded'
  vim.api.nvim_buf_set_extmark(buf, ns, 0, 0, {
    sign_text = stale and 'S!' or 'S',
    sign_hl_group = stale and 'DiagnosticSignWarn' or 'DiagnosticSignInfo',
    virt_text = { { hint, stale and 'DiagnosticVirtualTextWarn' or 'Comment' } },
    virt_text_pos = 'right_align',
    strict = false,
  })
end

---@param p {files: stella.GuardedFile[], fresh: integer, stale: integer}
function M.status(p)
  M.fresh, M.stale = p.fresh, p.stale
  for _, f in ipairs(p.files) do
    M.files[f.uri] = M.files[f.uri] or {}
    M.files[f.uri][f.sessionId] = f.state ~= '' and f or nil
    local buf = vim.fn.bufnr(vim.uri_to_fname(f.uri))
    if buf > 0 and vim.api.nvim_buf_is_loaded(buf) then
      draw(buf)
    end
  end
  vim.api.nvim_exec_autocmds('User', { pattern = 'StellaStatus', modeline = false })
  vim.cmd.redrawstatus()
end

--- The guarded files in the quickfix list, stale ones first.
function M.quickfix()
  require('stella.client').request(P.guardFiles, vim.empty_dict(), function(err, r)
    if err then
      return vim.notify('stella: ' .. err, vim.log.levels.ERROR)
    end
    local items = {}
    for _, f in ipairs(r.files) do
      items[#items + 1] = {
        filename = vim.uri_to_fname(f.uri),
        lnum = 1,
        type = f.state == 'stale' and 'W' or 'I',
        text = ('%s in session %s%s'):format(f.state, f.sessionId, #(f.changedBy or {}) > 0 and ': ' .. table.concat(f.changedBy, ', ') or ''),
      }
    end
    table.sort(items, function(a, b)
      return a.type .. a.filename > b.type .. b.filename
    end)
    vim.fn.setqflist({}, ' ', { title = 'Stella: guarded files', items = items })
    if #items == 0 then
      return vim.notify('stella: no session has seen a file yet')
    end
    vim.cmd('botright copen')
  end)
end

return M
