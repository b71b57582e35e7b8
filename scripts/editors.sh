#!/usr/bin/env bash
# Puts the real editors that the tests use into a cache outside the tree, once:
# Neovim 0.12 and 0.10, a VS Code workbench (code-server) and Chromium.
#
#   scripts/editors.sh [nvim] [vscode]      (without arguments: both)
#
# STELLA_EDITORS names the cache (default: stella-ls-editors in the user's cache
# directory). Prints nothing when all is there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export STELLA_EDITORS=${STELLA_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/stella-ls-editors}
mkdir -p "$STELLA_EDITORS"
if [ $# -eq 0 ]; then set -- nvim vscode; fi
for what in "$@"; do
  # Two runs at once must not install over each other.
  exec 9>"$STELLA_EDITORS/.lock-$what"
  flock 9
  case $what in
    nvim)
      "$here/install-neovim.sh" "$STELLA_EDITORS/nvim-0.12" forky >/dev/null
      "$here/install-neovim.sh" "$STELLA_EDITORS/nvim-0.10" trixie >/dev/null
      ;;
    vscode) "$here/install-code-server.sh" "$STELLA_EDITORS/code-server" >/dev/null ;;
    *) echo "usage: scripts/editors.sh [nvim] [vscode]" >&2; exit 2 ;;
  esac
done
