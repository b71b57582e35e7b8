#!/usr/bin/env bash
# Prints the figures of docs/bench.md: each beside its control or its peer, in one run.
#
#   scripts/bench.sh SERVER-BINARY
set -euo pipefail
server=$(realpath "${1:?usage: scripts/bench.sh SERVER-BINARY}")
cd "$(dirname "$0")/.."
go run ./internal/bench --server "$server"
go test -run '^$' -bench 'Check40K' -benchtime 2s ./guard
go test -run '^$' -bench 'Step' -benchtime 200x ./internal/record
go test -run '^$' -bench 'Recall|Open' -benchtime 100x ./contextengine
go run ./internal/contextbench
go run ./internal/graphbench -lines 100000 -rounds 1
