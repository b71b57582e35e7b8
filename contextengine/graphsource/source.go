// Package graphsource lets the context engine ask the code graph.
package graphsource

import (
	"context"
	"fmt"

	"github.com/stella-ls/stella-ls/contextengine"
	"github.com/stella-ls/stella-ls/graph"
)

// Querier is the graph's question.
type Querier interface {
	Query(ctx context.Context, q graph.Query) (graph.Answer, error)
}

// New returns the graph as the engine sees it. An index that is not complete, a
// language without information and a failure are errors: they are not "nothing".
func New(g Querier) contextengine.Graph { return source{g} }

type source struct{ g Querier }

func (s source) Definitions(ctx context.Context, name, path string) ([]contextengine.Definition, error) {
	answer, err := s.ask(ctx, graph.Query{Op: graph.OpDefinitions, Target: name, Limit: 10})
	if err != nil {
		return nil, err
	}
	var near, far []contextengine.Definition
	for _, r := range answer.Results {
		if r.Range == nil || r.File == "" {
			continue
		}
		last := r.Range.End.Line + 1
		if r.Range.End.Character == 0 && r.Range.End.Line > r.Range.Start.Line {
			last-- // the range ends where the next line begins
		}
		d := contextengine.Definition{Name: r.Name, Kind: r.Kind, Container: r.Container, Path: string(r.File),
			First: r.Range.Start.Line + 1, Last: last, Signature: r.Text, How: string(r.How)}
		if d.Path == path {
			near = append(near, d) // the one in the file at hand is meant first
		} else {
			far = append(far, d)
		}
	}
	return append(near, far...), nil
}

func (s source) Neighbors(ctx context.Context, path string) ([]string, error) {
	answer, err := s.ask(ctx, graph.Query{Op: graph.OpNeighbors, Target: path, Limit: 50})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range answer.Results {
		if r.File != "" {
			out = append(out, string(r.File))
		}
	}
	return out, nil
}

func (s source) ask(ctx context.Context, q graph.Query) (graph.Answer, error) {
	answer, err := s.g.Query(ctx, q)
	if err != nil {
		return answer, err
	}
	switch answer.Status {
	case graph.NotIndexed, graph.Failed, graph.NoInformation:
		return answer, fmt.Errorf("graph: %s: %s", answer.Status, answer.Why)
	}
	return answer, nil
}
