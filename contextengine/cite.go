package contextengine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/contextengine/files"
	"github.com/stella-ls/stella-ls/contextengine/internal/text"
	"github.com/stella-ls/stella-ls/contextengine/ledger"
	"github.com/stella-ls/stella-ls/contextengine/store"
)

func (e *Engine) cite(ctx context.Context, r CiteRequest, remark string) (CiteResult, error) {
	l, err := e.openLedger(ctx, true)
	if err != nil {
		return CiteResult{}, err
	}
	s, err := e.openStore(ctx, true)
	if err != nil {
		return CiteResult{}, err
	}
	n, _, err := s.Get(ctx, r.MemoryID, store.When{Ever: true})
	if err != nil {
		return CiteResult{}, err
	}
	before, err := l.Record(ctx, r.MemoryID)
	if err != nil {
		return CiteResult{}, err
	}
	added, err := l.Cite(ctx, ledger.Citation{Memory: r.MemoryID, Session: r.Session, Turn: r.Turn, Revision: n.RecordedSeq,
		Score: r.Score, Truthful: r.Truthful, Remark: remark})
	if err != nil {
		return CiteResult{}, err
	}
	info, _, err := e.ByID(ctx, r.MemoryID)
	return CiteResult{Info: info, Duplicate: !added, NowQuarantined: added && info.Quarantined && !before.Quarantined,
		NowEligible: added && info.Eligible && !before.Eligible()}, err
}

