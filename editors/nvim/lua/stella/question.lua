-- Questions of the server to the person: may this be written, may that be run?
-- Each is shown in full in the transcript and in a split without the focus; what
-- is chosen from opens by itself only for a person who is not typing.
local M = {
  ---@type stella.Pending[] the oldest first
  open = {},
}

---@class stella.Question
---@field kind string
---@field title string
---@field detail? string
---@field command? string
---@field cwd? string
---@field diff? string
---@field options {id: string, title: string}[]

---@class stella.Pending
---@field p stella.Question
---@field settle fun(choice: string, text?: string, words?: string)

local function given(s)
  return s ~= nil and s ~= vim.NIL and s ~= ''
end

--- What will happen, in full: the command or the difference.
---@param p stella.Question
---@return string[]
function M.lines(p)
  local out = { '## ' .. p.title, '' }
  if given(p.command) then
    vim.list_extend(out, { '```sh' })
    vim.list_extend(out, vim.split(p.command, '\n', { plain = true }))
    vim.list_extend(out, { '```' })
  end
  if given(p.cwd) then
    out[#out + 1] = 'in ' .. p.cwd
  end
  if given(p.detail) then
    vim.list_extend(out, vim.split(p.detail, '\n', { plain = true }))
  end
  if given(p.diff) then
    out[#out + 1] = '```diff'
    vim.list_extend(out, vim.split((p.diff:gsub('\n$', '')), '\n', { plain = true }))
    out[#out + 1] = '```'
  end
  return out
end

--- The same in one line, for a prompt.
---@param p stella.Question
---@return string
function M.summary(p)
  if given(p.command) then
    return ('%s %s%s'):format(p.title, (p.command:gsub('%s*\n%s*', ' ; ')), given(p.cwd) and ' (in ' .. p.cwd .. ')' or '')
  end
  if given(p.diff) then
    local added, removed = 0, 0
    for l in p.diff:gmatch('[^\n]+') do
      added = added + (l:match('^%+') and not l:match('^%+%+%+ ') and 1 or 0)
      removed = removed + (l:match('^%-') and not l:match('^%-%-%- ') and 1 or 0)
    end
    return ('%s (+%d -%d lines)'):format(p.title, added, removed)
  end
  return given(p.detail) and (p.title .. ' ' .. p.detail:gsub('\n', ' ')) or p.title
end

---@param p stella.Question
---@return integer? win
local function preview(p)
  if not given(p.diff) and not given(p.command) then
    return nil
  end
  local buf = vim.api.nvim_create_buf(false, true)
  local lines = M.lines(p)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].filetype, vim.bo[buf].modifiable, vim.bo[buf].bufhidden = 'markdown', false, 'wipe'
  local here = vim.api.nvim_get_current_win()
  vim.cmd(('botright %dsplit'):format(math.max(3, math.min(#lines, math.floor(vim.o.lines / 3)))))
  local win = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(win, buf)
  vim.wo[win].winfixheight = true
  vim.api.nvim_set_current_win(here)
  return win
end

--- Puts the oldest question before the person.
function M.ask()
  local q = M.open[1]
  if not q then
    return vim.notify('stella: nothing waits for you')
  end
  if q.asking then
    return
  end
  q.asking = true
  local win = preview(q.p)
  local function close()
    q.asking = false
    if win and vim.api.nvim_win_is_valid(win) then
      vim.api.nvim_win_close(win, true)
    end
  end
  q.close = close
  vim.cmd.redraw()
  if #(q.p.options or {}) == 0 then
    return vim.ui.input({ prompt = M.summary(q.p) .. ' ' }, function(t)
      close()
      q.settle('', t, t or 'closed without an answer')
    end)
  end
  vim.ui.select(q.p.options, {
    -- The split shows the command; a long one twice would push the choices away.
    prompt = win and given(q.p.command) and q.p.title or M.summary(q.p),
    kind = 'stella.permission',
    format_item = function(o)
      return o.title
    end,
  }, function(o)
    close()
    q.settle(o and o.id or '', nil, o and o.title or 'closed without an answer')
  end)
end

--- A person in the middle of typing is told and not interrupted: a key meant for
--- the text must never be an answer.
local function offer()
  if #M.open == 0 then
    return
  end
  if vim.api.nvim_get_mode().mode == 'n' then
    return M.ask()
  end
  vim.notify('stella: ' .. M.summary(M.open[1].p) .. ' :Stella answer', vim.log.levels.WARN)
  vim.api.nvim_create_autocmd('CursorHold', { -- back in normal mode, and at rest
    group = vim.api.nvim_create_augroup('stella_question', {}),
    once = true,
    callback = function()
      vim.schedule(offer)
    end,
  })
end

--- A question of the server. Ends with the person's answer; closing it allows nothing.
---@param p stella.Question
---@param done fun(answer: {choice: string, text?: string})
function M.put(p, done)
  local q = { p = p }
  local session = require('stella.session').current
  function q.settle(choice, text, words)
    for i, o in ipairs(M.open) do
      if o == q then
        table.remove(M.open, i)
        require('stella.ui').waiting(M.open[1] and M.open[1].p or nil)
        if session then
          require('stella.transcript').note(session, '*answered: ' .. words .. '*')
        end
        done({ choice = choice or '', text = text })
        return vim.schedule(offer)
      end
    end
  end
  M.open[#M.open + 1] = q
  require('stella.ui').waiting(M.open[1].p)
  if session then
    require('stella.transcript').question(session, M.lines(p))
  end
  vim.schedule(offer)
end

--- The server is gone, and its questions with it.
function M.lost()
  for _, q in ipairs(M.open) do
    if q.close then
      q.close()
    end
  end
  M.open = {}
  require('stella.ui').waiting(nil)
end

return M
