-- Which languages other servers answer for: with graph.serve = "auto" ours keeps
-- quiet about them, so that nothing appears twice.
local protocol = require('stella.protocol')

local M = {}

---@type table<integer, string[]> by client: what it was told last
local told = {}
local waiting = false

--- The languages of a client's buffers that another client finds definitions in.
---@param client vim.lsp.Client
---@return string[]
function M.languages(client)
  local found = {}
  for buf in pairs(client.attached_buffers) do
    if vim.api.nvim_buf_is_valid(buf) then
      local ft = vim.bo[buf].filetype
      local id = client.get_language_id and client.get_language_id(buf, ft) or ft
      for _, other in ipairs(vim.lsp.get_clients({ bufnr = buf, method = 'textDocument/definition' })) do
        if other.name ~= client.name then
          found[id] = true
        end
      end
    end
  end
  local list = vim.tbl_keys(found)
  table.sort(list)
  return list
end

local function tell()
  waiting = false
  for _, client in ipairs(vim.lsp.get_clients({ name = 'stella' })) do
    local list = M.languages(client)
    if not vim.deep_equal(list, told[client.id] or {}) then
      told[client.id] = list
      if vim.fn.has('nvim-0.11') == 1 then
        client:notify(protocol.graphElsewhere, { languages = list })
      else
        client.notify(protocol.graphElsewhere, { languages = list })
      end
    end
  end
end

--- Looks again, once the clients have come to rest: LspDetach comes while the
--- client is still attached.
function M.refresh()
  if not waiting then
    waiting = true
    vim.schedule(tell)
  end
end

return M
