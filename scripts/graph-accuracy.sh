#!/usr/bin/env bash
# Compares the code graph with pyright and typescript-language-server on real
# packages and prints docs/graph-accuracy.md's table. Servers and packages are
# fetched into a cache outside of the repository; nothing of them is committed.
#
#   scripts/graph-accuracy.sh [-v] [-places N] [-symbols N]
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)
cache=${STELLA_ACCURACY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stella-ls-accuracy}
mkdir -p "$cache/servers" "$cache/src" "$cache/ws"

cd "$cache/servers"
if [ ! -d node_modules/pyright ] || [ ! -d node_modules/typescript-language-server ]; then
  npm install --no-audit --no-fund --ignore-scripts pyright@1.1.414 typescript-language-server@5.3.0 typescript@5.9.3
fi

# package_python NAME VERSION, package_ts DIR NPM-NAME@VERSION: the sources alone.
package_python() {
  [ -d "$cache/ws/$1" ] && return
  python3 -m pip download -q --no-deps -d "$cache/src" "$1==$2"
  mkdir -p "$cache/ws/$1.tmp"
  (cd "$cache/ws/$1.tmp" && python3 -m zipfile -e "$cache/src/$1-$2"-*.whl . && rm -rf ./*.dist-info)
  mv "$cache/ws/$1.tmp" "$cache/ws/$1"
}
package_ts() {
  [ -d "$cache/ws/$1" ] && return
  local archive
  archive=$(cd "$cache/src" && npm pack --silent "$2" | tail -1)
  mkdir -p "$cache/ws/$1.tmp"
  tar xzf "$cache/src/$archive" -C "$cache/ws/$1.tmp" --strip-components=1 package/src
  rm -f "$cache/ws/$1.tmp"/src/tsconfig*.json
  echo '{"compilerOptions":{"target":"es2020","module":"esnext","moduleResolution":"node","strict":true,"noEmit":true},"include":["src"]}' >"$cache/ws/$1.tmp/tsconfig.json"
  mv "$cache/ws/$1.tmp" "$cache/ws/$1"
}
package_python click 8.1.7
package_python flask 3.0.3
package_python httpx 0.27.2
package_ts query-core @tanstack/query-core@5.59.0
package_ts rxjs rxjs@7.8.1
package_ts immer immer@10.1.1

cd "$repo"
go build -o "$cache/graphaccuracy" ./internal/graphaccuracy
modules=$cache/servers/node_modules
echo "| package | what | precision of resolved answers | recall of resolved answers | right/answered by how | where the server says nothing | related |"
echo "|---|---|---|---|---|---|---|"
for p in click flask httpx; do
  "$cache/graphaccuracy" -root "$cache/ws/$p" -language python -name "$p" "$@" node "$modules/pyright/langserver.index.js" --stdio
done
for p in query-core rxjs immer; do
  "$cache/graphaccuracy" -root "$cache/ws/$p" -language typescript -name "$p" -options '{"tsserver":{"useSyntaxServer":"never"}}' "$@" node "$modules/typescript-language-server/lib/cli.mjs" --stdio
done
