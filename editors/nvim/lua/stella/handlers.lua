-- What the server asks and tells. Each handler is small and hands over.
local P = require('stella.protocol')

---@param ctx {client_id: integer}
local function encoding(ctx)
  local c = vim.lsp.get_client_by_id(ctx.client_id)
  return c and c.offset_encoding or 'utf-16'
end

local function utfindex(line, byte, enc)
  if enc == 'utf-8' then
    return math.min(byte, #line)
  end
  byte = math.min(byte, #line)
  if vim.fn.has('nvim-0.11') == 1 then
    return vim.str_utfindex(line, enc, byte, false)
  end
  local u32, u16 = vim.str_utfindex(line, byte)
  return enc == 'utf-16' and u16 or u32
end

--- Every diagnostic that Neovim shows, from every source.
local function diagnostics(_, p, ctx)
  local enc, items = encoding(ctx), {}
  local wanted = p and p.uri and p.uri ~= '' and vim.uri_to_fname(p.uri) or nil
  for _, d in ipairs(vim.diagnostic.get()) do
    if vim.api.nvim_buf_is_loaded(d.bufnr) and (not wanted or vim.api.nvim_buf_get_name(d.bufnr) == wanted) then
      local function pos(l, c)
        local line = vim.api.nvim_buf_get_lines(d.bufnr, l, l + 1, false)[1] or ''
        return { line = l, character = utfindex(line, c, enc) }
      end
      items[#items + 1] = {
        uri = vim.uri_from_bufnr(d.bufnr),
        range = { start = pos(d.lnum, d.col), ['end'] = pos(d.end_lnum or d.lnum, d.end_col or d.col) },
        severity = d.severity,
        source = d.source or '',
        message = d.message,
      }
    end
  end
  return { items = items }
end

--- A question of the server. Runs in the coroutine of the request, so it may wait.
local function permission(_, p)
  local co, is_main = coroutine.running()
  if not co or is_main then
    return { choice = '' }
  end
  local answer
  require('stella.question').put(p, function(a)
    answer = a
    vim.schedule(function()
      if coroutine.status(co) == 'suspended' then
        coroutine.resume(co, a)
      end
    end)
  end)
  return answer or coroutine.yield()
end

return {
  [P.sessionUpdate] = function(_, p)
    require('stella.session').update(p)
  end,
  [P.guardStatus] = function(_, p)
    require('stella.guarded').status(p)
  end,
  [P.applyEdit] = require('stella.apply').handler,
  [P.permission] = permission,
  [P.diagnostics] = diagnostics,
}
