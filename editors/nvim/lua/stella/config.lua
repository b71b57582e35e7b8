---@class stella.Config
---@field cmd string[] the server's command line
---@field settings table the `stella` section, as in settings.toml
---@field trusted? boolean nil: the server asks once
---@field root_markers string[]
---@field signs boolean signs and a hint on guarded and stale buffers

---@class stella.Options
---@field cmd? string[]
---@field settings? table
---@field trusted? boolean
---@field root_markers? string[]
---@field signs? boolean

local M = {}

---@type stella.Config
local defaults = {
  cmd = { 'stella-ls' },
  settings = {},
  trusted = nil,
  root_markers = { '.stella', '.git' },
  signs = true,
}

local resolved

--- The options are vim.g.stella: a table, or a function that returns one.
---@return stella.Config
function M.get()
  if not resolved then
    local o = vim.g.stella
    if type(o) == 'function' then
      o = o()
    end
    resolved = vim.tbl_deep_extend('force', defaults, o or {})
  end
  return resolved
end

---@param o? stella.Options
function M.set(o)
  resolved = vim.tbl_deep_extend('force', M.get(), o or {})
end

--- What is wrong with the options, one sentence each.
---@return string[]
function M.problems()
  local c, bad = M.get(), {}
  for k in pairs(c) do
    if defaults[k] == nil and k ~= 'trusted' then
      bad[#bad + 1] = ('unknown option %q'):format(k)
    end
  end
  if type(c.cmd) ~= 'table' or type(c.cmd[1]) ~= 'string' then
    bad[#bad + 1] = 'cmd must be a list of strings'
  end
  return bad
end

return M
