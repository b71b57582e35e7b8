-- :Stella and its sub-commands.
local M = {}

---@param o table the command's arguments
---@return {uri: string, range?: lsp.Range}[]?
local function context(o)
  local buf = vim.api.nvim_get_current_buf()
  if vim.bo[buf].buftype ~= '' or vim.api.nvim_buf_get_name(buf) == '' then
    return nil
  end
  local item = { uri = vim.uri_from_bufnr(buf) }
  if o.range and o.range > 0 then
    item.range = { start = { line = o.line1 - 1, character = 0 }, ['end'] = { line = o.line2, character = 0 } }
  end
  return { item }
end

local function ask(text, o)
  if text ~= '' then
    return require('stella.session').ask(text, context(o))
  end
  local ctx = context(o) -- before the prompt takes the window
  vim.ui.input({ prompt = 'Ask Stella: ' }, function(t)
    if t and t ~= '' then
      require('stella.session').ask(t, ctx)
    end
  end)
end

local function pick_session(cb)
  require('stella.session').list(function(sessions)
    if #sessions == 0 then
      return vim.notify('stella: no sessions yet')
    end
    vim.ui.select(sessions, {
      prompt = 'Session',
      kind = 'stella.session',
      format_item = function(s)
        return ('%s [%s] %s, %d turns, %d guarded'):format(s.sessionId, s.state, s.title, s.turns, s.guarded)
      end,
    }, function(s)
      if s then
        cb(s)
      end
    end)
  end)
end

local function fix(o)
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  local found = vim.diagnostic.get(0, { lnum = line })
  if #found == 0 then
    return vim.notify('stella: no diagnostic on this line')
  end
  local msgs = vim.tbl_map(function(d)
    return d.message
  end, found)
  ask(('Fix this on line %d: %s'):format(line + 1, table.concat(msgs, '; ')), { range = 1, line1 = line + 1, line2 = line + 1 })
end

--- Ends the server if it runs and starts it for the open files; cb when one is there.
local function restart(cb)
  local client = require('stella.client')
  local old = client.get()
  if old then
    if vim.fn.has('nvim-0.11') == 1 then
      old:stop(true)
    else
      old.stop(true)
    end
  end
  local tries = 0
  local function start()
    tries = tries + 1
    local now = client.get()
    if now and now ~= old and now.initialized then
      return cb and cb()
    end
    if not now and not client.starting then
      for _, b in ipairs(vim.api.nvim_list_bufs()) do
        if vim.api.nvim_buf_is_loaded(b) then
          client.attach(b)
        end
      end
    end
    if tries < 200 then
      vim.defer_fn(start, 50)
    else
      vim.notify('stella: no server started; open a file of the workspace, or see :checkhealth stella', vim.log.levels.ERROR)
    end
  end
  start()
end

--- Without an id: the newest interrupted session goes on at once; when none is,
--- one is chosen. Starts the server when it is gone.
local resume
function resume(_, args)
  local session = require('stella.session')
  if not require('stella.client').get() then
    return restart(function() resume(_, args) end)
  end
  if args[1] then
    return session.resume(args[1], true)
  end
  session.list(function(list)
    for _, s in ipairs(list) do
      if s.state == 'interrupted' then
        return session.resume(s.sessionId, true)
      end
    end
    pick_session(function(s) session.resume(s.sessionId, false) end)
  end)
end

local function diff()
  local id, refusal = require('stella.transcript').refusal_here()
  if refusal then
    return require('stella.review').refusal(id, refusal)
  elseif id then
    return vim.notify('stella: no refusal above the cursor')
  end
  require('stella.review').seen(vim.api.nvim_get_current_buf())
end

