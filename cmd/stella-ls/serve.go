package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/stella-ls/stella-ls/internal/server"
)

func serve(ctx context.Context, e env) int {
	fs := flags(e, "serve", `[--stdio | --socket PATH] [--trust] [--log-level LEVEL]

The language server. Editors start it; without a command it runs, too. It speaks
LSP over its standard streams, or over a socket to one client after the other, and
ends with its client.

exit codes: 0 ended by shutdown and exit, 1 ended otherwise or failed, 2 wrong usage
`)
	_ = fs.Bool("stdio", true, "speak over standard input and output; the default")
	socket := fs.String("socket", "", "listen on the unix socket at this `path`, owner only, for one client after the other")
	trust := fs.Bool("trust", false, "trust the workspace for this run")
	hooks := fs.Bool("test-hooks", false, "let tests drive a scripted model")
	level := slog.LevelWarn
	fs.TextVar(&level, "log-level", level, "what `level` goes to stderr: DEBUG, INFO, WARN or ERROR")
	// vscode-languageclient adds this one.
	_ = fs.Int("clientProcessId", 0, "ignored; initialize carries the process id")
	fs.hide("test-hooks", "clientProcessId")
	if code, done := parse(fs, e.args); done {
		return code
	}
	if fs.NArg() > 0 {
		return fs.fault(fmt.Sprintf("unexpected argument %q", fs.Arg(0)))
	}
	o, err := options(e, level)
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls:", err)
		return exitFail
	}
	o.Trust, o.TestHooks = *trust, *hooks
	// A client that stops reading is an error of a write, and an orderly end.
	signal.Ignore(syscall.SIGPIPE)
	if *socket != "" {
		return serveSocket(ctx, e, o, *socket)
	}
	return server.LSP(o).Serve(ctx, stdio{e.stdin, e.stdout})
}

// stdio is the process's own standard streams as one connection. Closing it
// closes the input, which ends a blocked read.
type stdio struct {
	io.Reader
	io.Writer
}

func (s stdio) Close() error {
	if c, ok := s.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// serveSocket serves one client at a time until ctx ends: a server holds one
// editor's buffers. The socket is the owner's alone, from the moment it exists.
func serveSocket(ctx context.Context, e env, o server.Options, path string) int {
	l, err := listenOwner(path)
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls:", err)
		return exitFail
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	defer os.Remove(path)
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			return exitOK
		}
		if err != nil {
			fmt.Fprintln(e.stderr, "stella-ls:", err)
			return exitFail
		}
		server.LSP(o).Serve(ctx, conn)
	}
}
