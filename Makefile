# The two commands: `make demo` and `make test`. Both set up what they need.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

BIN     := bin/stella-ls
RACEBIN := bin/stella-ls-race
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
# Pointer checks, which -race brings along, are left out of SQLite: it is C in Go's
# clothes, its memory is not Go's, and they made everything with a store a third slower.
RACE    := -race -gcflags='modernc.org/...=-d=checkptr=0'
GOTEST  := go test $(RACE) -timeout 15m

# A process built with the race detector sleeps for a second at its end, and the
# tests start hundreds: what runs then has been given its time already.
export GORACE := atexit_sleep_ms=10

help:
	@sed -n 's/^\([a-z-]*\):.*/  make \1/p' Makefile

.PHONY: help build race install demo test fetch test-go test-nvim test-vscode lint bench torture kills crowd scale clean editors

build:
	go build -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/stella-ls

race:
	go build $(RACE) -ldflags '-X main.version=$(VERSION)' -o $(RACEBIN) ./cmd/stella-ls

# The binary onto the PATH, the Neovim plugin and the VS Code extension into their editors.
install: build
	scripts/install.sh $(BIN)

demo: build
	$(BIN) demo

editors:
	scripts/editors.sh

test: fetch lint test-go test-nvim test-vscode
	@echo "all tests passed"

# Begins to fetch the editors while the Go tests run; what needs one waits for it.
fetch:
	@scripts/editors.sh >/dev/null 2>&1 </dev/null &

# The scenarios drive the same binary as the Neovim tests, so it is linked once.
test-go: race
	scripts/foreign.sh >/dev/null & scripts/editors.sh nvim; wait $$!
	STELLA_FOREIGN="$$(scripts/foreign.sh)" STELLA_SERVER="$(abspath $(RACEBIN))" $(GOTEST) ./...

test-nvim: race
	scripts/editors.sh nvim
	scripts/test-nvim.sh $(RACEBIN)

test-vscode: build
	scripts/editors.sh vscode
	scripts/test-vscode.sh $(BIN)

lint:
	@bad=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$bad" ] || { echo "gofmt needed: $$bad"; exit 1; }
	go vet ./...

bench: build
	scripts/bench.sh $(BIN)

torture: build
	go run ./internal/torture
	go run ./internal/torture/openfile -server $(BIN)

# 500 kills at random times while the work record is written.
kills:
	STELLA_KILLS=500 go test -v -timeout 30m -run TestKillAtRandom ./internal/record

# Two servers, a person and another program on one tree for a minute.
crowd:
	STELLA_CROWD=60s go test -v -run TestCrowd ./internal/scenario

scale: build
	scripts/scale.sh $(BIN)

clean:
	rm -rf bin dist artefacts editors/vscode/dist editors/vscode/server