local function graph(o, args)
  local op, target = args[1], args[2]
  if not op then
    return vim.notify('stella: :Stella graph definitions|references|imports|importers|neighbors TARGET', vim.log.levels.WARN)
  end
  target = target or (op:match('^imp') or op == 'neighbors') and vim.fn.expand('%:.') or vim.fn.expand('<cword>')
  require('stella.client').request(require('stella.protocol').graphQuery, { op = op, target = target }, function(err, r)
    if err then
      return vim.notify('stella: ' .. err, vim.log.levels.ERROR)
    end
    local items = {}
    local root = (require('stella.client').any().config.root_dir or '') .. '/'
    for _, x in ipairs(r.results or {}) do
      local start = x.range and x.range.start or { line = 0, character = 0 }
      items[#items + 1] = { filename = x.path and (root .. x.path) or nil, lnum = start.line + 1, col = start.character + 1, text = x.text or x.name or x.specifier }
    end
    vim.fn.setqflist({}, ' ', { title = 'Stella: ' .. op .. ' ' .. target, items = items })
    vim.notify(('stella: %d found'):format(#items))
    if #items > 0 then
      vim.cmd('botright copen')
    end
  end)
end

local function memories()
  require('stella.client').request(require('stella.protocol').memoryList, vim.empty_dict(), function(err, r)
    if err then
      return vim.notify('stella: ' .. err, vim.log.levels.ERROR)
    end
    local rows = vim.islist(r) and r or r.memories or {}
    if #rows == 0 then
      return vim.notify('stella: no memories yet')
    end
    vim.ui.select(rows, {
      prompt = 'Memory',
      kind = 'stella.memory',
      format_item = function(m)
        return ('%s %s'):format(m.id, vim.split(m.memory, '\n')[1])
      end,
    }, function(m)
      if m and m.source then
        vim.cmd.edit(vim.fn.fnameescape(m.source))
      end
    end)
  end)
end

---@type table<string, {desc: string, impl: fun(o: table, args: string[], text: string), complete?: string[]}>
M.sub = {
  ask = { desc = 'ask, with the file (or the range) as context', impl = function(o, _, text) ask(text, o) end },
  explain = { desc = 'explain the range or the symbol', impl = function(o)
    ask(o.range > 0 and 'Explain this code.' or ('Explain `%s`.'):format(vim.fn.expand('<cword>')), o)
  end },
  fix = { desc = 'fix the diagnostic on this line', impl = fix },
  tests = { desc = 'write tests for the range or symbol', impl = function(o)
    ask(o.range > 0 and 'Write tests for this code.' or ('Write tests for `%s`.'):format(vim.fn.expand('<cword>')), o)
  end },
  cancel = { desc = 'stop the running turn', impl = function() require('stella.session').cancel() end },
  new = { desc = 'begin a new session with the next question', impl = function() require('stella.session').new() end },
  sessions = { desc = 'choose a session', impl = function()
    pick_session(function(s) require('stella.session').resume(s.sessionId, false) end)
  end },
  resume = { desc = 'continue an interrupted session', impl = resume },
  undo = { desc = 'undo the last turn, or one edit', impl = function(_, args) require('stella.review').undo(args[1]) end },
  changes = { desc = 'the files that the session changed', impl = function() require('stella.review').changes() end },
  answer = { desc = 'answer what waits for you', impl = function() require('stella.question').ask() end },
  guarded = { desc = 'list guarded files in the quickfix window', impl = function() require('stella.guarded').quickfix() end },
  diff = { desc = 'what changed here since a session saw it; in the transcript, the refusal above', impl = diff },
  memories = { desc = 'list memories', impl = memories },
  graph = { desc = 'ask the code graph', impl = graph, complete = { 'definitions', 'references', 'imports', 'importers', 'neighbors' } },
  transcript = { desc = 'show the transcript', impl = function()
    local id = require('stella.session').current
    if not id then
      return vim.notify('stella: no session yet; :Stella ask begins one')
    end
    require('stella.transcript').open(id)
  end },
  restart = { desc = 'restart the server', impl = function() restart() end },
  doctor = { desc = 'what works here and what does not', impl = function() vim.cmd('checkhealth stella') end },
}

---@param o table
function M.run(o)
  local args = vim.split(vim.trim(o.args), '%s+', { trimempty = true })
  local name = table.remove(args, 1)
  local sub = M.sub[name or '']
  if not sub then
    local names = vim.tbl_keys(M.sub)
    table.sort(names)
    return vim.notify(('stella: %s; use one of %s'):format(name and ('unknown sub-command ' .. name) or 'a sub-command is needed', table.concat(names, ', ')), vim.log.levels.ERROR)
  end
  sub.impl(o, args, vim.trim(o.args:sub(#name + 1)))
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local words = vim.split(line:gsub('^.-Stella%s*', ''), '%s+')
  local from = {}
  if #words <= 1 then
    from = vim.tbl_keys(M.sub)
  elseif M.sub[words[1]] then
    from = M.sub[words[1]].complete or {}
  end
  from = vim.tbl_filter(function(w)
    return vim.startswith(w, lead)
  end, from)
  table.sort(from)
  return from
end

return M
