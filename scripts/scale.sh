#!/usr/bin/env bash
# The graph at a million lines: cold index against the floor, warm start, memory.
#
#   scripts/scale.sh SERVER-BINARY
set -euo pipefail
cd "$(dirname "$0")/.."
exec go run ./internal/graphbench -lines 1000000 -rounds 1
