package main

import (
	"context"
	"fmt"
	"os"

	"github.com/stella-ls/stella-ls/internal/demo"
)

// demoCommand plays the demo against this very program.
func demoCommand(ctx context.Context, e env) int {
	fs := flags(e, "demo", `[--editor nvim]

Plays the main job on a small sample repository: a scripted model edits a file
while a person types in it. No key, no network; all of it in a temporary folder.

exit codes: 0 it went as it should, 2 wrong usage, 5 it did not
`)
	editor := fs.String("editor", "", "`nvim` plays it in a real headless Neovim (STELLA_NVIM or nvim on the PATH)")
	if code, done := parse(fs, e.args); done {
		return code
	}
	if fs.NArg() > 0 {
		return fs.fault(fmt.Sprintf("unexpected argument %q", fs.Arg(0)))
	}
	if *editor != "" && *editor != "nvim" {
		return fs.fault(fmt.Sprintf("there is no editor %q here; only nvim can be named", *editor))
	}
	self, err := os.Executable()
	if err == nil {
		err = demo.Run(ctx, demo.Options{Server: self, Editor: *editor, Out: e.stdout})
	}
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls demo:", err)
		return exitNone
	}
	return exitOK
}
