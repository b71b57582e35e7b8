-- What this Neovim does, compared with its column in docs/clients.md.
local h = dofile(vim.fs.dirname(vim.fn.fnamemodify(arg[0], ':p')) .. '/helper.lua')
local apply = require('stella.apply')
local text = require('stella.text')

local version = vim.fn.has('nvim-0.12') == 1 and '0.12' or '0.10'
local want = {}
do
  local page = assert(h.read(h.plugin .. '/../../docs/clients.md'), 'docs/clients.md')
  local column
  for line in page:gmatch('[^\n]+') do
    if line:match('^| ') then
      local cells = vim.tbl_map(vim.trim, vim.split(line:gsub('^|', ''):gsub('|%s*$', ''), '|', { plain = true }))
      if not column then
        for i, c in ipairs(cells) do
          if c == 'Neovim ' .. version then
            column = i
          end
        end
      elseif not cells[1]:match('^%-') then
        want[cells[1]] = cells[column]
      end
    end
  end
end

local dir = h.dir()
local n = 0
local function start(bytes)
  n = n + 1
  local path = dir .. '/' .. n .. '.txt'
  h.write(path, bytes)
  local fake = h.fake_server('utf-16')
  vim.cmd.edit(vim.fn.fnameescape(path))
  local buf = vim.api.nvim_get_current_buf()
  local c = require('stella.client').config()
  c.cmd, c.root_dir, c.name = fake.cmd, dir, 'clients-' .. n
  local id = vim.lsp.start(c, { bufnr = buf, reuse_client = function() return false end })
  local uri = vim.uri_from_bufnr(buf)
  h.wait('didOpen', function() return fake.docs[uri] ~= nil end)
  local t = { buf = buf, uri = uri, path = path, fake = fake, client = vim.lsp.get_client_by_id(id) }
  function t.mirror() return fake.docs[uri] end
  function t.params(edits, save)
    local d = t.mirror()
    return { uri = uri, version = d.version, sha256 = text.sha256(d.text), edits = edits or {}, save = save or false, label = 'test' }
  end
  function t.type(s)
    vim.api.nvim_buf_set_lines(buf, 0, 0, false, { s })
    apply.flush(t.client, buf)
  end
  return t
end

local function edit(c0, c1, new)
  return { range = { start = { line = 0, character = c0 }, ['end'] = { line = 0, character = c1 } }, newText = new }
end

local seen = 0
local function row(case, got)
  seen = seen + 1
  assert(want[case], 'docs/clients.md has no row ' .. case)
  h.eq(want[case], got, case)
end

local function plain(t, v)
  local before = text.full(t.buf)
  local answer = t.fake.dispatchers.server_request('workspace/applyEdit', {
    edit = { documentChanges = { { textDocument = { uri = t.uri, version = v }, edits = { edit(0, 0, 'X') } } } },
  })
  return ('answers %s, text %s'):format(answer.applied and 'applied' or 'not applied', text.full(t.buf) == before and 'unchanged' or 'changed')
end

h.test('plain edits', function()
  local t = start('one\n')
  row('version in didOpen', tostring(t.mirror().version))
  t.type('a')
  local old = t.mirror().version
  t.type('b')
  row('plain, edit for an older version', plain(t, old))
  row('plain, edit for the present version', plain(t, vim.lsp.util.buf_versions[t.buf]))
  row('plain, edit for version 0', plain(t, 0))
  local path = dir .. '/closed.txt'
  h.write(path, 'one\n')
  local answer = t.fake.dispatchers.server_request('workspace/applyEdit', {
    edit = { documentChanges = { { textDocument = { uri = vim.uri_from_fname(path), version = vim.NIL }, edits = { edit(0, 0, 'X') } } } },
  })
  local buf = vim.fn.bufnr(path)
  local opened = buf > 0 and text.full(buf) == 'Xone\n' and vim.bo[buf].modified
  row('plain, edit for a closed file (version null)', ('answers %s, %s'):format(answer.applied and 'applied' or 'not applied',
    h.read(path) == 'one\n' and (opened and 'opened with the change unsaved' or 'unchanged') or 'changed on disk'))
  vim.cmd('silent! bwipeout! ' .. buf)
end)

h.test('our edits', function()
  local t = start('one\n')
  local p = t.params({ edit(0, 3, 'uno') })
  t.type('mine')
  row('ours, edit for an older text', 'refused: ' .. apply.apply(p, t.client).reason)
  vim.api.nvim_buf_set_lines(t.buf, 0, 1, false, {})
  row('ours, same text at an older version', 'refused: ' .. apply.apply(p, t.client).reason)
  t = start('one\n')
  p = t.params({ edit(0, 3, 'uno') })
  vim.cmd.enew()
  vim.cmd('bwipeout! ' .. t.buf)
  row('ours, a closed buffer', 'refused: ' .. apply.apply(p, t.client).reason)
end)

--- Opens bytes, changes "one" to "uno" by our edit with a save.
local function saved(bytes)
  local t = start(bytes)
  local shown = t.mirror().text
  local r = apply.apply(t.params({ edit(0, 3, 'uno') }, true), t.client)
  h.eq({ true, true }, { r.applied, r.saved }, vim.inspect(r))
  return shown, h.read(t.path)
end

h.test('bytes', function()
  local shown, disk = saved('\239\187\191one\n')
  row('BOM', (shown == 'one\n' and 'not in the text' or 'in the text') .. (disk == '\239\187\191uno\n' and '; kept by the save' or '; lost by the save'))
  shown, disk = saved('one\r\ntwo\r\n')
  row('CRLF', (shown == 'one\r\ntwo\r\n' and 'in the text' or 'not in the text') .. (disk == 'uno\r\ntwo\r\n' and '; kept by the save' or '; lost by the save'))
  shown, disk = saved('one\r\ntwo\nthree\r\n')
  row('mixed line ends', (shown == 'one\r\ntwo\nthree\r\n' and 'as they are' or 'unified in the text') .. (disk == 'uno\r\ntwo\nthree\r\n' and '; kept by the save' or '; unified by the save'))
  shown, disk = saved('one\ncaf\233\n')
  row('Latin-1', (shown == 'one\ncafé\n' and 'decoded' or 'replacement characters') .. (disk == 'uno\ncaf\233\n' and '; kept by the save' or '; destroyed by the save'))
  shown, disk = saved('one\ntwo')
  row('no final newline, saved by us', disk == 'uno\ntwo' and 'kept' or 'added')
end)

h.test('saves', function()
  local t = start('one')
  local changes = #vim.tbl_filter(function(m) return m == 'textDocument/didChange' end, t.fake.seen)
  vim.cmd('silent write')
  local now = #vim.tbl_filter(function(m) return m == 'textDocument/didChange' end, t.fake.seen)
  row('no final newline, saved by the person', (h.read(t.path) == 'one\n' and 'added on disk' or 'kept') .. (h.read(t.path) == 'one\n' and (now == changes and ', no didChange' or ', with a didChange') or ''))
  t = start('one\n')
  h.write(t.path, 'theirs, longer\n')
  local r = apply.apply(t.params({ edit(0, 3, 'uno') }, true), t.client)
  row('our save over a changed disk', (r.applied and not r.saved and h.read(t.path) == 'theirs, longer\n') and 'not saved' or 'saved')
end)

h.test('every row of the page was seen', function()
  h.eq(vim.tbl_count(want), seen)
end)

h.finish()
