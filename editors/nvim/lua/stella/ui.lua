-- Status text, questions and messages.
local M = { question_open = nil }

--- What the server waits for a person to answer; nil when nothing.
function M.waiting(p)
  M.question_open = p
  vim.cmd.redrawstatus()
end

--- For any status line: "stella: idle, 12 guarded, 1 stale".
---@return string
function M.status()
  if not require('stella.client').get() then
    return ''
  end
  local g = require('stella.guarded')
  local running, step = require('stella.session').running()
  local parts = {}
  if M.question_open then
    parts[#parts + 1] = 'waiting for you'
  elseif running then
    parts[#parts + 1] = 'working, step ' .. step
  else
    parts[#parts + 1] = 'idle'
  end
  if g.fresh + g.stale > 0 then
    parts[#parts + 1] = (g.fresh + g.stale) .. ' guarded'
  end
  if g.stale > 0 then
    parts[#parts + 1] = g.stale .. ' stale'
  end
  return 'stella: ' .. table.concat(parts, ', ')
end

---@param code integer
---@param signal integer
function M.server_gone(code, signal)
  require('stella.session').lost()
  require('stella.question').lost()
  vim.notify(
    ('stella: the server ended (exit %d, signal %d). Its log: %s. :Stella resume starts it again and continues.'):format(
      code, signal, vim.lsp.log and vim.lsp.log.get_filename and vim.lsp.log.get_filename() or vim.lsp.get_log_path()
    ),
    vim.log.levels.ERROR
  )
end

return M
