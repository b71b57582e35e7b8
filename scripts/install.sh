#!/usr/bin/env bash
# Installs a built server and, where the editors are found, both extensions.
#
#   scripts/install.sh SERVER-BINARY
#
# PREFIX (default: the user's .local) gets bin/stella-ls. Neovim's plugin goes to
# the user's site packages, VS Code's is packaged and handed to `code`.
set -euo pipefail
server=$(realpath "${1:?usage: scripts/install.sh SERVER-BINARY}")
here=$(cd "$(dirname "$0")/.." && pwd)
prefix=${PREFIX:-$HOME/.local}

install -Dm755 "$server" "$prefix/bin/stella-ls"
echo "server:  $prefix/bin/stella-ls"
case ":$PATH:" in *":$prefix/bin:"*) ;; *) echo "         put $prefix/bin on your PATH" ;; esac

site=${XDG_DATA_HOME:-$HOME/.local/share}/nvim/site/pack/stella/start/stella
if command -v nvim >/dev/null || [ -d "$(dirname "$(dirname "$site")")" ]; then
  rm -rf "$site"
  mkdir -p "$site"
  cp -r "$here"/editors/nvim/{plugin,lsp,lua,doc} "$site/"
  if command -v nvim >/dev/null; then nvim --headless --clean -c "helptags $site/doc" -c q 2>/dev/null || true; fi
  echo "Neovim:  $site  (then: vim.lsp.enable('stella'), see :help stella)"
else
  echo "Neovim:  not found; copy editors/nvim into your packpath when you have it"
fi

code=
for c in code codium code-insiders code-server; do
  if command -v $c >/dev/null; then code=$c; break; fi
done
if command -v npm >/dev/null; then
  cd "$here/editors/vscode"
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
  mkdir -p server && cp "$server" server/stella-ls
  npm run --silent package >/dev/null
  if [ -n "$code" ]; then
    "$code" --install-extension dist/stella-ls.vsix --force
    echo "VS Code: installed by $code"
  else
    echo "VS Code: not found; the extension is editors/vscode/dist/stella-ls.vsix"
  fi
else
  echo "VS Code: npm is needed to package the extension"
fi
