-- The transcript of a session: a Markdown buffer that streams. Tool calls and
-- recalled frames are folded; refusals are not, because they must be seen.
local M = {}

---@type table<string, {buf: integer, folds: table<integer, string>, refusals: table<integer, {callId: string, path?: string}>, partial: boolean}>
local open = {}

---@param id string
local function view(id)
  local v = open[id]
  if v and vim.api.nvim_buf_is_valid(v.buf) then
    return v
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, 'stella://session/' .. id)
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'nofile', 'hide', false
  vim.bo[buf].filetype = 'markdown'
  vim.bo[buf].modifiable = false
  v = { buf = buf, folds = {}, refusals = {}, partial = false }
  open[id] = v
  vim.b[buf].stella_session = id
  return v
end

--- The fold level of a line: tool calls, their input and their output fold.
---@param lnum integer
function M.foldexpr(lnum)
  local id = vim.b.stella_session
  local v = id and open[id]
  return v and v.folds[lnum] or '0'
end

---@param v table
---@param lines string[]
---@param fold? boolean
local function append(v, lines, fold)
  vim.bo[v.buf].modifiable = true
  local n = vim.api.nvim_buf_line_count(v.buf)
  local first = n
  if n == 1 and vim.api.nvim_buf_get_lines(v.buf, 0, 1, false)[1] == '' and not v.started then
    vim.api.nvim_buf_set_lines(v.buf, 0, 1, false, lines)
    first = 0
  else
    vim.api.nvim_buf_set_lines(v.buf, n, n, false, lines)
  end
  v.started = true
  vim.bo[v.buf].modifiable = false
  local head
  for i, l in ipairs(lines) do
    head = head or (l ~= '' and i or nil)
    v.folds[first + i] = fold and head and (i == head and '>1' or '1') or '0'
  end
  v.partial = false
  M.follow(v.buf)
end

--- Adds streamed text to the end of the last line.
local function stream(v, text)
  if not v.partial then
    append(v, { '' })
  end
  vim.bo[v.buf].modifiable = true
  local n = vim.api.nvim_buf_line_count(v.buf)
  local last = vim.api.nvim_buf_get_lines(v.buf, n - 1, n, false)[1]
  local lines = vim.split(last .. text, '\n', { plain = true })
  vim.api.nvim_buf_set_lines(v.buf, n - 1, n, false, lines)
  vim.bo[v.buf].modifiable = false
  v.partial = true
  M.follow(v.buf)
end

--- Windows whose cursor stood at the end stay at the end.
---@param buf integer
function M.follow(buf)
  local n = vim.api.nvim_buf_line_count(buf)
  for _, w in ipairs(vim.fn.win_findbuf(buf)) do
    if w ~= vim.api.nvim_get_current_win() then
      pcall(vim.api.nvim_win_set_cursor, w, { n, 0 })
    end
  end
end

--- Shows the transcript in a split; the focus stays where it is.
---@param id string
---@return integer buf
function M.open(id)
  local v = view(id)
  if #vim.fn.win_findbuf(v.buf) == 0 and #vim.api.nvim_list_uis() > 0 then
    local here = vim.api.nvim_get_current_win()
    vim.cmd('botright vsplit')
    local win = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(win, v.buf)
    vim.wo[win].foldmethod = 'expr'
    vim.wo[win].foldexpr = "v:lua.require'stella.transcript'.foldexpr(v:lnum)"
    vim.wo[win].wrap, vim.wo[win].linebreak = true, true
    vim.api.nvim_set_current_win(here)
  end
  return v.buf
end

function M.buffer(id)
  return open[id] and open[id].buf
end

function M.prompt(id, text, steer)
  local lines = vim.split(text, '\n', { plain = true })
  lines[1] = (steer and '## You (steering): ' or '## You: ') .. lines[1]
  append(view(id), vim.list_extend({ '' }, vim.list_extend(lines, { '' })))
end

