package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/demo"
	"github.com/stella-ls/stella-ls/internal/server"
)

// Exit codes that every sub-command shares; protocol.md lists the others.
const (
	exitOK    = 0
	exitFail  = 1
	exitUsage = 2
	exitNone  = 5 // this build does not have it, or it failed
)

// env is what a sub-command may touch of the process.
type env struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

type subcommand struct {
	name, usage string
	run         func(ctx context.Context, e env) int
}

// subcommands is the command line; serve is what runs without a name.
var subcommands = []subcommand{
	{"serve", "[--stdio | --socket PATH]", serve},
	{"demo", "[--editor nvim]", func(_ context.Context, e env) int { return demo.Main(e.args) }},
	{"ask", "TEXT [--root DIR] [--json] [--session ID]", ask},
	{"graph", "definitions|references NAME [--path FILE] | imports|importers|neighbors FILE", graphCommand},
	{"init", "[--root DIR] [--no-model]", initCommand},
	{"memory", "list | show | validate | promote | unquarantine | forget | history | lift [ID]", memoryCommand},
	{"sessions", "list | show ID | resume ID | undo ID [--turn T] [--edit E]", sessionsCommand},
	{"recover", "list | restore ID", recoverCommand},
	{"trust", "[DIR] [--revoke]", trustCommand},
	{"doctor", "[--json]", doctor},
	{"version", "", printVersion},
}

// absent are commands of the design whose parts this build does not have; they
// say so instead of pretending.
var absent = map[string]string{
	"ocp": "the OCP host and provider",
	"mcp": "the MCP server",
	"acp": "the agent client protocol",
}

func run(ctx context.Context, e env) int {
	name := "serve"
	if len(e.args) > 0 && !strings.HasPrefix(e.args[0], "-") {
		name, e.args = e.args[0], e.args[1:]
	}
	if name == "help" || len(e.args) > 0 && (e.args[0] == "-h" || e.args[0] == "--help") && name == "serve" {
		help(e.stdout)
		return exitOK
	}
	if len(e.args) == 1 && e.args[0] == "--version" && name == "serve" {
		name = "version"
	}
	for _, sub := range subcommands {
		if sub.name == name {
			return sub.run(ctx, e)
		}
	}
	if part, ok := absent[name]; ok {
		fmt.Fprintf(e.stderr, "stella-ls %s: this build does not have %s\n", name, part)
		return exitNone
	}
	fmt.Fprintf(e.stderr, "stella-ls: no such command: %s (try \"stella-ls help\")\n", name)
	return exitUsage
}

func help(w io.Writer) {
	fmt.Fprintln(w, "usage: stella-ls [command]   (without a command: serve)")
	for _, sub := range subcommands {
		fmt.Fprintf(w, "  %-9s%s\n", sub.name, sub.usage)
	}
}

func printVersion(_ context.Context, e env) int {
	fmt.Fprintln(e.stdout, "stella-ls", version)
	return exitOK
}

// flags returns a flag set that reports its faults in the program's own words.
func flags(e env, name, usage string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(e.stderr)
	fs.Usage = func() {
		fmt.Fprintf(e.stderr, "usage: stella-ls %s %s\n", name, strings.TrimSpace(usage))
		fs.PrintDefaults()
	}
	return fs
}

// parse returns an exit code when the arguments end the command here.
func parse(fs *flag.FlagSet, args []string) (code int, done bool) {
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK, true
	case err != nil:
		return exitUsage, true
	}
	return 0, false
}

// parseMixed is parse for arguments in any order; it returns the words that are
// no flags. What follows "--" is never a flag.
func parseMixed(fs *flag.FlagSet, args []string) (words []string, code int, done bool) {
	for {
		if code, done = parse(fs, args); done {
			return nil, code, true
		}
		rest := fs.Args()
		if len(rest) == 0 {
			return words, 0, false
		}
		if used := len(args) - len(rest); used > 0 && args[used-1] == "--" {
			return append(words, rest...), 0, false
		}
		words, args = append(words, rest[0]), rest[1:]
	}
}

// options are what every command that opens a workspace needs.
func options(e env, level slog.Level) (server.Options, error) {
	home, err := config.Home(e.getenv)
	return server.Options{
		Version: version, Home: home, Env: e.getenv,
		Log: slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level}),
	}, err
}
