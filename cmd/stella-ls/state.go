package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/stella-ls/stella-ls/guard/commit"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/server"
)

func isDirectory(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	return err
}

// recoverCommand lists and restores versions that a raced write pushed aside.
func recoverCommand(ctx context.Context, e env) int {
	fs := flags(e, "recover", `list [--json] | restore ID

  list     versions of files that a write which raced with another program pushed aside
  restore  puts one back at its path; what is there is kept in its place

exit codes: 0 done, 1 failed, 2 wrong usage
`)
	asJSON := fs.Bool("json", false, "print JSON")
	words, code, done := parseMixed(fs, e.args)
	if done {
		return code
	}
	home, err := config.Home(e.getenv)
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls recover:", err)
		return exitFail
	}
	switch {
	case len(words) == 1 && words[0] == "list":
		return listDisplaced(e, home, *asJSON)
	case len(words) == 2 && words[0] == "restore":
		return restoreDisplaced(ctx, e, home, words[1])
	}
	fs.Usage()
	return exitUsage
}

func listDisplaced(e env, home string, asJSON bool) int {
	entries := []commit.Entry{}
	dir := filepath.Join(home, "displaced")
	if _, err := os.Stat(dir); err == nil {
		store, err := commit.OpenDisplaced(dir, nil)
		if err == nil {
			var list []commit.Entry
			list, err = store.List()
			entries = append(entries, list...)
		}
		if err != nil {
			fmt.Fprintln(e.stderr, "stella-ls recover:", err)
			return exitFail
		}
	}
	if asJSON {
		printJSON(e.stdout, entries)
		return exitOK
	}
	if len(entries) == 0 {
		fmt.Fprintln(e.stdout, "nothing was pushed aside")
		return exitOK
	}
	for _, x := range entries {
		fmt.Fprintf(e.stdout, "%s  %s  %7d bytes  %s\n    %s\n", x.ID, x.When.Local().Format(time.DateTime), x.Size, x.Path, x.Why)
	}
	fmt.Fprintln(e.stdout, "\nstella-ls recover restore ID puts one back; what is there now is kept in its place.")
	return exitOK
}

func restoreDisplaced(ctx context.Context, e env, home, id string) int {
	engine, err := commit.New(commit.Options{StateDir: home, Tell: func(m string) { fmt.Fprintln(e.stderr, m) }})
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls recover:", err)
		return exitFail
	}
	defer closeSoon(engine, e.stderr)
	entry, _, err := engine.Restore(ctx, id)
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls recover:", err)
		return exitFail
	}
	fmt.Fprintf(e.stdout, "restored %s (%d bytes)\n", entry.Path, entry.Size)
	return exitOK
}

// trustCommand remembers the user's decision about a directory.
func trustCommand(_ context.Context, e env) int {
	fs := flags(e, "trust", `[DIR] [--revoke] | --list

Lets the hooks, tools, MCP servers, formatters and commands that a folder defines
run. It is remembered in your own directory and holds for all that lies below.

exit codes: 0 done, 1 failed, 2 wrong usage
`)
	revoke := fs.Bool("revoke", false, "do not trust it")
	list := fs.Bool("list", false, "print what was decided")
	words, code, done := parseMixed(fs, e.args)
	if done {
		return code
	}
	if len(words) > 1 {
		fs.Usage()
		return exitUsage
	}
	home, err := config.Home(e.getenv)
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls trust:", err)
		return exitFail
	}
	store := config.NewTrust(home)
	if *list {
		return listTrust(e, store)
	}
	dir := "."
	if len(words) == 1 {
		dir = words[0]
	}
	dir, err = directory(dir)
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls trust:", err)
		return exitUsage
	}
	if why := tooWide(dir, e.getenv("HOME")); why != "" && !*revoke {
		fmt.Fprintf(e.stderr, "stella-ls trust: %s %s, and trust holds for everything below; trust the project's own folder\n", dir, why)
		return exitUsage
	}
	if err = config.EnsureHome(home); err == nil {
		err = store.Set(dir, !*revoke)
	}
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls trust:", err)
		return exitFail
	}
	verdict := "trusted"
	if *revoke {
		verdict = "not trusted"
	}
	fmt.Fprintf(e.stdout, "%s and what lies below is %s; running servers see it within a second\n", dir, verdict)
	return exitOK
}

// tooWide says why a directory is no project: trust is inherited, so that
// everything that is ever unpacked there would be trusted.
func tooWide(dir, home string) string {
	same := func(other string) bool {
		a, errA := os.Stat(dir)
		b, errB := os.Stat(other)
		return errA == nil && errB == nil && os.SameFile(a, b)
	}
	switch {
	case filepath.Dir(dir) == dir:
		return "is the whole file system"
	case home != "" && same(home):
		return "is your home directory"
	}
	return ""
}

func listTrust(e env, store *config.Trust) int {
	dirs, trusted, err := store.List()
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls trust:", err)
		return exitFail
	}
	for i, d := range dirs {
		word := "not trusted"
		if trusted[i] {
			word = "trusted"
		}
		fmt.Fprintf(e.stdout, "%-12s%s\n", word, d)
	}
	return exitOK
}

func doctor(ctx context.Context, e env) int {
	fs := flags(e, "doctor", `[--json] [--root DIR]

Says what works here, what does not, and what to do. It contacts nobody.

exit codes: 0 nothing is broken, 1 something is, 2 wrong usage
`)
	asJSON := fs.Bool("json", false, "print JSON")
	root := fs.String("root", ".", "the workspace; a `dir`")
	words, code, done := parseMixed(fs, e.args)
	if done {
		return code
	}
	dir, err := directory(*root)
	if err != nil || len(words) > 0 {
		fs.Usage()
		return exitUsage
	}
	o, err := options(e, slog.LevelError)
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls doctor:", err)
		return exitFail
	}
	checks := server.Doctor(ctx, o, dir, nil)
	if *asJSON {
		printJSON(e.stdout, server.Report(checks))
	} else {
		for _, c := range checks {
			fmt.Fprintf(e.stdout, "%-5s %-16s %s\n", c.Status, c.Name, c.Detail)
			if c.Hint != "" && c.Status != "ok" {
				fmt.Fprintf(e.stdout, "%23s-> %s\n", "", c.Hint)
			}
		}
	}
	if server.Failed(checks) {
		return exitFail
	}
	return exitOK
}
