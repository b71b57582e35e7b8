package server

import (
	"context"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/graph"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/lsp"
)

// openGraph prepares the code graph of a workspace; it is filled by Start.
func openGraph(o Options, op lsp.Opening) (*graph.Graph, error) {
	return graph.Open(graph.Options{
		Workspace:     op.Workspace,
		CacheDir:      graphCache(o.Home),
		Log:           op.Log,
		Progress:      op.Indexing,
		Notice:        func(text string) { op.Tell("Stella: " + text) },
		ClientWatches: op.WatchesFiles,
	})
}

// startGraph begins indexing. A test can hold it back (--test-hooks): the
// environment's STELLA_TEST_INDEX is the name of the gate that it then waits at.
func (p *parts) startGraph(ctx context.Context, o Options) {
	name := ""
	if o.TestHooks && o.Env != nil {
		name = o.Env("STELLA_TEST_INDEX")
	}
	if name == "" {
		p.graph.Start(ctx)
		return
	}
	waiting, stop := context.WithCancel(ctx)
	p.held.stop = stop
	p.held.done.Go(func() {
		if p.models.gate.Wait(waiting, name) == nil {
			p.graph.Start(ctx)
		}
	})
}

// holding is a start that waits at a gate.
type holding struct {
	stop context.CancelFunc
	done sync.WaitGroup
}

func (h *holding) end() {
	if h.stop != nil {
		h.stop()
	}
	h.done.Wait()
}

func graphCache(home string) string { return filepath.Join(home, "cache", "graph") }

// graphTool is the graph as a session's tool sees it.
type graphTool struct{ g graph.Service }

func (t graphTool) Ready() bool {
	select {
	case <-t.g.Ready():
		return true
	default:
		return false
	}
}

// graphStatus are the graph's words for the kinds of nothing as the tool has them.
var graphStatus = map[graph.Status]string{
	graph.Found: "ok", graph.Nothing: "none", graph.NotIndexed: "not_indexed", graph.NoInformation: "unsupported", graph.Failed: "failed",
}

func (t graphTool) Query(ctx context.Context, q tools.GraphQuery) (tools.GraphAnswer, error) {
	a, err := t.g.Query(ctx, graph.Query{Op: graph.Op(q.Op), Target: q.Target, Path: q.Path})
	if err != nil {
		return tools.GraphAnswer{}, err
	}
	out := tools.GraphAnswer{Status: graphStatus[a.Status], Complete: a.Complete, Count: len(a.Results), More: a.More, Why: a.Why}
	if len(a.Results) > 0 {
		out.Text = a.String()
	}
	return out, nil
}

// serves says whether the editor is to get answers about a language from here:
// another server may do that, and then nothing must appear twice. "auto" is on
// unless one does. What is set for typescript holds for typescriptreact too,
// unless that has a setting of its own.
func serves(s config.Graph, language string, elsewhere bool) bool {
	mode := s.Serve
	for _, name := range []string{strings.TrimSuffix(language, "react"), language} {
		if own, ok := s.Languages[name]; ok {
			mode = own
		}
	}
	switch mode {
	case "on":
		return true
	case "off":
		return false
	}
	return !elsewhere
}
