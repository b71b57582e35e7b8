package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/agent/memory"
	"github.com/stella-ls/stella-ls/contextengine/graphsource"
	"github.com/stella-ls/stella-ls/graph"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/process"
	"github.com/stella-ls/stella-ls/internal/record"
	"github.com/stella-ls/stella-ls/internal/workspace"
	"github.com/stella-ls/stella-ls/lsp"
)

// Options come from the command line and the environment.
type Options struct {
	Version string
	// Home is $STELLA_HOME; see config.Home.
	Home string
	Env  func(string) string
	// Trust trusts the workspace for this run.
	Trust bool
	// LookOnly opens recorded sessions also where no model is configured: they
	// can be read and undone, not prompted.
	LookOnly bool
	// TestHooks lets scripts wait for stella/test/release.
	TestHooks bool
	Log       slog.Handler
}

// LSP returns a language server over the whole program.
func LSP(o Options) *lsp.Server {
	return lsp.NewServer(lsp.Config{
		Version:    o.Version,
		Log:        o.Log,
		TestHooks:  o.TestHooks,
		Workspace:  func(roots []string) *workspace.Workspace { return newWorkspace(o, roots) },
		Open:       func(ctx context.Context, op lsp.Opening) (*lsp.Backend, error) { return open(ctx, o, op) },
		Transcript: func(t agent.Transcript) (string, error) { return writeTranscript(o.Home, t) },
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

// parts is the program around one workspace.
type parts struct {
	settings *settings
	trust    *trust
	guard    *guard.Guard
	models   *models
	graph    *graph.Graph
	memory   *memory.Memory
	manager  *agent.Manager
	record   *record.Set
	tidying  tidying
	held     holding
}

func (p *parts) close(ctx context.Context) error {
	p.tidying.stop()
	p.held.end()
	return errors.Join(p.manager.Close(ctx), p.memory.Close(), p.guard.Close(ctx), p.graph.Close(), p.models.close(), p.record.Close())
}

// build makes everything that sessions need.
func build(ctx context.Context, o Options, op lsp.Opening) (*parts, error) {
	if err := config.EnsureHome(o.Home); err != nil {
		op.Tell("Stella: " + err.Error()) // what needs it says so again
	}
	p := &parts{}
	p.trust = &trust{
		editor: op.Trusted, forced: o.Trust, roots: op.Workspace.Roots,
		store: config.NewTrust(o.Home), log: op.Log, decided: map[string]decision{},
	}
	p.settings = &settings{home: o.Home, root: firstRoot(op.Workspace), trusted: p.trust.trusted, editor: op.Settings,
		problem: func(f config.Problem) { op.Tell("Stella settings: " + f.String()) }}
	p.settings.get()
	var err error
	if p.graph, err = openGraph(o, op); err != nil {
		return nil, err
	}
	p.openRecord(o, op)
	g, err := guard.New(guard.Options{
		Recorder:   p.record,
		Syntax:     p.graph,
		Workspace:  op.Workspace,
		StateDir:   o.Home,
		Editor:     op.Editor,
		Settings:   func() config.Guard { return p.settings.get().Guard },
		Formatters: p.trust.trusted,
		Changed:    op.Changed,
		Tell:       op.Tell,
	})
	if err != nil {
		return nil, err
	}
	p.guard = g
	rescued, err := g.Recover(ctx)
	if err != nil {
		op.Log.Error("what a crash left could not be looked at", "error", err)
	}
	for _, r := range rescued {
		op.Tell("Stella: " + r)
	}
	if n := process.Sweep(); n > 0 {
		op.Tell(fmt.Sprintf("Stella: processes that a server which was killed had left running were ended: %d", n))
	}
	p.models = newModels(o, p.settings.get)
	p.memory = memory.New(memory.Options{
		Graph:     graphsource.New(p.graph),
		Workspace: op.Workspace,
		Settings:  func() config.Recall { return p.settings.get().Recall },
		Report:    func(sentence string) { op.Tell("Stella: " + sentence) },
		Inform:    func(sentence string) { op.Inform("Stella: " + sentence) },
		Log:       func(sentence string) { op.Log.Info(sentence) },

		DoubtsChanged: op.MemoriesChanged,
	})
	p.manager = agent.NewManager(agent.Options{
		Record:  p.record,
		Home:    o.Home,
		Tell:    op.Tell,
		Context: p.memory,
		Graph:   graphTool{p.graph},
		Around: func(ctx context.Context, path string, line int) string {
			return p.graph.Around(ctx, workspace.Path(path), line)
		},
		Workspace: op.Workspace,
		Guard:     g,
		Client:    op.Client,
		Model:     p.models.get,
		Settings:  p.settings.get,
		Trusted:   p.trust.trusted,
		Always:    func(rule string) error { return config.Always(o.Home, rule) },
		Log:       op.Log,
	})
	if !o.LookOnly {
		p.tidying.start(p.record, p.settings.get().Record.KeepDays, op.Log)
	}
	return p, nil
}

func firstRoot(ws *workspace.Workspace) string {
	if roots := ws.Roots(); len(roots) > 0 {
		return roots[0]
	}
	return ""
}

// open is build for a language client.
func open(ctx context.Context, o Options, op lsp.Opening) (*lsp.Backend, error) {
	p, err := build(ctx, o, op)
	if err != nil {
		return nil, err
	}
	p.startGraph(ctx, o)
	return &lsp.Backend{
		Sessions: asking{p.manager, p.trust, op.Client, ctx},
		Memory:   p.memory,
		Graph:    p.graph,
		Serves:   func(language string, elsewhere bool) bool { return serves(p.settings.get().Graph, language, elsewhere) },
		Problems: func(root string) []config.Problem {
			_, problems := config.Load(config.Sources{Home: o.Home, Root: root, Trusted: p.trust.trusted()})
			return problems
		},
		Doctor: func(ctx context.Context) any {
			index := p.graph.Status()
			return Report(Doctor(ctx, o, firstRoot(op.Workspace), &index))
		},
		Reconfigure: func(section json.RawMessage) error {
			p.settings.set(section)
			return nil
		},
		Release: p.models.release,
		Close:   p.close,
	}, nil
}

// asking puts the question about trust when the first session starts; the
// session does not wait for it and is untrusted until it is answered.
type asking struct {
	*agent.Manager
	trust *trust
	who   agent.Client
	base  context.Context
}

func (a asking) Start(ctx context.Context, o agent.StartOptions) (string, error) {
	go a.trust.ask(a.base, a.who)
	return a.Manager.Start(ctx, o)
}
