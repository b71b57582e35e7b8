package main

import (
	"context"
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
	name, usage, about string
	run                func(ctx context.Context, e env) int
}

// subcommands is the command line; serve is what runs without a name.
var subcommands = []subcommand{
	{"serve", "[--stdio | --socket PATH]", "the language server; what runs without a command", serve},
	{"demo", "[--editor nvim]", "the main job on a sample repository, without a key", demoCommand},
	{"ask", "TEXT [--root DIR] [--json] [--session ID]", "one turn without an editor", ask},
	{"graph", "definitions|references NAME [--path FILE] | imports|importers|neighbors FILE", "asks the code graph", graphCommand},
	{"init", "[--root DIR] [--no-model]", "makes .stella/, the domains, the index", initCommand},
	{"memory", "list | show | validate | promote | unquarantine | forget | history | lift [ID]", "what the workspace remembers", memoryCommand},
	{"sessions", "list | show ID | resume ID | undo ID [--turn T] [--edit E]", "recorded sessions", sessionsCommand},
	{"recover", "list | restore ID", "versions of files that a raced write pushed aside", recoverCommand},
	{"trust", "[DIR] [--revoke]", "lets a folder's own hooks, tools and servers run", trustCommand},
	{"doctor", "[--json] [--root DIR]", "what works here, what does not, and what to do", doctor},
	{"version", "", "prints the version", printVersion},
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
	switch {
	case len(e.args) == 0:
	case !strings.HasPrefix(e.args[0], "-"):
		name, e.args = e.args[0], e.args[1:]
	case e.args[0] == "-h" || e.args[0] == "--help" || e.args[0] == "-help":
		name, e.args = "help", nil
	case len(e.args) == 1 && e.args[0] == "--version":
		name, e.args = "version", nil
	}
	if name == "help" {
		if len(e.args) == 0 || strings.HasPrefix(e.args[0], "-") {
			help(e.stdout)
			return exitOK
		}
		name, e.args = e.args[0], []string{"--help"}
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
	fmt.Fprintf(e.stderr, "stella-ls: no such command: %s; there are %s (try \"stella-ls help\")\n", name, commandNames())
	return exitUsage
}

func commandNames() string {
	var names []string
	for _, sub := range subcommands {
		names = append(names, sub.name)
	}
	return strings.Join(names, ", ")
}

func help(w io.Writer) {
	fmt.Fprintln(w, "usage: stella-ls [command]   (without a command: serve)")
	for _, sub := range subcommands {
		fmt.Fprintf(w, "\n  %s\n      %s\n", strings.TrimSpace(sub.name+" "+sub.usage), sub.about)
	}
	fmt.Fprintln(w, "\nstella-ls COMMAND --help tells a command's flags and exit codes.")
}

func printVersion(_ context.Context, e env) int {
	fs := flags(e, "version", "\n\nPrints the version of this program.")
	if code, done := parse(fs, e.args); done {
		return code
	}
	if fs.NArg() > 0 {
		return fs.fault(fmt.Sprintf("unexpected argument %q", fs.Arg(0)))
	}
	fmt.Fprintln(e.stdout, "stella-ls", version)
	return exitOK
}

// options are what every command that opens a workspace needs.
func options(e env, level slog.Level) (server.Options, error) {
	home, err := config.Home(e.getenv)
	return server.Options{
		Version: version, Home: home, Env: e.getenv,
		Log: slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level}),
	}, err
}
