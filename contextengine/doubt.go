package contextengine

import (
	"context"
	"slices"
	"strings"

	"github.com/stella-ls/stella-ls/contextengine/store"
)

// FileChanged tells that abs may hold something new: memories with an anchor
// there become doubtful, or stop being so when it holds again what it held. It
// returns the ids of the memories that are about the file, and of those the ones
// whose mark changed by this.
func (e *Engine) FileChanged(ctx context.Context, abs string) (about, moved []string, err error) {
	rel, inside := e.rel(abs)
	if !inside || !e.lay.Exists() {
		return nil, nil, nil
	}
	s, err := e.openStore(ctx, false)
	if err != nil {
		return nil, nil, ignoreAbsent(err)
	}
	at, err := s.Edges(ctx, store.EdgeQuery{Dst: "file:" + rel})
	if err != nil {
		return nil, nil, err
	}
	for _, edge := range at {
		if (edge.Rel == relAnchor || edge.Rel == relDefined) && !slices.Contains(about, edge.Src) {
			about = append(about, edge.Src)
		}
	}
	moved, err = e.recheck(ctx, s, about, rel)
	return about, moved, err
}

// freshen looks at the anchors of a few memories that are about to be shown: an
// editor that watches no files tells nobody what other programs change. What
// cannot be looked at stays as it was.
func (e *Engine) freshen(ctx context.Context, s *store.Store, ids []string) {
	if _, err := e.recheck(ctx, s, ids, ""); err != nil && ctx.Err() == nil {
		e.tellOnce("whether what memories are about has changed cannot be told: " + err.Error())
	}
}

// maxPinned bounds the symbols that one pass looks up in the graph.
const maxPinned = 500

// pin follows, from now on, the symbols of nodes that could not be pinned when
// the memory was noted (the index was not ready, say). It runs where sessions
// start: a name that the graph cannot pin costs a look-up each time.
func (e *Engine) pin(ctx context.Context, s *store.Store, nodes []string) error {
	if e.o.Graph == nil || len(nodes) == 0 {
		return nil
	}
	edges, err := s.Edges(ctx, store.EdgeQuery{Srcs: nodes, Rel: relAnchor})
	if err != nil {
		return err
	}
	pinned := map[int64]map[string]string{}
	var srcs []string
	asked := 0
	for _, edge := range edges {
		name, isSymbol := strings.CutPrefix(edge.Dst, "symbol:")
		if !isSymbol || edge.Attrs["path"] != "" {
			continue
		}
		if asked++; asked > maxPinned {
			break
		}
		if attrs, where := e.symbolState(ctx, name); where != "" {
			pinned[edge.Rec] = attrs
			srcs = append(srcs, edge.Src)
		}
	}
	if len(pinned) == 0 {
		return nil
	}
	return s.Write(ctx, "pin symbols", func(tx *store.Tx) error {
		for _, src := range slices.Compact(srcs) {
			live, err := tx.Edges(src, relAnchor)
			if err != nil {
				return err
			}
			for _, edge := range live {
				attrs, ok := pinned[edge.Rec]
				if !ok {
					continue
				}
				if err := tx.ReplaceEdge(edge, attrs, "pinned"); err != nil {
					return err
				}
				if err := follow(tx, src, attrs["path"]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// recheck looks at the anchors of nodes again; only, unless it is empty, those
// that point into one file.
func (e *Engine) recheck(ctx context.Context, s *store.Store, nodes []string, only string) (moved []string, err error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	edges, err := s.Edges(ctx, store.EdgeQuery{Srcs: nodes, Rel: relAnchor})
	if err != nil {
		return nil, err
	}
	type update struct {
		edge          store.Edge
		state, reason string
	}
	var updates []update
	src := &viewOnce{src: e.o.Source, seen: map[string]viewed{}}
	for _, edge := range edges {
		if only != "" && edge.Dst != "file:"+only && edge.Attrs["path"] != only {
			continue
		}
		state, reason := e.checkAnchor(ctx, src, edge)
		if state != edge.Attrs["state"] {
			updates = append(updates, update{edge, state, reason})
		}
	}
	if len(updates) == 0 {
		return nil, nil
	}
	err = s.Write(ctx, "anchors", func(tx *store.Tx) error {
		moved = moved[:0]
		for _, u := range updates {
			live, err := tx.Edges(u.edge.Src, relAnchor)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(live, func(l store.Edge) bool { return l.Rec == u.edge.Rec })
			if i < 0 {
				continue // another process was faster
			}
			attrs := map[string]string{}
			for k, v := range u.edge.Attrs {
				attrs[k] = v
			}
			delete(attrs, "reason")
			attrs["state"] = u.state
			if u.reason != "" {
				attrs["reason"] = u.reason
			}
			if err := tx.ReplaceEdge(live[i], attrs, u.state); err != nil {
				return err
			}
			if !slices.Contains(moved, u.edge.Src) {
				moved = append(moved, u.edge.Src)
			}
		}
		return nil
	})
	return moved, err
}

// follow makes a change of the file that holds an anchored symbol find the memory.
func follow(tx *store.Tx, src, rel string) error {
	if rel == "" {
		return nil
	}
	defined, err := tx.Edges(src, relDefined)
	if err != nil || slices.ContainsFunc(defined, func(d store.Edge) bool { return d.Dst == "file:"+rel }) {
		return err
	}
	want := []store.Edge{{Dst: "file:" + rel}}
	for _, d := range defined {
		want = append(want, store.Edge{Dst: d.Dst, Attrs: d.Attrs})
	}
	return tx.SetEdges(src, relDefined, want)
}

// viewOnce looks at each file once, for a pass over many anchors.
type viewOnce struct {
	src  Source
	seen map[string]viewed
}

type viewed struct {
	data   []byte
	exists bool
	err    error
}

func (v *viewOnce) View(ctx context.Context, abs string) ([]byte, bool, error) {
	got, ok := v.seen[abs]
	if !ok {
		got.data, got.exists, got.err = v.src.View(ctx, abs)
		v.seen[abs] = got
	}
	return got.data, got.exists, got.err
}
