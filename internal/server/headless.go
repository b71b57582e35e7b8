package server

import (
	"context"
	"log/slog"

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/lsp"
)

// Headless is the program without an editor: no buffers, nobody to ask.
type Headless struct {
	*agent.Manager
	parts *parts
}

// OpenHeadless builds what sessions need over root. tell gets what a person
// should know; it must not block.
func OpenHeadless(ctx context.Context, o Options, root string, who agent.Client, tell func(string)) (*Headless, error) {
	p, err := build(ctx, o, lsp.Opening{
		Workspace: newWorkspace(o, []string{root}),
		Client:    who, Tell: tell, Inform: tell, Log: slog.New(o.Log),
	})
	if err != nil {
		return nil, err
	}
	if !o.LookOnly {
		p.graph.Start(ctx)
	}
	return &Headless{p.manager, p}, nil
}

// Close ends everything within ctx.
func (h *Headless) Close(ctx context.Context) error { return h.parts.close(ctx) }
