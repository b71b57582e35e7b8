-- stella/applyEdit in a real Neovim, against a server inside this process that
-- keeps its own mirror: no lost character, no false "applied".
local h = dofile(vim.fs.dirname(vim.fn.fnamemodify(arg[0], ':p')) .. '/helper.lua')
local apply = require('stella.apply')
local text = require('stella.text')

local dir = h.dir()
local fakes = {}

local function start(name, bytes, encoding, opts)
  local path = dir .. '/' .. name
  if bytes then
    h.write(path, bytes)
  end
  local fake = h.fake_server(encoding or 'utf-16')
  fakes[#fakes + 1] = fake
  vim.g.stella = nil
  vim.cmd.edit(vim.fn.fnameescape(path))
  local buf = vim.api.nvim_get_current_buf()
  require('stella.disk').remember(buf)
  local c = require('stella.client').config()
  c.cmd, c.root_dir, c.name = fake.cmd, dir, 'stella-test-' .. name
  local id = vim.lsp.start(c, { bufnr = buf, reuse_client = function() return false end })
  local uri = vim.uri_from_bufnr(buf)
  -- `:edit!` detaches; the plugin attaches again on BufReadPost, as here.
  vim.api.nvim_create_autocmd('BufReadPost', { buffer = buf, callback = function()
    require('stella.disk').remember(buf)
    vim.lsp.buf_attach_client(buf, id)
  end })
  h.wait('didOpen', function() return fake.docs[uri] ~= nil end)
  local t = { buf = buf, uri = uri, path = path, fake = fake, client = vim.lsp.get_client_by_id(id) }
  function t.mirror() return fake.docs[uri] end
  function t.params(edits, save)
    local d = t.mirror()
    return { uri = uri, version = d.version, sha256 = text.sha256(d.text), edits = edits, save = save or false, label = 'test' }
  end
  function t.apply(p) return apply.apply(p, t.client) end
  return t
end

local function range(l1, c1, l2, c2)
  return { start = { line = l1, character = c1 }, ['end'] = { line = l2, character = c2 } }
end

h.test('applies, saves, and the mirror is there before the answer', function()
  local t = start('a.txt', 'one\ntwo 😀 x\nthree\n')
  local r = t.apply(t.params({ { range = range(1, 7, 1, 8), newText = 'y' } }, true))
  h.eq(true, r.applied, vim.inspect(r))
  h.eq('one\ntwo 😀 y\nthree\n', t.mirror().text)
  h.eq(text.sha256(t.mirror().text), r.sha256_applied)
  h.eq(true, r.saved, vim.inspect(r))
  h.eq(r.sha256_applied, r.sha256_after)
  h.eq('one\ntwo 😀 y\nthree\n', h.read(t.path))
end)

h.test('a buffer that the person typed into is refused by content, nothing changes', function()
  local t = start('b.txt', 'one\n')
  local p = t.params({ { range = range(0, 0, 0, 3), newText = 'uno' } })
  vim.api.nvim_buf_set_lines(t.buf, 0, 0, false, { 'mine' })
  local r = t.apply(p)
  h.eq({ false, 'content' }, { r.applied, r.reason })
  h.eq('mine\none\n', text.full(t.buf))
  h.eq('mine\none\n', t.mirror().text, 'flushed before the answer')
end)

h.test('typed and undone: same text, newer version', function()
  local t = start('c.txt', 'one\n')
  local p = t.params({ { range = range(0, 0, 0, 3), newText = 'uno' } })
  vim.api.nvim_buf_set_lines(t.buf, 0, 0, false, { 'mine' })
  vim.api.nvim_buf_set_lines(t.buf, 0, 1, false, {})
  local r = t.apply(p)
  h.eq({ false, 'version' }, { r.applied, r.reason })
end)

h.test('unsaved changes stay unsaved', function()
  local t = start('d.txt', 'one\n')
  vim.api.nvim_buf_set_lines(t.buf, 0, 0, false, { 'mine' })
  apply.flush(t.client, t.buf)
  local r = t.apply(t.params({ { range = range(1, 0, 1, 3), newText = 'uno' } }, true))
  h.eq(true, r.applied)
  h.eq(false, r.saved)
  assert(r.save_reason:match('unsaved'), r.save_reason)
  h.eq('one\n', h.read(t.path))
  h.eq('mine\nuno\n', t.mirror().text)
end)

h.test('a save never overrides what came to the disk, and asks nobody', function()
  local t = start('e.txt', 'one\n')
  h.write(t.path, 'theirs, longer\n')
  local r = t.apply(t.params({ { range = range(0, 0, 0, 3), newText = 'uno' } }, true))
  h.eq(true, r.applied)
  h.eq(false, r.saved)
  assert(r.save_reason:match('changed on disk'), r.save_reason)
  h.eq('theirs, longer\n', h.read(t.path))
end)

h.test('one undo step takes the edit back', function()
  local t = start('f.txt', 'one\ntwo\nthree\n')
  vim.api.nvim_buf_set_lines(t.buf, 2, 3, false, { 'drei' })
  apply.flush(t.client, t.buf)
  local r = t.apply(t.params({ { range = range(0, 0, 0, 3), newText = 'A' }, { range = range(1, 0, 1, 3), newText = 'B' } }))
  h.eq(true, r.applied)
  h.eq('A\nB\ndrei\n', text.full(t.buf))
  vim.cmd.undo()
  h.eq('one\ntwo\ndrei\n', text.full(t.buf))
end)

h.test('line ends, final newlines, encodings survive an edit and its save', function()
  for _, c in ipairs({
    { 'dos', 'one\r\ntwo\r\n', 'uno\r\ntwo\r\n' },
    { 'noeol', 'one\ntwo', 'uno\ntwo' },
    { 'bom', '\239\187\191one\ntwo\n', '\239\187\191uno\ntwo\n' },
    { 'latin1', 'one\ncaf\233\n', 'uno\ncaf\233\n' },
    { 'mixed', 'one\r\ntwo\n', 'uno\r\ntwo\n' },
  }) do
    local t = start(c[1] .. '.txt', c[2])
    local r = t.apply(t.params({ { range = range(0, 0, 0, 3), newText = 'uno' } }, true))
    h.eq(true, r.applied, c[1] .. vim.inspect(r))
    h.eq(true, r.saved, c[1] .. vim.inspect(r))
    h.eq(c[3], h.read(t.path), c[1])
    h.eq(text.full(t.buf), t.mirror().text, c[1] .. ': mirror')
    h.eq(r.sha256_applied, text.sha256(t.mirror().text), c[1] .. ': sha')
  end
end)

h.test('the final newline can be taken and given', function()
  local t = start('eol.txt', 'one\ntwo\n')
  local r = t.apply(t.params({ { range = range(1, 3, 2, 0), newText = '' } }, true))
  h.eq(true, r.applied, vim.inspect(r))
  h.eq('one\ntwo', text.full(t.buf))
  h.eq('one\ntwo', t.mirror().text)
  h.eq('one\ntwo', h.read(t.path))
  r = t.apply(t.params({ { range = range(1, 3, 1, 3), newText = '\nthree\n' } }, true))
  h.eq(true, r.applied, vim.inspect(r))
  h.eq('one\ntwo\nthree\n', t.mirror().text)
  h.eq('one\ntwo\nthree\n', h.read(t.path))
end)

h.test('read-only and closed buffers say so', function()
  local t = start('ro.txt', 'one\n')
  vim.bo[t.buf].readonly = true
  h.eq('readonly', t.apply(t.params({})).reason)
  vim.bo[t.buf].readonly = false
  local p = t.params({})
  vim.cmd.enew()
  vim.cmd('bwipeout! ' .. t.buf)
  h.eq('closed', t.apply(p).reason)
end)

-- Thousands of interleavings of typing, saving, formatting on save, outside
-- writes and our edits. Each of our edits carries a word of its own; so does
-- each thing that the person types.
h.test('random interleavings: no lost character, no false answer', function()
  math.randomseed(20)
  local words = { 'x', 'ab', 'é', '😀', 'long word here', '' }
  local rounds = tonumber(vim.env.STELLA_INTERLEAVINGS or '3000')
  local t = start('race.txt', 'l1\nl2 😀\nl3\n', 'utf-16')
  vim.api.nvim_create_autocmd('BufWritePre', { buffer = t.buf, callback = function()
    if math.random(3) == 1 then -- format on save
      vim.cmd([[silent! keepjumps %s/\s\+$//e]])
    end
  end })
  local applied, refused, saved, unsaved = 0, 0, 0, 0
  for n = 1, rounds do
    local lines = vim.api.nvim_buf_get_lines(t.buf, 0, -1, true)
    local d = t.mirror()
    local line = math.random(0, #lines - 1)
    if n % 4 == 0 and not require('stella.disk').obstacle(t.buf) then
      vim.cmd('silent write') -- a clean buffer, so that our edit may be saved
      lines = vim.api.nvim_buf_get_lines(t.buf, 0, -1, true)
      line, d = math.random(0, #lines - 1), t.mirror()
    end
    local edits = { { range = range(line, 0, line, 0), newText = '<e' .. n .. '> ' .. words[math.random(#words)] .. (math.random(4) == 1 and '\n' or '') } }
    local p = { uri = t.uri, version = d.version, sha256 = text.sha256(d.text), edits = edits, save = math.random(2) == 1, label = 'r' }
    local typed
    local roll = math.random(12)
    if roll <= 3 then
      typed = '[t' .. n .. ']'
      local at = math.random(0, #lines)
      vim.api.nvim_buf_set_lines(t.buf, at, at, false, { typed .. words[math.random(#words)] .. ' ' })
    elseif roll == 4 then
      vim.cmd('silent! undo')
    elseif roll == 5 and not vim.bo[t.buf].modified then
      h.write(t.path, text.full(t.buf) .. 'outside ' .. n .. '\n')
    elseif roll <= 7 and not require('stella.disk').obstacle(t.buf) then
      vim.cmd('silent write')
    elseif roll == 8 then
      vim.cmd('silent! edit!')
    end
    local before, disk_before = text.full(t.buf), h.read(t.path)
    local mirror_before = d.text
    local r = t.apply(p)
    local after = text.full(t.buf)
    local m = t.mirror()
    if not m then -- edit! closes and opens again
      h.wait('reopened', function() return t.mirror() ~= nil end)
      m = t.mirror()
    end
    h.eq(after, m.text, 'mirror, round ' .. n)
    if r.applied then
      applied = applied + 1
      assert(before == mirror_before, 'applied to a text the server had not seen, round ' .. n)
      assert(after:find('<e' .. n .. '>', 1, true), 'said applied, and it is not there')
      if not r.saved then
        h.eq(text.sha256(after), r.sha256_applied, 'digest')
        h.eq(disk_before, h.read(t.path), 'an unsaved edit reached the disk')
        unsaved = unsaved + 1
      else
        saved = saved + 1
        h.eq(after, h.read(t.path), 'saved')
        h.eq(text.sha256(after), r.sha256_after)
      end
    else
      refused = refused + 1
      h.eq(before, after, 'a refused edit changed the buffer')
      h.eq(disk_before, h.read(t.path), 'a refused edit changed the disk')
    end
    if typed and not r.applied then
      assert(after:find(typed, 1, true), 'typing was lost, round ' .. n)
    end
    if #lines > 60 then
      vim.api.nvim_buf_set_lines(t.buf, 5, -1, false, {})
      apply.flush(t.client, t.buf)
    end
    if n % 7 == 0 then -- let outside changes be taken over
      vim.cmd('silent! edit!')
      h.wait('reopened', function() return t.mirror() ~= nil and t.mirror().text == text.full(t.buf) end)
    end
  end
  h.say(('     %d rounds: %d applied (%d saved, %d not), %d refused'):format(rounds, applied, saved, unsaved, refused))
  assert(applied > rounds / 4 and refused > rounds / 8 and saved > rounds / 20, 'the mix is not a test')
end)

h.finish()
