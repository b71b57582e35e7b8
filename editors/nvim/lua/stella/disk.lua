-- What the disk was when a buffer was last read or written, so that a save
-- never overrides what somebody else put there since.
local M = {}

local uv = vim.uv or vim.loop

---@param name string
local function stat(name)
  local s = uv.fs_stat(name)
  return s and { sec = s.mtime.sec, nsec = s.mtime.nsec, size = s.size, ino = s.ino } or nil
end

---@param buf integer
function M.remember(buf)
  if vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].buftype == '' then
    vim.b[buf].stella_disk = stat(vim.api.nvim_buf_get_name(buf)) or vim.NIL
  end
end

--- Why the buffer must not be saved now; nil when nothing stands against it.
---@param buf integer
---@return string?
function M.obstacle(buf)
  local known = vim.b[buf].stella_disk
  local now = stat(vim.api.nvim_buf_get_name(buf))
  if known == nil then
    return 'it is not known what was on disk when the buffer was read'
  end
  if known == vim.NIL then
    return now and 'a file appeared on disk under the new buffer' or nil
  end
  if not now then
    return 'the file was deleted on disk'
  end
  if not vim.deep_equal(known, now) then
    return 'the file changed on disk since the buffer was read'
  end
end

--- Saves without prompts and without forcing; save participants run.
---@param buf integer
---@return boolean saved, string? reason
function M.save(buf)
  local why = M.obstacle(buf)
  if why then
    return false, why
  end
  local fix = vim.bo[buf].fixendofline
  vim.bo[buf].fixendofline = false
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd('silent keepalt lockmarks write')
  end)
  if vim.api.nvim_buf_is_valid(buf) then
    vim.bo[buf].fixendofline = fix
  end
  if not ok then
    return false, tostring(err):gsub('^.-Vim[^:]*:', '')
  end
  if vim.bo[buf].modified then
    return false, 'the editor did not write the file'
  end
  M.remember(buf)
  return true
end

return M
