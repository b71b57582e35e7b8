package graph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// UsageError says that a query itself is wrong.
type UsageError struct{ Text string }

func (e *UsageError) Error() string { return e.Text }

// defaultLimit bounds the results of a query that names no limit.
const defaultLimit = 200

// Query answers a question. The error is a *UsageError for a wrong question, or
// ctx's; what could not be told is an Answer with Status Failed.
func (g *Graph) Query(ctx context.Context, q Query) (Answer, error) {
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	if strings.TrimSpace(q.Target) == "" && (q.Position == nil || q.Path == "") {
		return Answer{}, &UsageError{"the question names no target"}
	}
	for attempt := 0; ; attempt++ {
		s := g.newSolver(ctx)
		a := Answer{Query: q.Op, Target: q.Target, Results: []Result{}}
		var err error
		switch q.Op {
		case OpDefinitions:
			err = s.definitions(&a, q)
		case OpReferences:
			err = s.references(&a, q)
		case OpImports:
			err = s.imports(&a, q)
		case OpImporters:
			err = s.importers(&a, q)
		case OpNeighbors:
			err = s.neighbors(&a, q)
		default:
			return Answer{}, &UsageError{fmt.Sprintf("unknown question %q: ask definitions, references, imports, importers or neighbors", q.Op)}
		}
		if err := ctx.Err(); err != nil {
			return Answer{}, err
		}
		// A file changed between its indexing and this answer: look again.
		if len(s.stale) > 0 && attempt < 3 {
			g.refresh(ctx, s.stale)
			continue
		}
		return g.finish(s, a, q, err)
	}
}

// refresh indexes files at once.
func (g *Graph) refresh(ctx context.Context, paths []string) {
	for _, p := range paths {
		if e := g.index.get(p); e != nil {
			g.indexNow(ctx, e)
		}
	}
}

// finish sets what all answers have.
func (g *Graph) finish(s *solver, a Answer, q Query, err error) (Answer, error) {
	st := g.Status()
	a.Complete = st.Ready && g.indexer.idle()
	if !a.Complete && !st.LastPass.IsZero() {
		a.AgeMS = max(0, g.o.Clock().Sub(st.LastPass).Milliseconds())
	}
	if n := len(a.Results); n > q.Limit {
		a.More += n - q.Limit
		a.Results = a.Results[:q.Limit]
	}
	var usage *UsageError
	switch {
	case errors.As(err, &usage):
		return Answer{}, err
	case err != nil:
		a.Status, a.Why = Failed, err.Error()
	case len(a.Results) > 0:
		a.Status = Found
	case a.Status == "" && !st.Ready:
		a.Status, a.Why = NotIndexed, fmt.Sprintf("the first pass over the workspace is running (%d of %d files)", st.Done, st.Total)
	case a.Status == "" && s.steps > maxSteps:
		a.Status, a.Why = Failed, "the question took too many steps; narrow it with a path"
	case a.Status == "":
		a.Status = Nothing
	}
	if a.Status == Nothing && a.Why == "" {
		a.Why = "there is none in the index"
		if st.ByLanguage["rust"] > 0 && (q.Op == OpDefinitions || q.Op == OpReferences) {
			a.Why += "; names that macros generate are not known to it"
		}
		if left := leftOut(st.Skipped); left != "" && (q.Op == OpDefinitions || q.Op == OpReferences) {
			a.Why += "; not indexed: " + left
		}
	}
	return a, nil
}

// leftOut counts the files without facts, by reason: "2 generated, 1 too large".
func leftOut(skipped map[string]int) string {
	var out []string
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		out = append(out, fmt.Sprintf("%d %s", skipped[why], why))
	}
	return strings.Join(out, ", ")
}
