-- Test helpers for plain `nvim -l`: no framework, a closing line that counts.
local M = { passed = 0, failed = 0 }

M.here = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p')))
M.plugin = vim.fs.dirname(M.here)
vim.opt.runtimepath:prepend(M.plugin)
vim.cmd.source(M.plugin .. '/plugin/stella.lua')
vim.o.swapfile = false
vim.o.hidden = true

function M.say(s)
  io.stdout:write(s, '\n')
end

function M.test(name, fn)
  local ok, err = xpcall(fn, debug.traceback)
  if ok then
    M.passed = M.passed + 1
  else
    M.failed = M.failed + 1
  end
  M.say((ok and 'ok   ' or 'FAIL ') .. name .. (ok and '' or '\n' .. tostring(err)))
end

function M.eq(want, got, what)
  if not vim.deep_equal(want, got) then
    error(('%s\nwant %s\n got %s'):format(what or '', vim.inspect(want), vim.inspect(got)), 2)
  end
end

function M.wait(what, cond, ms)
  if not vim.wait(ms or 10000, cond, 5) then
    error('timed out: ' .. (type(what) == 'function' and what() or what), 2)
  end
end

function M.finish()
  M.say(('%d passed, %d failed'):format(M.passed, M.failed))
  vim.cmd('silent! %bwipeout!')
  os.exit(M.failed == 0 and 0 or 1)
end

function M.dir()
  local d = vim.fn.tempname()
  vim.fn.mkdir(d .. '/.git', 'p')
  return vim.uv.fs_realpath(d)
end

--- Bytes as they are, with no idea of lines.
function M.write(path, bytes)
  local f = assert(io.open(path, 'wb'))
  f:write(bytes)
  f:close()
end

function M.read(path)
  local f = io.open(path, 'rb')
  if not f then
    return nil
  end
  local s = f:read('*a')
  f:close()
  return s
end

--- A language server inside this process: it mirrors documents by what it is
--- sent, with an implementation of its own, and answers initialize; provides are
--- further capabilities.
---@return table fake {docs, seen, dispatchers, cmd, provides}
function M.fake_server(encoding)
  local fake = { docs = {}, seen = {}, requests = {}, answers = {} }
  local function units(text, line, char)
    local at = 1
    for _ = 1, line do
      local nl = text:find('\n', at, true)
      if not nl then
        return #text
      end
      at = nl + 1
    end
    local stop = (text:find('\n', at, true) or #text + 1) - 1
    local l = text:sub(at, stop)
    if encoding == 'utf-8' then
      return at - 1 + math.min(char, #l)
    end
    local u, i = 0, 1
    while i <= #l and u < char do
      local b = l:byte(i)
      local n = b < 0x80 and 1 or b < 0xE0 and 2 or b < 0xF0 and 3 or 4
      u = u + ((n == 4 and encoding == 'utf-16') and 2 or 1)
      i = i + n
    end
    return at - 1 + i - 1
  end
  local on = {
    ['textDocument/didOpen'] = function(p)
      fake.docs[p.textDocument.uri] = { text = p.textDocument.text, version = p.textDocument.version, open = true }
    end,
    ['textDocument/didClose'] = function(p)
      fake.docs[p.textDocument.uri] = nil
    end,
    ['textDocument/didChange'] = function(p)
      local d = assert(fake.docs[p.textDocument.uri], 'didChange for a closed document')
      assert(p.textDocument.version > d.version, 'a version that does not grow')
      d.version = p.textDocument.version
      for _, c in ipairs(p.contentChanges) do
        if c.range then
          local a = units(d.text, c.range.start.line, c.range.start.character)
          local b = units(d.text, c.range['end'].line, c.range['end'].character)
          d.text = d.text:sub(1, a) .. c.text .. d.text:sub(b + 1)
        else
          d.text = c.text
        end
      end
    end,
    ['textDocument/didSave'] = function(p)
      local d = fake.docs[p.textDocument.uri]
      if not d then
        return -- 0.12 tells every client of one kind, attached to the buffer or not
      end
      d.saves = (d.saves or 0) + 1
      if p.text then
        d.text = p.text
      end
    end,
  }
  fake.cmd = function(dispatchers)
    fake.dispatchers = dispatchers
    local closing, id = false, 0
    return {
      request = function(method, params, cb)
        id = id + 1
        fake.requests[#fake.requests + 1] = { method = method, params = params }
        if method == 'initialize' then
          cb(nil, {
            capabilities = vim.tbl_extend('error', {
              positionEncoding = encoding,
              textDocumentSync = { openClose = true, change = 2, save = { includeText = true } },
            }, fake.provides or {}),
          })
        elseif fake.answers[method] then
          cb(nil, fake.answers[method](params))
        else
          cb(nil, vim.NIL)
        end
        return true, id
      end,
      notify = function(method, params)
        fake.seen[#fake.seen + 1] = method
        if on[method] then
          on[method](vim.deepcopy(params))
        end
        return true
      end,
      is_closing = function()
        return closing
      end,
      terminate = function()
        closing = true
        dispatchers.on_exit(0, 15)
      end,
    }
  end
  return fake
end

return M
