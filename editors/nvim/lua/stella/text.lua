-- The text of a buffer as the language client sends it, and edits on it.
local M = {}

local endings = { unix = '\n', dos = '\r\n', mac = '\r' }

---@param buf integer
---@return string
function M.ending(buf)
  return endings[vim.bo[buf].fileformat] or '\n'
end

--- The whole text, byte for byte what didOpen would send.
---@param buf integer
---@return string
function M.full(buf)
  local nl = M.ending(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), nl)
  if vim.bo[buf].endofline then
    text = text .. nl
  end
  return text
end

---@param text string
---@return string digest with its prefix
function M.sha256(text)
  return 'sha256:' .. vim.fn.sha256(text)
end

---@param line string
---@param char integer
---@param encoding string utf-8, utf-16 or utf-32
---@return integer byte offset, clamped
local function byteindex(line, char, encoding)
  if encoding == 'utf-8' then
    return math.min(char, #line)
  end
  local ok, b
  if vim.fn.has('nvim-0.11') == 1 then
    ok, b = pcall(vim.str_byteindex, line, encoding, char, false)
  else
    ok, b = pcall(vim.str_byteindex, line, char, encoding == 'utf-16')
  end
  return ok and b or #line
end

--- The text after edits (which do not overlap), computed on the text alone.
---@param buf integer
---@param edits {range: lsp.Range, newText: string}[]
---@param encoding string
---@return string old, string new
function M.splice(buf, edits, encoding)
  local nl = M.ending(buf)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local old = M.full(buf)
  local starts, at = {}, 0
  for i, l in ipairs(lines) do
    starts[i] = at
    at = at + #l + #nl
  end
  local function offset(p)
    local l = lines[p.line + 1]
    if not l then
      return #old
    end
    return math.min(starts[p.line + 1] + byteindex(l, p.character, encoding), #old)
  end
  local parts = {}
  for i, e in ipairs(edits) do
    parts[i] = { from = offset(e.range.start), to = offset(e.range['end']), text = e.newText, i = i }
  end
  table.sort(parts, function(a, b)
    return a.from < b.from or (a.from == b.from and a.i < b.i)
  end)
  local out, last = {}, 0
  for _, p in ipairs(parts) do
    out[#out + 1] = old:sub(last + 1, p.from)
    out[#out + 1] = p.text
    last = p.to
  end
  out[#out + 1] = old:sub(last + 1)
  return old, table.concat(out)
end

---@param text string
---@param nl string
---@return string[] lines, boolean endofline
function M.split(text, nl)
  if text == '' then
    return { '' }, false
  end
  local eol = text:sub(-#nl) == nl
  if eol then
    text = text:sub(1, -#nl - 1)
  end
  return vim.split(text, nl, { plain = true }), eol
end

--- Puts new into the buffer, touching only the lines that differ, so that
--- cursor, folds and marks elsewhere stay.
---@param buf integer
---@param old string
---@param new string
---@return boolean eol_changed
function M.replace(buf, old, new)
  local nl = M.ending(buf)
  local before = M.split(old, nl)
  local after, eol = M.split(new, nl)
  if vim.bo[buf].endofline == false and old == '' then
    before = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  end
  local diff = (vim.text and vim.text.diff) or vim.diff
  -- NUL stands as a newline inside a line of a buffer; the diff needs one line each.
  local function flat(t)
    return table.concat(vim.tbl_map(function(l)
      return (l:gsub('[\n\1]', { ['\n'] = '\1n', ['\1'] = '\1s' }))
    end, t), '\n') .. '\n'
  end
  local hunks = diff(flat(before), flat(after), { result_type = 'indices' })
  for i = #hunks, 1, -1 do
    local a, an, b, bn = unpack(hunks[i])
    local from = an == 0 and a or a - 1
    vim.api.nvim_buf_set_lines(buf, from, from + an, true, vim.list_slice(after, b, b + bn - 1))
  end
  local changed = vim.bo[buf].endofline ~= eol and new ~= ''
  if changed then
    vim.bo[buf].endofline = eol
  end
  return changed
end

return M
