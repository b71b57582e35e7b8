#!/usr/bin/env bash
# Prints the figures of docs/bench.md: each beside its control or its peer, in one run.
#
#   scripts/bench.sh SERVER-BINARY
set -euo pipefail
server=$(realpath "${1:?usage: scripts/bench.sh SERVER-BINARY}")
cd "$(dirname "$0")/.."
go run ./internal/bench --server "$server"
go test -run '^$' -bench 'Check40K' -benchtime 2s ./guard
if [ -d internal/record ]; then go test -run '^$' -bench 'Step' -benchtime 200x ./internal/record; fi
if [ -d contextengine ]; then go test -run '^$' -bench 'Recall/10000|Open100k' -benchtime 100x ./contextengine; fi
if [ -d internal/contextbench ]; then go run ./internal/contextbench; fi
if [ -d internal/graphbench ]; then go run ./internal/graphbench -lines 100000; fi
