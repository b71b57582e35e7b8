-- The commands that code actions carry: stella.ask and its kin.
local M = {}

---@class stella.AskParams
---@field text? string
---@field uri? string
---@field range? lsp.Range
---@field symbol? string
---@field message? string the diagnostic, for fix

---@param a stella.AskParams
local function place(a)
  if not a.uri or a.uri == '' then
    return nil
  end
  local item = { uri = a.uri }
  local r = a.range
  if r and r ~= vim.NIL and not vim.deep_equal(r.start, r['end']) then
    item.range = r
  end
  return { item }
end

---@param a stella.AskParams
---@return string
local function subject(a)
  local r = a.range
  if r and r ~= vim.NIL and not vim.deep_equal(r.start, r['end']) then
    return 'the selected code'
  end
  return a.symbol and a.symbol ~= '' and ('`' .. a.symbol .. '`') or 'this code'
end

local function line_of(a)
  return a.range and a.range ~= vim.NIL and (' on line ' .. (a.range.start.line + 1)) or ''
end

---@type table<string, fun(a: stella.AskParams): string?>
local prompts = {
  ['stella.ask'] = function(a)
    return a.text and a.text ~= '' and a.text or nil
  end,
  ['stella.explain'] = function(a)
    return ('Explain %s%s: what it does, why it is there, and what to know before changing it. Change no file.'):format(subject(a), line_of(a))
  end,
  ['stella.fix'] = function(a)
    return ('Fix this%s: %s'):format(line_of(a), a.message or '')
  end,
  ['stella.writeTests'] = function(a)
    return ('Write tests for %s%s, in the style and place of the tests that are there.'):format(subject(a), line_of(a))
  end,
}

function M.register()
  for name, prompt in pairs(prompts) do
    vim.lsp.commands[name] = function(command)
      local a = (command.arguments or {})[1] or {}
      local text = prompt(a)
      if text then
        return require('stella.session').ask(text, place(a))
      end
      vim.ui.input({ prompt = ('Ask Stella about %s: '):format(subject(a)) }, function(t)
        if t and t ~= '' then
          require('stella.session').ask(t, place(a))
        end
      end)
    end
  end
end

return M
