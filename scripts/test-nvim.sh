#!/usr/bin/env bash
# Runs the Neovim plugin's tests in each real Neovim, against the built server:
# the versions beside each other, each one's specs in order.
#
#   scripts/test-nvim.sh SERVER-BINARY
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
server=$(realpath "${1:?usage: scripts/test-nvim.sh SERVER-BINARY}")
editors=${STELLA_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/stella-ls-editors}
versions=(0.12 0.10)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# specs VERSION: runs them all, and fails when one did.
specs() {
  local v=$1 failed=0 t home
  for t in "$here"/../editors/nvim/tests/*_spec.lua; do
    home=$work/$v/$(basename "$t" .lua)
    mkdir -p "$home"
    echo "== Neovim $v: $(basename "$t")"
    # A home of its own: swap files, logs and the server's state stay apart.
    # A prompt that nobody answers ends nvim with exit code 0, so the closing
    # line is what counts.
    XDG_STATE_HOME=$home/state XDG_DATA_HOME=$home/data XDG_CONFIG_HOME=$home/config XDG_CACHE_HOME=$home/cache \
      STELLA_HOME=$home/stella STELLA_SERVER=$server STELLA_NVIM_VERSION=$v \
      timeout 300 "$editors/nvim-$v/usr/bin/nvim" --clean --headless -l "$t" </dev/null 2>"$home/err.txt" | tee "$home/out.txt" || true
    if ! grep -Eq '^[1-9][0-9]* passed, 0 failed$' "$home/out.txt"; then
      failed=1
      echo "-- stderr of Neovim $v, $(basename "$t"):"
      tail -n 60 "$home/err.txt"
    fi
  done
  return $failed
}

for v in "${versions[@]}"; do
  specs "$v" >"$work/$v.txt" 2>&1 &
  pids+=($!)
done
failed=0
for i in "${!versions[@]}"; do
  wait "${pids[$i]}" || failed=1
  cat "$work/${versions[$i]}.txt"
done
exit $failed