local function refusal_lines(r)
  local lines = {
    '',
    ('> **refused** (%s): %s'):format(r.status, r.path or ''),
  }
  for _, c in ipairs(r.changed_by or {}) do
    lines[#lines + 1] = '> changed by ' .. c
  end
  if r.diff_since_read and r.diff_since_read ~= '' then
    lines[#lines + 1] = '```diff'
    vim.list_extend(lines, vim.split((r.diff_since_read:gsub('\n$', '')), '\n', { plain = true }))
    lines[#lines + 1] = '```'
  end
  if r.next then
    lines[#lines + 1] = '> next: ' .. r.next
  end
  lines[#lines + 1] = ''
  return lines
end

--- One refusal for each file that was refused.
local function refusals(r)
  if type(r.files) ~= 'table' or #r.files == 0 then
    return { r }
  end
  return vim.tbl_filter(function(f)
    return not vim.tbl_contains({ 'ok', 'applied', 'cancelled' }, f.status)
  end, r.files)
end

--- The refusal in a result as the transcript keeps it: the object in its second line.
local function refusal_in(text)
  local line = (text or ''):match('^[^\n]*\n({[^\n]*})')
  local ok, r = pcall(vim.json.decode, line or '', { luanil = { object = true } })
  return ok and type(r) == 'table' and r.status and (r.next or r.files) and r or nil
end

---@param id string
---@param lines string[]
function M.question(id, lines)
  append(view(id), vim.list_extend({ '' }, vim.list_extend(vim.deepcopy(lines), { '' })))
end

---@param id string
---@param line string
function M.note(id, line)
  append(view(id), { line, '' })
end

--- The refusal at or above the cursor of a transcript's window.
---@return string? session, {callId: string, path?: string}? refusal
function M.refusal_here()
  local id = vim.b.stella_session
  local v = id and open[id]
  if not v then
    return nil
  end
  for l = vim.api.nvim_win_get_cursor(0)[1] + 1, 1, -1 do
    if v.refusals[l] then
      return id, v.refusals[l]
    end
  end
  return id, nil
end

---@param id string
---@param u stella.Update
function M.update(id, u)
  local v = view(id)
  if u.kind == 'text' then
    stream(v, u.text or '')
  elseif u.kind == 'toolCall' then
    local input = vim.split(vim.inspect(u.input or {}), '\n', { plain = true })
    append(v, vim.list_extend({ '', '### tool: ' .. (u.tool or '?') .. ' ' .. M.about(u.input) }, input), true)
  elseif u.kind == 'toolResult' then
    if u.refusal and u.refusal ~= vim.NIL then
      for _, r in ipairs(refusals(u.refusal)) do
        v.refusals[vim.api.nvim_buf_line_count(v.buf) + 1] = { callId = u.callId, path = r.path }
        append(v, refusal_lines(r))
      end
    else
      local mark = u.ok and 'done' or 'error'
      local lines = vim.split(u.text or '', '\n', { plain = true })
      append(v, vim.list_extend({ ('### %s: %s'):format(mark, lines[1] or '') }, vim.list_slice(lines, 2)), true)
    end
  elseif u.kind == 'recall' then
    local lines = { '### recalled: ' .. #(u.frames or {}) }
    for _, f in ipairs(u.frames or {}) do
      lines[#lines + 1] = ('- %s %s (%s)'):format(f.kind, f.label, f.id)
    end
    append(v, lines, true)
  elseif u.kind == 'notice' then
    local lines = vim.split(u.text or '', '\n', { plain = true })
    append(v, vim.tbl_map(function(l)
      return '> ' .. l
    end, lines))
  end
end

function M.about(input)
  if type(input) ~= 'table' then
    return ''
  end
  return tostring(input.path or input.command or input.pattern or input.target or '')
end

function M.ended(id, err, r)
  local v = view(id)
  local why = err or (r and (r.error ~= vim.NIL and r.error)) or nil
  local stop = r and r.stop or 'error'
  local words = {
    end_turn = 'done', cancelled = 'cancelled', max_steps = 'stopped at the step limit', budget = 'stopped at the budget',
    loop = 'stopped: the same call again and again', error = 'failed',
  }
  append(v, { '', ('*— %s%s —*'):format(words[stop] or stop, why and (': ' .. why:gsub('\n', ' ')) or ''), '' })
end

--- Fills the buffer with the transcript that the server keeps.
---@param id string
---@param cb? fun()
function M.load(id, cb)
  local P = require('stella.protocol')
  require('stella.client').request(P.sessionGet, { sessionId = id }, function(err, r)
    if err then
      return vim.notify('stella: ' .. err, vim.log.levels.ERROR)
    end
    local v = view(id)
    vim.bo[v.buf].modifiable = true
    vim.api.nvim_buf_set_lines(v.buf, 0, -1, false, {})
    vim.bo[v.buf].modifiable = false
    v.folds, v.refusals, v.partial, v.started = {}, {}, false, false
    M.open(id)
    for _, e in ipairs(r.transcript) do
      if e.toolCall and e.toolCall ~= vim.NIL then
        M.update(id, { kind = 'toolCall', tool = e.toolCall.tool, input = e.toolCall.input, callId = e.toolCall.callId })
      elseif e.toolResult and e.toolResult ~= vim.NIL then
        M.update(id, { kind = 'toolResult', tool = e.toolResult.tool, ok = e.toolResult.ok, text = e.toolResult.text,
          callId = e.toolResult.callId, refusal = not e.toolResult.ok and refusal_in(e.toolResult.text) or nil })
      elseif e.role == 'user' and (e.text or ''):find('^%[stella engine [^%]]*%]') then -- told to the model, not by the person
        M.update(id, { kind = 'notice', text = (e.text:gsub('^%[stella engine [^%]]*%] *', '')) })
      elseif e.role == 'user' then
        M.prompt(id, e.text or '')
      else
        M.update(id, { kind = 'text', text = (e.text or '') .. '\n' })
      end
    end
    if cb then
      cb()
    end
  end)
end

return M