// List returns the memories and lessons, cited ones first, then by source and
// id. With w set it answers from the store as of then; else the plain files are
// what counts, also where there is no store yet.
func (e *Engine) List(ctx context.Context, w When) ([]MemoryInfo, error) {
	var nodes []store.Node
	s, err := e.openStore(ctx, false)
	if err := ignoreAbsent(err); err != nil {
		return nil, err
	}
	if s != nil {
		if nodes, err = s.Nodes(ctx, store.When{AsOf: w.AsOf, ValidAt: w.ValidAt}, true, kindMemory, kindReflection); err != nil {
			return nil, err
		}
		if ids := idsOf(nodes); w == (When{}) && len(ids) <= maxFreshened {
			e.freshen(ctx, s, ids)
		}
	}
	if w.AsOf.IsZero() && w.ValidAt.IsZero() {
		if nodes, err = e.withFiles(nodes); err != nil {
			return nil, err
		}
	}
	infos, err := e.infos(ctx, s, nodes, w)
	slices.SortStableFunc(infos, func(a, b MemoryInfo) int {
		if c := b.Citations - a.Citations; c != 0 {
			return c
		}
		if c := strings.Compare(a.Source, b.Source); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return infos, err
}

// maxFreshened bounds the memories whose anchors a list looks at; more take
// "memory validate", or the start of a session.
const maxFreshened = 200

func idsOf(nodes []store.Node) (ids []string) {
	for _, n := range nodes {
		ids = append(ids, n.ID)
	}
	return ids
}

// withFiles puts what the files say in place of what the store mirrored.
func (e *Engine) withFiles(nodes []store.Node) ([]store.Node, error) {
	memories, problems, err := e.lay.ReadMemories()
	if err != nil {
		return nil, err
	}
	unreadable := map[string]bool{}
	for _, p := range problems {
		e.tellOnce(p.String())
		unreadable[p.Path] = true
	}
	byID := map[string]store.Node{}
	var out []store.Node
	for _, n := range nodes {
		if n.Kind != kindMemory || unreadable[n.Source] {
			out = append(out, n)
		}
		byID[n.ID] = n
	}
	for _, m := range memories {
		n := byID[MemoryID(m.Slug)]
		n.ID, n.Kind, n.Key, n.Label, n.Content, n.Origin, n.Source = MemoryID(m.Slug), kindMemory, memoryKey(m.Slug), m.Slug, m.Text, m.Origin, m.Path
		if !slices.ContainsFunc(out, func(o store.Node) bool { return o.ID == n.ID }) {
			out = append(out, n)
		}
	}
	return out, nil
}

// infos joins nodes with their citations, anchors and domains.
func (e *Engine) infos(ctx context.Context, s *store.Store, nodes []store.Node, w When) ([]MemoryInfo, error) {
	records := map[string]ledger.Record{}
	l, err := e.openLedger(ctx, false)
	if err := ignoreAbsent(err); err != nil {
		return nil, err
	}
	if l != nil {
		if records, err = l.Records(ctx); err != nil {
			return nil, err
		}
	}
	edges := map[string][]store.Edge{}
	if s != nil {
		var only []string // few nodes: their edges; many: all edges in one go
		for i := 0; i < len(nodes) && len(nodes) <= 200; i++ {
			only = append(only, nodes[i].ID)
		}
		for _, rel := range []string{relAnchor, relDomain} {
			all, err := s.Edges(ctx, store.EdgeQuery{Rel: rel, Srcs: only, When: store.When{AsOf: w.AsOf, ValidAt: w.ValidAt}})
			if err != nil {
				return nil, err
			}
			for _, edge := range all {
				edges[edge.Src] = append(edges[edge.Src], edge)
			}
		}
	}
	rules, _, err := e.lay.ReadRules()
	if err != nil {
		return nil, err
	}
	isRule := promoted(rules)
	out := make([]MemoryInfo, 0, len(nodes))
	for _, n := range nodes {
		info := infoOf(n, records[n.ID], edges[n.ID])
		info.Promoted = isRule[n.ID]
		out = append(out, info)
	}
	return out, nil
}

func infoOf(n store.Node, r ledger.Record, edges []store.Edge) MemoryInfo {
	info := MemoryInfo{
		ID: n.ID, Citations: r.Citations, AvgScore: round2(r.Average()), TruthfulRate: round2(r.TruthfulRate()),
		PositiveStreak: r.Streak, Quarantined: r.Quarantined, LastRemark: r.LastRemark,
		Eligible: r.Eligible() && n.Origin != files.Derived,
		Memory:   firstLine(n.Content), Source: n.Source, Kind: n.Kind, Origin: n.Origin, Text: n.Content,
		ValidFrom: n.ValidFrom, ValidTo: n.ValidTo, RecordedAt: n.RecordedAt, Doubts: doubtsOf(edges),
	}
	if n.Kind == kindMemory {
		info.Slug = strings.TrimPrefix(n.Key, "memory://")
	}
	for _, edge := range edges {
		if name, ok := strings.CutPrefix(edge.Dst, "domain:"); ok && edge.Rel == relDomain {
			info.Domains = append(info.Domains, name)
		}
	}
	info.Doubtful = len(info.Doubts) > 0
	return info
}

func round2(f float64) float64 { return float64(int(f*100+0.5)) / 100 }

// ByID returns one memory or lesson as it is now, or as it was last when it is
// gone (ValidTo is set then). A slug is taken for an id as well.
func (e *Engine) ByID(ctx context.Context, id string) (MemoryInfo, bool, error) {
	return e.ByIDWhen(ctx, id, When{})
}

// ByIDWhen is ByID at other times.
func (e *Engine) ByIDWhen(ctx context.Context, id string, w When) (MemoryInfo, bool, error) {
	if !strings.HasPrefix(id, "nod_") && files.ValidSlug(id) {
		id = MemoryID(id)
	}
	s, err := e.openStore(ctx, false)
	if err := ignoreAbsent(err); err != nil {
		return MemoryInfo{}, false, err
	}
	now := w.AsOf.IsZero() && w.ValidAt.IsZero()
	var nodes []store.Node
	if s != nil {
		n, ok, err := s.Get(ctx, id, store.When{AsOf: w.AsOf, ValidAt: w.ValidAt, Ever: now})
		if err != nil {
			return MemoryInfo{}, false, err
		}
		if ok && (n.Kind == kindMemory || n.Kind == kindReflection) {
			nodes = append(nodes, n)
		}
	}
	if now && len(nodes) > 0 {
		e.freshen(ctx, s, []string{id})
	}
	if now {
		nodes = e.refresh(id, nodes)
	}
	infos, err := e.infos(ctx, s, nodes, w)
	if err != nil || len(infos) == 0 {
		return MemoryInfo{}, false, err
	}
	return infos[0], true, nil
}

// refresh puts a memory's file in place of what the store mirrored.
func (e *Engine) refresh(id string, nodes []store.Node) []store.Node {
	if len(nodes) > 0 {
		if nodes[0].Kind == kindMemory {
			if m, _ := e.lay.ReadMemory(strings.TrimPrefix(nodes[0].Key, "memory://")); m != nil {
				nodes[0].Content, nodes[0].Origin, nodes[0].ValidTo = m.Text, m.Origin, time.Time{}
			}
		}
		return nodes
	}
	memories, _, err := e.lay.ReadMemories()
	if err != nil {
		return nil
	}
	for _, m := range memories {
		if MemoryID(m.Slug) == id {
			return []store.Node{{ID: id, Kind: kindMemory, Key: memoryKey(m.Slug), Label: m.Slug, Content: m.Text, Origin: m.Origin, Source: m.Path}}
		}
	}
	return nil
}

// need is ByID with the refusal that people see.
func (e *Engine) need(ctx context.Context, id string) (MemoryInfo, error) {
	info, ok, err := e.ByID(ctx, id)
	if err == nil && (!ok || !info.ValidTo.IsZero()) { // never was, or is forgotten
		err = &Refusal{"not_found", "there is no memory " + id, "see \"stella-ls memory list\""}
	}
	return info, err
}

// Promote writes a memory as a rule, which every later session is told. Never
// over an existing file, never from a derived, quarantined or unproven memory.
func (e *Engine) Promote(ctx context.Context, id string) (path string, err error) {
	info, err := e.need(ctx, id)
	if err != nil {
		return "", err
	}
	switch {
	case info.Origin == files.Derived:
		return "", &Refusal{"denied", "its origin is derived: it came from material outside the workspace",
			"check it, and write \"origin: user\" into " + info.Source + " if you stand by it"}
	case info.Quarantined:
		return "", &Refusal{"denied", "it is quarantined", "\"stella-ls memory unquarantine " + info.ID + " --reason ...\" first, if it is right after all"}
	case !info.Eligible:
		return "", &Refusal{"denied", fmt.Sprintf("it has %d useful citations in a row and needs more than %d", info.PositiveStreak, ledger.EligibleAbove),
			"write the rule by hand if you want it now"}
	}
	slug := info.Slug
	if slug == "" {
		slug = slugOf(info.Memory)
	}
	var doc files.Document
	doc.Set("description", firstLine(info.Text))
	doc.Set("memory", info.ID)
	doc.Body = info.Text + "\n"
	if err := e.lay.Prepare(); err != nil {
		return "", err
	}
	path = e.lay.Rule(slug)
	if err := files.Create(path, []byte(doc.String())); errors.Is(err, fs.ErrExist) {
		return "", &Refusal{"exists", e.lay.Rel(path) + " exists already", "rename one of the two"}
	} else if err != nil {
		return "", err
	}
	return e.lay.Rel(path), nil
}

// slugOf makes a file name of a sentence.
func slugOf(s string) string {
	var b strings.Builder
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') }) {
		if b.Len()+len(w) > 48 {
			break
		}
		if b.Len() > 0 {
			b.WriteByte('-')
		}
		b.WriteString(w)
	}
	if b.Len() == 0 {
		return "lesson"
	}
	return b.String()
}

// Unquarantine puts a memory back into use, with the reason on record.
func (e *Engine) Unquarantine(ctx context.Context, id, reason string) error {
	info, err := e.need(ctx, id)
	switch {
	case err != nil:
		return err
	case strings.TrimSpace(reason) == "":
		return &Refusal{"invalid", "a reason is needed", "--reason TEXT"}
	case !info.Quarantined:
		return &Refusal{"invalid", info.ID + " is not quarantined", ""}
	}
	l, err := e.openLedger(ctx, true)
	if err != nil {
		return err
	}
	return l.Lift(ctx, info.ID, text.Clip(reason, 300))
}

// Forget takes a memory away: its file, and its place in recall. What was
// believed and when stays in the store; a tombstone keeps it from being learned again.
func (e *Engine) Forget(ctx context.Context, id, reason string) error {
	info, err := e.need(ctx, id)
	if err != nil {
		return err
	}
	if reason = strings.TrimSpace(reason); reason == "" {
		reason = "forgotten"
	}
	s, err := e.openStore(ctx, true)
	if err != nil {
		return err
	}
	if info.Slug != "" {
		// The text as it is now goes into the store before its file goes away.
		if err := e.mirrorInto(ctx, s); err != nil {
			return err
		}
		m, problems := e.lay.ReadMemory(info.Slug)
		if m == nil && len(problems) > 0 {
			return errors.New(problems[0].String())
		}
		if m != nil {
			if err := files.Remove(e.lay.Memory(info.Slug), m.Digest); err != nil {
				return err
			}
		}
	}
	return s.Write(ctx, "forget", func(tx *store.Tx) error { return bury(tx, info.ID, text.Clip(reason, 300)) })
}

// Revision is one line of a memory's history.
type Revision struct {
	Text, Label, Origin, Reason          string
	ValidFrom, ValidTo                   time.Time
	RecordedAt, SupersededAt             time.Time
	RecordedSeq, SupersededSeq, Replaces int64
	Record                               int64
}

// History is everything that was ever believed of a memory, oldest first.
func (e *Engine) History(ctx context.Context, id string) ([]Revision, error) {
	s, err := e.openStore(ctx, false)
	if err != nil {
		return nil, ignoreAbsent(err)
	}
	if files.ValidSlug(id) && !strings.HasPrefix(id, "nod_") {
		id = MemoryID(id)
	}
	nodes, err := s.History(ctx, id)
	var out []Revision
	for _, n := range nodes {
		out = append(out, Revision{n.Content, n.Label, n.Origin, n.Reason, n.ValidFrom, n.ValidTo, n.RecordedAt, n.SupersededAt,
			n.RecordedSeq, n.SupersededSeq, n.Replaces, n.Rec})
	}
	return out, err
}

// Validation is the state of one memory's anchors.
type Validation struct {
	ID, Source string
	// State is ok, stale or no-anchors.
	State   string
	Reasons []string
	// Flags are orders in a memory of derived origin, for people to look at.
	Flags []string
}

// Validate looks at the anchors of all memories now.
func (e *Engine) Validate(ctx context.Context) ([]Validation, error) {
	s, err := e.openStore(ctx, false)
	if err := ignoreAbsent(err); err != nil {
		return nil, err
	}
	if s != nil {
		if err := e.mirrorInto(ctx, s); err != nil {
			return nil, err
		}
		if _, err := e.recheckAll(ctx, s); err != nil {
			return nil, err
		}
	}
	infos, err := e.List(ctx, When{})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(infos, func(a, b MemoryInfo) int { return strings.Compare(a.Source, b.Source) })
	var out []Validation
	for _, i := range infos {
		v := Validation{ID: i.ID, Source: i.Source, State: "no-anchors", Reasons: i.Doubts}
		anchors, err := e.anchorStates(ctx, s, i)
		if err != nil {
			return nil, err
		}
		if len(anchors) > 0 {
			v.State = "ok"
		}
		if v.Reasons = doubtsOf(anchors); len(v.Reasons) > 0 {
			v.State = "stale"
		}
		if i.Origin == files.Derived {
			v.Flags = imperative(i.Text)
		}
		out = append(out, v)
	}
	return out, nil
}

// anchorStates are a memory's anchors that can be checked: from the store, or
// from its text when there is no store.
func (e *Engine) anchorStates(ctx context.Context, s *store.Store, i MemoryInfo) (out []store.Edge, err error) {
	var all []store.Edge
	if s != nil {
		all, err = s.Edges(ctx, store.EdgeQuery{Src: i.ID, Rel: relAnchor})
	} else {
		all, _ = e.anchorsOf(ctx, i.Text)
		for j := range all {
			all[j].Rel = relAnchor
		}
	}
	for _, a := range all {
		if a.Attrs["state"] != anchorUnsure {
			out = append(out, a)
		}
	}
	return out, err
}

// Lift compares turns with recall and control turns.
func (e *Engine) Lift(ctx context.Context) ([]ledger.Measure, error) {
	l, err := e.openLedger(ctx, false)
	if err != nil {
		return nil, ignoreAbsent(err)
	}
	return l.Compare(ctx)
}
