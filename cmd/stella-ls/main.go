// Command stella-ls is a language server that runs coding-agent sessions and
// refuses any write that was planned against content that has changed since.
// Without arguments it serves over stdio; "stella-ls help" lists the rest.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, env{
		args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv,
	})
	stop()
	os.Exit(code)
}
