-- Looking at what sessions did, and taking it back.
local P = require('stella.protocol')
local client = require('stella.client')

local M = {}

local function failed(err)
  vim.notify('stella: ' .. err, vim.log.levels.ERROR)
end

---@param text string
---@param name string shown as the buffer's name
---@return integer buf
local function scratch(text, name)
  local buf = vim.api.nvim_create_buf(false, true)
  local lines = vim.split(text, '\n', { plain = true })
  if #lines > 1 and lines[#lines] == '' then
    lines[#lines] = nil
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  pcall(vim.api.nvim_buf_set_name, buf, ('stella://%d/%s'):format(buf, name))
  vim.bo[buf].filetype = vim.filetype.match({ filename = name }) or ''
  vim.bo[buf].modifiable, vim.bo[buf].bufhidden = false, 'wipe'
  return buf
end

--- Two sides in diff mode, in a tab page of their own. after is a buffer or a text.
---@param name string
---@param before string
---@param after string|integer
function M.two(name, before, after)
  vim.cmd.tabnew()
  local empty = vim.api.nvim_get_current_buf()
  vim.api.nvim_win_set_buf(0, scratch(before, 'seen/' .. name))
  pcall(vim.api.nvim_buf_delete, empty, { force = true })
  vim.cmd.diffthis()
  vim.cmd('rightbelow vsplit')
  vim.api.nvim_win_set_buf(0, type(after) == 'number' and after or scratch(after --[[@as string]], 'now/' .. name))
  vim.cmd.diffthis()
end

--- What the server keeps under an id, both sides.
---@param id string
---@param cb fun(err?: string, before?: string, after?: string)
function M.content(id, cb)
  client.request(P.content, { editId = id, side = 'before' }, function(err, a)
    if err then
      return cb(err)
    end
    client.request(P.content, { editId = id, side = 'after' }, function(err2, b)
      cb(err2, a.text, b and b.text)
    end)
  end)
end

--- Both sides of a refused call.
---@param session string
---@param r {callId: string, path?: string}
function M.refusal(session, r)
  M.content(session .. '/' .. r.callId, function(err, before, after)
    if err then
      return failed(err)
    end
    M.two(r.path or 'file', before or '', after or '')
  end)
end

--- What the sessions saw of a file, beside what it is now.
---@param buf integer
function M.seen(buf)
  local uri = vim.uri_from_bufnr(buf)
  client.request(P.guardFiles, vim.empty_dict(), function(err, r)
    if err then
      return failed(err)
    end
    for _, f in ipairs(r.files) do
      if f.uri == uri and f.diff and f.diff ~= '' then
        local path = vim.api.nvim_buf_get_name(buf)
        return M.content(f.sessionId .. '/seen/' .. path, function(e, before)
          if e then
            return failed(e)
          end
          M.two(vim.fn.fnamemodify(path, ':.'), before or '', buf)
        end)
      end
    end
    vim.notify('stella: this file is as the sessions saw it')
  end)
end

--- The session whose changes are meant: the one that is spoken to, else the
--- newest that did something.
---@param cb fun(id: string)
local function with_session(cb)
  local current = require('stella.session').current
  if current then
    return cb(current)
  end
  require('stella.session').list(function(list)
    for _, s in ipairs(list) do
      if s.turns > 0 then
        return cb(s.sessionId)
      end
    end
    vim.notify('stella: no session has changed anything')
  end)
end

--- The files that the session changed: the quickfix list, and their differences
--- in a buffer.
function M.changes()
  with_session(function(id)
    client.request(P.changes, { sessionId = id }, function(err, r)
      if err then
        return failed(err)
      end
      local items, lines = {}, {}
      for _, f in ipairs(r.files) do
        local path = vim.uri_to_fname(f.uri)
        local line = tonumber(f.diff:match('@@ %-%d+,?%d* %+(%d+)')) or 1
        items[#items + 1] = {
          filename = path, lnum = math.max(line, 1), type = f.undoable and 'I' or 'W',
          text = ('%d edits: %s%s'):format(#f.edits, table.concat(vim.tbl_map(function(e) return e:match('[^/]*$') end, f.edits), ', '), f.undoable and '' or ', cannot be undone as it stands'),
        }
        local name = vim.fn.fnamemodify(path, ':.')
        vim.list_extend(lines, { '--- ' .. name, '+++ ' .. name })
        vim.list_extend(lines, vim.split((f.diff:gsub('\n$', '')), '\n', { plain = true }))
      end
      if #items == 0 then
        return vim.notify('stella: no change of this session is left to review')
      end
      vim.fn.setqflist({}, ' ', { title = 'Stella: changes', items = items })
      local buf = vim.api.nvim_create_buf(false, true)
      vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
      vim.bo[buf].filetype, vim.bo[buf].modifiable, vim.bo[buf].bufhidden = 'diff', false, 'wipe'
      vim.cmd('botright copen')
      vim.cmd('vertical rightbelow split')
      vim.api.nvim_win_set_buf(0, buf)
      vim.cmd.wincmd('p')
    end)
  end)
end

local undo_words = {
  stale_base = 'what it changed has been changed since', not_found = 'the file is not there any more', exists = 'a file is there already',
  busy = 'the file is being written', unreadable = 'what it was is not kept any more',
}

--- Takes back the last turn, or one edit ("e3" as :Stella changes shows it).
---@param edit? string
function M.undo(edit)
  with_session(function(id)
    client.request(P.undo, { sessionId = id, edit = edit and (id .. '/' .. edit) or nil }, function(err, r)
      if err then
        return failed(err)
      end
      for _, f in ipairs(r.refused or {}) do
        local why = table.concat(f.changed_by or {}, ', ')
        vim.notify(('stella: %s was not undone (%s)%s'):format(f.path, why ~= '' and why or undo_words[f.status] or f.status, f.next and ('; to do: ' .. f.next) or ''), vim.log.levels.WARN)
        require('stella.transcript').update(id, { kind = 'toolResult', ok = false, text = '', refusal = f })
      end
      local names = vim.tbl_map(function(u) return vim.fn.fnamemodify(vim.uri_to_fname(u), ':.') end, r.undone or {})
      if #names > 0 then
        vim.notify('stella: undone in ' .. table.concat(names, ', '))
      end
      vim.cmd('silent! checktime')
    end)
  end)
end

return M
