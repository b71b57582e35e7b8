-- Starting the server and attaching buffers to it.
local config = require('stella.config')

local M = {}

-- Clients whose server has ended: Neovim tells on_exit first and forgets the
-- client in a later turn of its loop, and a request sent in between is never
-- answered.
---@type table<integer, true>
local gone = {}

---@param buf integer
---@return string? root
function M.root(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if name == '' then
    return nil
  end
  local root = vim.fs.root(buf, config.get().root_markers)
  if root then
    return root
  end
  -- A lone file: its own folder, but never a whole home directory.
  local dir = vim.fs.dirname(vim.fs.normalize(name))
  if dir == vim.fs.normalize(vim.uv.os_homedir() or '') or dir == '/' then
    return nil
  end
  return dir
end

--- The client's configuration; lsp/stella.lua returns it too.
---@return table
function M.config()
  local c = config.get()
  require('stella.actions').register()
  local caps = vim.lsp.protocol.make_client_capabilities()
  caps.experimental = vim.tbl_deep_extend('force', caps.experimental or {}, {
    stella = { applyEdit = true, diagnostics = true, permission = true },
  })
  return {
    name = 'stella',
    cmd = c.cmd,
    capabilities = caps,
    init_options = { trusted = c.trusted, settings = next(c.settings) and c.settings or vim.empty_dict() },
    flags = { debounce_text_changes = 10, allow_incremental_sync = true },
    handlers = require('stella.handlers'),
    root_dir = vim.fn.has('nvim-0.11') == 1 and function(buf, on_dir)
      local r = M.root(buf)
      if r then
        on_dir(r)
      end
    end or nil,
    on_init = function()
      M.starting = nil
      vim.schedule(function()
        require('stella.session').offer_resume()
      end)
    end,
    on_exit = function(code, signal, id)
      gone[id] = true
      M.starting = nil
      if code ~= 0 or (signal ~= 0 and signal ~= 15) then
        vim.schedule(function()
          require('stella.ui').server_gone(code, signal)
        end)
      end
    end,
  }
end

---@param buf integer
---@return boolean
local function ordinary(buf)
  return vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and vim.api.nvim_buf_get_name(buf) ~= ''
end

--- Attaches a file's buffer, starting the server when it does not run yet.
---@param buf? integer
---@return integer? client id
function M.attach(buf)
  buf = (buf == nil or buf == 0) and vim.api.nvim_get_current_buf() or buf
  if not ordinary(buf) then
    return nil
  end
  if vim.b[buf].stella_disk == nil then
    require('stella.disk').remember(buf)
  end
  local have = M.get(buf)
  if have then
    return have.id
  end
  local root = M.root(buf)
  if not root then
    return nil
  end
  local c = M.config()
  c.root_dir = root
  M.starting = true
  local id = vim.lsp.start(c, {
    bufnr = buf,
    reuse_client = function(client, conf)
      return client.name == conf.name and client.config.root_dir == conf.root_dir and not gone[client.id]
    end,
  })
  if not id or M.get(buf) then
    M.starting = nil
  end
  return id
end

--- The client of a buffer, or any of ours.
---@param buf? integer
---@return vim.lsp.Client?
function M.get(buf)
  for _, client in ipairs(vim.lsp.get_clients({ name = 'stella', bufnr = buf })) do
    if not gone[client.id] then
      return client
    end
  end
end

---@return vim.lsp.Client?
function M.any()
  local cur = vim.api.nvim_get_current_buf()
  return M.get(cur) or M.get()
end

--- One request; cb gets (error message or nil, result).
---@param method string
---@param params table
---@param cb? fun(err?: string, result?: any)
---@param tries? integer
---@return boolean sent, integer? id
function M.request(method, params, cb, tries)
  local client = M.any()
  if not client and M.starting and (tries or 0) < 200 then
    -- Started, and not initialised yet: the question waits for it.
    vim.defer_fn(function()
      M.request(method, params, cb, (tries or 0) + 1)
    end, 50)
    return true
  end
  if not client then
    local msg = 'no server runs; open a file of the workspace, or see :checkhealth stella'
    if cb then
      cb(msg)
    end
    return false
  end
  local function done(err, result)
    if cb then
      cb(err and (err.message or vim.inspect(err)) or nil, result)
    end
  end
  if vim.fn.has('nvim-0.11') == 1 then
    return client:request(method, params, done)
  end
  return client.request(method, params, done)
end

return M
