-- What comes after the main job, with the real server: questions to the person,
-- the refusal's two sides, changes, undo beside what the person did meanwhile,
-- and a server that dies in the middle of a turn.
local h = dofile(vim.fs.dirname(vim.fn.fnamemodify(arg[0], ':p')) .. '/helper.lua')
local server = assert(vim.env.STELLA_SERVER, 'STELLA_SERVER names the built server')

local dir = h.dir()
local function file(name)
  return dir .. '/' .. name
end
h.write(file('prices.py'), 'SMALL = 10\nMEDIUM = 20\nLARGE = 30\n')
h.write(file('rates.py'), 'LOW = 1\nMID = 5\nHIGH = 9\n')
h.write(file('moved.py'), 'A = 1\n')
h.write(file('gone.py'), 'B = 1\n')

local function read(name)
  return ('{tool: read_file, input: {path: %s}}'):format(name)
end
local function edit(name, from, to)
  return ('{tool: edit_file, input: {path: %s, base: "{{base %s}}", edits: [{old: "%s", new: "%s"}]}}'):format(name, name, from, to)
end
local function turn(name, from, to, done)
  return ('  - calls: [%s]\n  - calls: [%s]\n  - expect: {tool_result: {status: applied}}\n    text: "%s"\n'):format(read(name), edit(name, from, to), done)
end
local run = '{tool: run_command, input: {command: "echo first"}}'
h.write(file('script.yaml'), 'turns:\n'
  .. '  - calls: [' .. read('prices.py') .. ']\n'
  .. '  - calls: [' .. edit('prices.py', '30', '35') .. ']\n'
  .. '  - expect: {tool_result: {status: applied}}\n    calls: [' .. run .. ']\n'
  .. '  - expect: {tool_result: {status: ok, contains: first}}\n    calls: [' .. run .. ']\n'
  .. '  - expect: {tool_result: {status: ok, contains: first}}\n    calls: [{tool: run_command, input: {command: "rm -rf build"}}]\n'
  .. '  - expect: {tool_result: {status: denied}}\n    text: "Raised."\n'
  .. '  - calls: [' .. read('rates.py') .. ']\n'
  .. '  - wait: typed\n    calls: [' .. edit('rates.py', 'HIGH = 9', 'HIGH = 7') .. ']\n'
  .. '  - expect: {tool_result: {status: stale_base}}\n    text: "It moved."\n'
  .. turn('rates.py', 'HIGH = 9', 'HIGH = 7', 'Lower.')
  .. turn('rates.py', 'HIGH = 9', 'HIGH = 8', 'Higher.')
  .. turn('moved.py', 'A = 1', 'A = 2', 'Moved next.')
  .. turn('gone.py', 'B = 1', 'B = 2', 'Gone next.')
  .. '  - text: "This will take a while."\n    calls: [' .. read('rates.py') .. ']\n'
  .. '  - wait: never\n    text: "never said"\n')

