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
	usage string
	run   func(ctx context.Context, e env) int
}

// subcommands is the command line; serve is what runs without a name.
func subcommands() map[string]subcommand {
	return map[string]subcommand{
		"serve":   {"[--stdio | --socket PATH]      language server (stdio without arguments)", serve},
		"version": {"                               what this is", printVersion},
	}
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
	sub, ok := subcommands()[name]
	if !ok {
		fmt.Fprintf(e.stderr, "stella-ls: no such command: %s (try \"stella-ls help\")\n", name)
		return exitUsage
	}
	return sub.run(ctx, e)
}

func help(w io.Writer) {
	fmt.Fprintln(w, "usage: stella-ls [command]")
	for _, name := range commandOrder {
		fmt.Fprintf(w, "  %-9s%s\n", name, subcommands()[name].usage)
	}
}

var commandOrder = []string{"serve", "version"}

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

// options are what every command that opens a workspace needs.
func options(e env, level slog.Level) (server.Options, error) {
	home, err := config.Home(e.getenv)
	return server.Options{
		Version: version, Home: home, Env: e.getenv,
		Log: slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level}),
	}, err
}
