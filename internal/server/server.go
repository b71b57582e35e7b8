package server

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
	"github.com/stella-ls/stella-ls/lsp"
)

// Options come from the command line and the environment.
type Options struct {
	Version string
	// Home is $STELLA_HOME; see Home.
	Home string
	Env  func(string) string
	// Trust trusts the workspace for this run.
	Trust bool
	// TestHooks lets scripts wait for stella/test/release.
	TestHooks bool
	Log       slog.Handler
}

// LSP returns a language server over the whole program.
func LSP(o Options) *lsp.Server {
	return lsp.NewServer(lsp.Config{
		Version:   o.Version,
		Log:       o.Log,
		TestHooks: o.TestHooks,
		Workspace: func(roots []string) *workspace.Workspace { return newWorkspace(o, roots) },
		Open:      func(ctx context.Context, op lsp.Opening) (*lsp.Backend, error) { return open(ctx, o, op) },
	})
}

func newWorkspace(o Options, roots []string) *workspace.Workspace {
	log := slog.New(o.Log)
	return workspace.New(workspace.Options{
		Roots: roots,
		Own:   ownFile,
		Log:   func(msg string, args ...any) { log.Warn(msg, args...) },
	})
}

// open builds what sessions need around an opened workspace.
func open(ctx context.Context, o Options, op lsp.Opening) (*lsp.Backend, error) {
	s := &settings{}
	if err := s.set(op.Settings); err != nil {
		return nil, err
	}
	trusted := func() bool { return o.Trust || op.Trusted != nil && *op.Trusted }
	g, err := guard.New(guard.Options{
		Workspace:  op.Workspace,
		StateDir:   o.Home,
		Editor:     op.Editor,
		Settings:   func() config.Guard { return s.get().Guard },
		Formatters: trusted,
		Changed:    op.Changed,
		Tell:       op.Tell,
	})
	if err != nil {
		return nil, err
	}
	rescued, err := g.Recover(ctx)
	if err != nil {
		op.Log.Error("what a crash left could not be looked at", "error", err)
	}
	for _, r := range rescued {
		op.Tell("Stella: " + r)
	}
	models := newModels(o, s)
	m := agent.NewManager(agent.Options{
		Workspace: op.Workspace,
		Guard:     g,
		Client:    op.Client,
		Model:     models.get,
		Settings:  s.get,
		Trusted:   trusted,
		Log:       op.Log,
	})
	return &lsp.Backend{
		Sessions:    m,
		Reconfigure: func(section json.RawMessage) error { return s.set(section) },
		Release:     models.release,
		Close: func(ctx context.Context) error {
			err := m.Close(ctx)
			if gerr := g.Close(ctx); err == nil {
				err = gerr
			}
			return err
		},
	}, nil
}
