#!/usr/bin/env bash
# Puts the programs of other makers that the tests meet (scripts/foreign/package.json:
# prettier, an MCP file server) into a cache outside the tree, once, and prints where.
#
# STELLA_FOREIGN names the place (default: stella-ls-foreign in the user's cache
# directory). Needs Node.js with npm.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${STELLA_FOREIGN:-${XDG_CACHE_HOME:-$HOME/.cache}/stella-ls-foreign}
mkdir -p "$dir"
# Two runs at once must not install over each other.
exec 9>"$dir/.lock"
flock 9
if ! cmp -s "$here/foreign/package-lock.json" "$dir/.installed"; then
  rm -rf "$dir/node_modules" "$dir/.installed"
  cp "$here"/foreign/package.json "$here"/foreign/package-lock.json "$here"/foreign/.npmrc "$dir"
  (cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
  cp "$here/foreign/package-lock.json" "$dir/.installed"
fi
echo "$dir"