local told, on_told = {}, nil
vim.notify = function(m)
  told[#told + 1] = m
  if on_told then
    on_told(m)
  end
end
local function heard(text)
  for _, m in ipairs(told) do
    if m:find(text, 1, true) then
      return true
    end
  end
end

-- The person: answers questions as told, and keeps what was shown.
local answers, asked = {}, {}
vim.ui.select = function(items, opts, cb)
  local shown = {}
  for _, w in ipairs(vim.api.nvim_list_wins()) do
    shown[#shown + 1] = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(w), 0, -1, false), '\n')
  end
  local titles = vim.tbl_map(opts.format_item or tostring, items)
  asked[#asked + 1] = { prompt = opts.prompt, titles = titles, shown = table.concat(shown, '\n'), window = vim.api.nvim_get_current_win(),
    status = require('stella').status() }
  local want = table.remove(answers, 1)
  for i, t in ipairs(titles) do
    if want and t:find(want, 1, true) then
      return cb(items[i], i)
    end
  end
  cb(nil)
end

require('stella').setup({
  cmd = { server, 'serve', '--stdio', '--test-hooks' },
  settings = { model = { provider = 'script', script = file('script.yaml') }, permissions = { write = 'ask', command = 'ask' } },
  trusted = true,
})

local function open(name)
  vim.cmd('silent edit ' .. vim.fn.fnameescape(file(name)))
  vim.bo.autoindent = false
  return vim.api.nvim_get_current_buf()
end
local function lines(buf)
  return table.concat(vim.api.nvim_buf_get_lines(buf or 0, 0, -1, true), '\n')
end
local function transcript()
  local id = require('stella.session').current
  local b = id and require('stella.transcript').buffer(id)
  return b and lines(b) or ''
end
local function all()
  return ('status %q\nasked %s\ntold %s\n%s'):format(require('stella').status(), vim.inspect(asked), vim.inspect(told), transcript():sub(-1500))
end
local function ask(text, done)
  vim.cmd('Stella ask ' .. text)
  h.wait(all, function() return transcript():find(done, 1, true) ~= nil end)
  h.wait(all, function() return not require('stella.session').running() end)
end
local function undo(what)
  told = {}
  vim.cmd('Stella undo')
  h.wait(all, function() return heard(what) end)
end

local prices = open('prices.py')
h.wait('a client', function()
  local c = require('stella.client').get(prices)
  return c and c.initialized
end)

h.test('a question shows what will be written or run, in full and without the focus', function()
  local window = vim.api.nvim_get_current_win()
  answers = { 'Allow once', 'Always allow', 'Deny' }
  ask('raise the large price', 'Raised.')
  h.eq(3, #asked, 'always was asked about once')
  h.eq('Change prices.py? (+1 -1 lines)', asked[1].prompt)
  assert(asked[1].shown:find('-LARGE = 30\n+LARGE = 35', 1, true), asked[1].shown)
  h.eq({ 'Allow once', 'Always allow', 'Deny' }, asked[1].titles)
  h.eq(window, asked[1].window, 'the focus')
  assert(asked[1].status:find('waiting for you', 1, true), asked[1].status)
  h.eq('Run a command?', asked[2].prompt, 'the command is in the split, once')
  assert(asked[2].shown:find('```sh\necho first\n```\nin /', 1, true), asked[2].shown)
  h.eq('Run a command?', asked[3].prompt)
  assert(asked[3].shown:find('```sh\nrm -rf build\n```', 1, true), asked[3].shown)
  assert(transcript():find('*answered: Allow once*', 1, true) and transcript():find('*answered: Deny*', 1, true), transcript())
  assert(not transcript():find('"old"', 1, true), 'raw input')
  h.eq('SMALL = 10\nMEDIUM = 20\nLARGE = 35\n', h.read(file('prices.py')))
  h.eq(1, #vim.api.nvim_list_wins(), 'what was shown for the question is closed')
end)

h.test('a question does not open while the person types', function()
  local q, done = require('stella.question'), nil
  local mode = vim.api.nvim_get_mode
  vim.api.nvim_get_mode = function() return { mode = 'i', blocking = false } end
  told, asked, answers = {}, {}, { 'Deny' }
  q.put({ kind = 'command', title = 'Run a command?', command = 'make', options = { { id = 'deny', title = 'Deny' } } }, function(a) done = a end)
  h.wait('a word about it', function() return heard(':Stella answer') end)
  h.eq(0, #asked)
  vim.api.nvim_get_mode = mode
  vim.cmd('Stella answer')
  h.wait('the answer', function() return done ~= nil end)
  h.eq('deny', done.choice)
  h.eq(0, #q.open)
end)

h.test('changes are listed, with their differences', function()
  vim.cmd('Stella changes')
  h.wait('quickfix', function() return #vim.fn.getqflist() == 1 end)
  local item = vim.fn.getqflist()[1]
  h.eq('1 edits: e1', item.text)
  local shown = {}
  for _, w in ipairs(vim.api.nvim_list_wins()) do
    shown[#shown + 1] = lines(vim.api.nvim_win_get_buf(w))
  end
  assert(table.concat(shown, '\n'):find('--- prices.py\n+++ prices.py\n@@ -1,3 +1,3 @@', 1, true) or table.concat(shown, '\n'):find('-LARGE = 30', 1, true), table.concat(shown, '\n'))
  vim.cmd('silent! only')
end)

h.test('undo beside what was typed elsewhere; one u takes it back', function()
  vim.api.nvim_set_current_buf(prices)
  vim.api.nvim_feedkeys('ggO# mine\27', 'tx', false)
  undo('undone in')
  h.wait(all, function() return lines(prices) == '# mine\nSMALL = 10\nMEDIUM = 20\nLARGE = 30' end)
  assert(h.read(file('prices.py')):find('35', 1, true), 'the person has not saved')
  vim.cmd('silent undo')
  h.eq('# mine\nSMALL = 10\nMEDIUM = 20\nLARGE = 35', lines(prices))
  vim.cmd('silent write')
end)

h.test('the two sides of a refusal, beside each other', function()
  local rates = open('rates.py')
  vim.cmd('Stella ask lower')
  h.wait(all, function() return transcript():find('done: rates.py, lines 1-3 of 3', 1, true) ~= nil end)
  vim.api.nvim_feedkeys('ggO# typed\27', 'tx', false)
  h.wait(all, function() return vim.b[rates].stella_status == 'stale' end)
  vim.cmd('Stella diff') -- the file: seen, and now
  h.wait('two sides', function() return #vim.api.nvim_list_tabpages() == 2 and #vim.api.nvim_tabpage_list_wins(0) == 2 end)
  local wins = vim.api.nvim_tabpage_list_wins(0)
  h.eq('LOW = 1\nMID = 5\nHIGH = 9', lines(vim.api.nvim_win_get_buf(wins[1])))
  h.eq(rates, vim.api.nvim_win_get_buf(wins[2]))
  h.eq({ true, true }, { vim.wo[wins[1]].diff, vim.wo[wins[2]].diff })
  vim.cmd('silent tabclose')
  require('stella.client').request('stella/test/release', { name = 'typed' })
  h.wait(all, function() return transcript():find('It moved.', 1, true) ~= nil end)
  h.wait(all, function() return not require('stella.session').running() end)
  vim.cmd('silent tabnew')
  vim.api.nvim_set_current_buf(require('stella.transcript').buffer(require('stella.session').current))
  vim.cmd('normal! G')
  vim.cmd('Stella diff') -- the refusal above the cursor
  h.wait(all, function() return #vim.api.nvim_list_tabpages() == 3 and #vim.api.nvim_tabpage_list_wins(0) == 2 end)
  wins = vim.api.nvim_tabpage_list_wins(0)
  h.eq('LOW = 1\nMID = 5\nHIGH = 9', lines(vim.api.nvim_win_get_buf(wins[1])))
  h.eq('# typed\nLOW = 1\nMID = 5\nHIGH = 9', lines(vim.api.nvim_win_get_buf(wins[2])))
  vim.cmd('silent tabonly')
  vim.cmd('silent only')
end)

h.test('undo after the person saved, and where the same line was changed', function()
  local rates = open('rates.py')
  vim.cmd('silent write')
  answers = { 'Always allow' }
  ask('lower', 'Lower.')
  vim.api.nvim_feedkeys('ggO# saved\27', 'tx', false)
  vim.cmd('silent write')
  undo('undone in')
  h.wait(all, function() return h.read(file('rates.py')) == '# saved\n# typed\nLOW = 1\nMID = 5\nHIGH = 9\n' end)
  h.eq(false, vim.bo[rates].modified)
  ask('higher', 'Higher.')
  vim.api.nvim_set_current_buf(rates)
  vim.api.nvim_feedkeys('GA  # really\27', 'tx', false)
  undo('rates.py was not undone (')
  assert(lines(rates):find('HIGH = 8  # really', 1, true), lines(rates))
  assert(transcript():find('really', 1, true), 'the difference is in the transcript')
  vim.cmd('silent write')
end)

h.test('undo of a file that the person renamed or deleted brings nothing back', function()
  ask('move', 'Moved next.')
  assert(os.rename(file('moved.py'), file('elsewhere.py')))
  undo('moved.py was not undone')
  h.eq(nil, h.read(file('moved.py')))
  h.eq('A = 2\n', h.read(file('elsewhere.py')))
  ask('delete', 'Gone next.')
  assert(os.remove(file('gone.py')))
  undo('gone.py was not undone')
  h.eq(nil, h.read(file('gone.py')))
end)

h.test('a server that dies in the middle of a turn: one command continues', function()
  vim.cmd('Stella ask take long')
  h.wait(all, function() return transcript():find('This will take a while.', 1, true) ~= nil end)
  h.wait(all, function() return transcript():find('done: rates.py', 1, true) ~= nil end)
  vim.wait(300, function() return false end, 50) -- the step's record
  h.write(file('script.yaml'), 'turns:\n  - text: "Where was I? Here."\n')
  told = {}
  local id = require('stella.session').current
  local pid = vim.fn.system({ 'pgrep', '-f', '-P', tostring(vim.fn.getpid()), 'serve --stdio' }):match('%d+')
  vim.uv.kill(assert(tonumber(pid), 'the server is a child'), 'sigkill')
  -- Resumed in the very moment it is told, while Neovim still lists the dead client.
  on_told = function(m)
    if m:find('the server ended', 1, true) then
      on_told = nil
      vim.cmd('Stella resume')
    end
  end
  h.wait(all, function() return heard('the server ended') and heard(':Stella resume') end)
  h.wait(all, function() return heard('was interrupted') end, 20000)
  h.wait(all, function() return transcript():find('Where was I? Here.', 1, true) ~= nil end, 20000)
  h.eq(id, require('stella.session').current)
  h.wait(all, function() return require('stella').status():find('^stella: idle') ~= nil end)
end)

h.finish()
