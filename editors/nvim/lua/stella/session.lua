-- Sessions as the person meets them: ask, steer, cancel, resume.
local P = require('stella.protocol')
local client = require('stella.client')

local M = {
  ---@type string? the session that :Stella ask speaks to
  current = nil,
  ---@type table<string, {running: boolean, step: integer, request?: integer, turn?: string}>
  known = {},
}

local function state(id)
  M.known[id] = M.known[id] or { running = false, step = 0 }
  return M.known[id]
end

local function changed()
  vim.api.nvim_exec_autocmds('User', { pattern = 'StellaStatus', modeline = false })
  vim.cmd.redrawstatus()
end

---@param cb fun(id: string)
local function ensure(cb)
  if M.current then
    return cb(M.current)
  end
  client.request(P.sessionStart, vim.empty_dict(), function(err, r)
    if err then
      return vim.notify('stella: ' .. err, vim.log.levels.ERROR)
    end
    M.current = r.sessionId
    state(r.sessionId)
    cb(r.sessionId)
  end)
end

--- Sends a prompt; the transcript opens beside the code, without taking focus.
---@param text string
---@param context? {uri: string, range?: lsp.Range}[]
---@param cb? fun(err?: string, result?: table)
function M.ask(text, context, cb)
  if not client.any() and not client.attach(0) then
    local msg = 'open a file of the workspace first, so that the server knows where to work'
    vim.notify('stella: ' .. msg, vim.log.levels.WARN)
    return cb and cb(msg)
  end
  ensure(function(id)
    local s = state(id)
    local steer = s.running or nil
    local t = require('stella.transcript')
    t.open(id)
    t.prompt(id, text, steer)
    if not steer then
      s.running, s.step = true, 0
      changed()
    end
    local params = { sessionId = id, text = text, context = context, steer = steer }
    local _, req = client.request(P.sessionPrompt, params, function(err, r)
      if steer and not err then
        return cb and cb(nil, r)
      end
      s.running, s.request = false, nil
      t.ended(id, err, r)
      changed()
      vim.cmd('silent! checktime')
      if cb then
        cb(err, r)
      end
    end)
    if not steer then
      s.request = req
    end
  end)
end

function M.cancel()
  if M.current then
    client.request(P.sessionCancel, { sessionId = M.current })
  end
end

--- One streamed update.
function M.update(p)
  local s = state(p.sessionId)
  M.current = M.current or p.sessionId
  s.step, s.turn = p.step, p.turnId
  require('stella.transcript').update(p.sessionId, p.update)
  if p.update.kind == 'toolResult' then
    -- Files that a session wrote on disk show in clean buffers at once.
    vim.schedule(function()
      vim.cmd('silent! checktime')
    end)
  end
  changed()
end

---@param cb fun(sessions: table[])
function M.list(cb)
  client.request(P.sessionList, vim.empty_dict(), function(err, r)
    if err then
      return vim.notify('stella: ' .. err, vim.log.levels.ERROR)
    end
    cb(r.sessions)
  end)
end

--- After a crash, or when Neovim comes back: one command continues.
function M.offer_resume()
  client.request(P.sessionList, vim.empty_dict(), function(err, r)
    local cut = err and {} or vim.tbl_filter(function(s)
      return s.state == 'interrupted'
    end, r.sessions)
    if #cut > 0 then
      local more = #cut > 1 and (' (%d more: :Stella sessions)'):format(#cut - 1) or ''
      vim.notify(('stella: "%s" was interrupted in the middle of a turn; :Stella resume continues it%s'):format(cut[1].title ~= '' and cut[1].title or cut[1].sessionId, more))
    end
  end)
end

--- A continued turn runs in the server, and no request of ours ends with it.
---@param id string
local function follow(id)
  local s = state(id)
  s.running = true
  changed()
  local function look()
    if not s.running then
      return -- the server went away meanwhile
    end
    client.request(P.sessionList, vim.empty_dict(), function(err, r)
      for _, x in ipairs(err and {} or r.sessions) do
        if x.sessionId == id and x.state == 'running' then
          return vim.defer_fn(look, 300)
        end
      end
      s.running = false
      require('stella.transcript').note(id, '*— the turn ended —*')
      changed()
      vim.cmd('silent! checktime')
    end)
  end
  look()
end

--- Shows a session, which is spoken to from then on; continue goes on with its
--- interrupted turn.
---@param id string
---@param continue boolean
function M.resume(id, continue)
  require('stella.transcript').load(id, function()
    M.current = id
    changed()
    if not continue then
      return -- an interruption that is only looked at can still be continued later
    end
    client.request(P.sessionResume, { sessionId = id, continue = true }, function(err, r)
      if err then
        return vim.notify('stella: ' .. err, vim.log.levels.ERROR)
      end
      if r.interrupted then
        follow(id)
      end
    end)
  end)
end

function M.new()
  M.current = nil
end

--- Everything that ran is over: the server is gone.
function M.lost()
  for id, s in pairs(M.known) do
    if s.running then
      s.running = false
      require('stella.transcript').ended(id, 'the server stopped; :Stella resume continues', nil)
    end
  end
  M.current = nil
  changed()
end

---@return boolean running, integer step
function M.running()
  for _, s in pairs(M.known) do
    if s.running then
      return true, s.step
    end
  end
  return false, 0
end

return M
