package graph

import (
	"context"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Graph is the index of one workspace.
type Graph struct{}

// Open prepares the index; Start fills it.
func Open(o Options) (*Graph, error) { panic("todo") }

func (g *Graph) Start(ctx context.Context)                          { panic("todo") }
func (g *Graph) Ready() <-chan struct{}                             { panic("todo") }
func (g *Graph) Wait(ctx context.Context) error                     { panic("todo") }
func (g *Graph) Close() error                                       { panic("todo") }
func (g *Graph) Status() IndexStatus                                { panic("todo") }
func (g *Graph) Query(ctx context.Context, q Query) (Answer, error) { panic("todo") }
func (g *Graph) FilesChanged(paths ...workspace.Path)               { panic("todo") }
func (g *Graph) Reindex()                                           { panic("todo") }
func (g *Graph) Definition(ctx context.Context, at At) ([]Location, error) {
	panic("todo")
}
func (g *Graph) TypeDefinition(ctx context.Context, at At) ([]Location, error) { panic("todo") }
func (g *Graph) Implementation(ctx context.Context, at At) ([]Location, error) { panic("todo") }
func (g *Graph) References(ctx context.Context, at At, declaration bool) ([]Location, error) {
	panic("todo")
}
func (g *Graph) Highlights(ctx context.Context, at At) ([]Location, error) { panic("todo") }
func (g *Graph) DocumentSymbols(ctx context.Context, p workspace.Path, e workspace.Encoding) ([]Symbol, error) {
	panic("todo")
}
func (g *Graph) WorkspaceSymbols(ctx context.Context, query string, limit int, e workspace.Encoding) ([]Location, error) {
	panic("todo")
}
func (g *Graph) Hover(ctx context.Context, at At) (*HoverInfo, error)     { panic("todo") }
func (g *Graph) IncomingCalls(ctx context.Context, at At) ([]Call, error) { panic("todo") }
func (g *Graph) OutgoingCalls(ctx context.Context, at At) ([]Call, error) { panic("todo") }
func (g *Graph) Links(ctx context.Context, p workspace.Path, e workspace.Encoding) ([]Link, error) {
	panic("todo")
}
func (g *Graph) FoldingRanges(ctx context.Context, p workspace.Path) ([]FoldingRange, error) {
	panic("todo")
}
func (g *Graph) SelectionRanges(ctx context.Context, at At) ([]workspace.Range, error) {
	panic("todo")
}
func (g *Graph) Broken(path workspace.Path, before, after []byte) string { panic("todo") }
func (g *Graph) SymbolRange(path workspace.Path, text []byte, name string) [][2]int {
	panic("todo")
}

// Main runs `stella-ls graph ARGS...` and returns the exit code: 0 found, 1
// nothing there, 2 usage, 4 not indexed or no such information for this
// language, 5 failed.
func Main(ctx context.Context, args []string, env MainEnv) int { panic("todo") }
