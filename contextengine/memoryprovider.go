package contextengine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/contextengine/files"
	"github.com/stella-ls/stella-ls/contextengine/internal/text"
	"github.com/stella-ls/stella-ls/contextengine/ocp"
	"github.com/stella-ls/stella-ls/contextengine/store"
)

// recallKinds are the node kinds that can become frames.
var recallKinds = []string{kindMemory, kindReflection, kindEpisode, kindSkill}

// memoryProvider serves memories, lessons, episodes and skills.
type memoryProvider struct{ e *Engine }

func (p *memoryProvider) Info() ocp.ProviderInfo {
	return ocp.ProviderInfo{Name: "stella-memory", Version: "1",
		DataFlow: ocp.DataFlow{Reads: true, EgressScopes: []string{ocp.LocalOnly}}}
}

func (p *memoryProvider) Capabilities() ocp.Capabilities {
	return ocp.Capabilities{Query: ocp.QueryCapability{Kinds: []ocp.Kind{ocp.KindMemory, ocp.KindEpisode, ocp.KindDoc}}, Graph: true}
}

func (p *memoryProvider) Shutdown(context.Context) error { return nil }

// Query ranks without reading a body and reads those of the frames it keeps.
func (p *memoryProvider) Query(ctx context.Context, q ocp.Query) (ocp.Result, error) {
	empty := ocp.Result{Frames: []ocp.Frame{}}
	s, err := p.e.openStore(ctx, false)
	if err != nil {
		return empty, ignoreAbsent(err)
	}
	// What must not be shown is known before anything is ranked, or nothing is.
	quarantined, err := p.e.quarantined(ctx)
	if err != nil {
		return empty, fmt.Errorf("which memories are quarantined cannot be read, so none is recalled: %w", err)
	}
	r := &ranking{e: p.e, s: s, q: q, without: quarantined}
	if err := r.prepare(ctx); err != nil {
		return empty, err
	}
	if err := r.gather(ctx); err != nil {
		return empty, err
	}
	kept, dropped := r.choose()
	p.e.freshen(ctx, s, firstIDs(kept, q.MaxFrames))
	return p.frames(ctx, s, q, kept, dropped)
}

// firstIDs are the memories that may become frames.
func firstIDs(kept []*candidate, n uint32) (ids []string) {
	for _, c := range kept[:min(len(kept), int(n))] {
		ids = append(ids, c.ID)
	}
	return ids
}

func (e *Engine) quarantined(ctx context.Context) (map[string]bool, error) {
	l, err := e.openLedger(ctx, false)
	if err != nil {
		return nil, ignoreAbsent(err)
	}
	return l.Quarantined(ctx)
}

// term is one distinct word of the query.
type term struct {
	text.Term
	hash   uint32
	idf    float64
	strong bool // distinctive: no word of any request, and in at most half of the corpus
}

// candidate is a record with its reasons.
type candidate struct {
	store.Hit
	lexical    int // rank by BM25, -1 when no term matched
	anchor     int // place of the best anchor it is anchored on, -1
	hop        bool
	domain     bool
	strong     int // distinctive terms it holds
	matched    int // all terms it holds
	identifier bool
	strength   float64 // sum of the weights of those
	coverage   float64 // strength over that of the whole query
	score      float64
}

type ranking struct {
	e       *Engine
	s       *store.Store
	q       ocp.Query
	without map[string]bool
	when    store.When

	terms    []term  // of the query that the store knows, rarest first
	asked    int     // how many of them the index is searched for
	total    float64 // weight of all distinctive terms of the query
	anchors  []string
	named    map[int]bool // places of anchors that the prompt itself names, and symbols
	scope    []string     // domains the query is about, a proper subset of the vocabulary
	found    map[string]*candidate
	order    []*candidate
	taxonomy files.Taxonomy
}

// Limits of one search.
const (
	maxQueryTerms = 24
	maxPostings   = 1200 // records that the chosen terms may occur in, together
	maxHits       = 60
	maxAnchored   = 60
	// fewRecords may share a word in a corpus that is too small for shares to mean much.
	fewRecords = 3
)

func (r *ranking) prepare(ctx context.Context) error {
	if r.q.AsOf != "" {
		at, err := time.Parse(time.RFC3339Nano, r.q.AsOf)
		if err != nil {
			return fmt.Errorf("as_of %q: %w", r.q.AsOf, err)
		}
		r.when.ValidAt = at
	}
	taxonomy, err := r.e.lay.ReadDomains()
	if err != nil {
		r.e.tellOnce(err.Error())
	}
	r.taxonomy = taxonomy
	prompt := r.q.QueryText
	if prompt == "" {
		prompt = r.q.Goal
	}
	r.readAnchors(prompt)
	r.readScope(prompt)
	return r.weigh(ctx, prompt)
}

// readAnchors turns the query's URIs into the store's names.
func (r *ranking) readAnchors(prompt string) {
	r.named = map[int]bool{}
	inPrompt := map[string]bool{}
	for _, m := range mentions(prompt) {
		inPrompt["file:"+m.File] = true
	}
	defer func() {
		for i, a := range r.anchors {
			r.named[i] = inPrompt[a] || strings.HasPrefix(a, "symbol:")
		}
	}()
	for _, a := range r.q.Anchors {
		if abs, ok := pathOfURI(a); ok {
			if rel, inside := r.e.rel(abs); inside {
				r.anchors = append(r.anchors, "file:"+rel)
			}
		} else if strings.HasPrefix(a, "symbol:") {
			r.anchors = append(r.anchors, a)
		}
	}
}

// readScope finds the domains that the prompt names or an anchor lies in.
func (r *ranking) readScope(prompt string) {
	lower := " " + strings.Join(strings.FieldsFunc(strings.ToLower(prompt), func(c rune) bool { return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') }), " ") + " "
	for _, d := range r.taxonomy.Names() {
		if strings.Contains(lower, " "+strings.ToLower(d)+" ") {
			r.scope = append(r.scope, d)
		}
	}
	for _, a := range r.anchors {
		if rel, ok := strings.CutPrefix(a, "file:"); ok {
			r.scope = append(r.scope, r.taxonomy.Of(rel)...)
		}
	}
	slices.Sort(r.scope)
	r.scope = slices.Compact(r.scope)
	if len(r.scope) == len(r.taxonomy.Names()) {
		r.scope = nil // says nothing
	}
}

// weigh finds how telling each term of the prompt is.
func (r *ranking) weigh(ctx context.Context, prompt string) error {
	seen := map[string]bool{}
	var names []string
	var all []text.Term
	for _, t := range text.Terms(prompt) {
		if !seen[t.Text] && len(names) < 400 {
			seen[t.Text] = true
			names = append(names, t.Text)
			all = append(all, t)
		}
	}
	df, err := r.s.Frequency(ctx, names)
	if err != nil {
		return err
	}
	size, err := r.s.Size(ctx)
	if err != nil {
		return err
	}
	for _, t := range all {
		n := df[t.Text]
		w := term{Term: t, hash: text.Hash(t.Text)}
		// A word that occurs nowhere weighs like one that occurs once: it tells
		// as much about what the prompt is about.
		w.idf = math.Log(1 + (float64(size)-float64(max(n, 1))+0.5)/(float64(max(n, 1))+0.5))
		w.strong = !text.Weak(t.Text) && n <= max(fewRecords, size/2)
		if w.strong && !(t.Identifier && n == 0) {
			r.total += w.idf
		}
		if n > 0 {
			r.terms = append(r.terms, w)
		}
	}
	slices.SortStableFunc(r.terms, func(a, b term) int {
		if c := cmp.Compare(df[a.Text], df[b.Text]); c != 0 {
			return c
		}
		return strings.Compare(a.Text, b.Text)
	})
	r.terms = r.terms[:min(len(r.terms), maxQueryTerms)]
	for postings := 0; r.asked < len(r.terms); r.asked++ {
		if postings += df[r.terms[r.asked].Text]; r.asked >= 2 && postings > maxPostings {
			break
		}
	}
	return nil
}

// gather collects what matched, what is anchored, and what is one hop away.
func (r *ranking) gather(ctx context.Context) error {
	r.found = map[string]*candidate{}
	names := make([]string, r.asked)
	for i, t := range r.terms[:r.asked] {
		names[i] = t.Text
	}
	hits, err := r.s.Match(ctx, names, r.when, recallKinds, r.without, maxHits)
	if err != nil {
		return err
	}
	for i, h := range hits {
		r.add(h).lexical = i
	}
	for place, a := range r.anchors {
		err := r.addAnchored(ctx, a, func(c *candidate) {
			if c.anchor < 0 {
				c.anchor = place
			}
		})
		if err != nil {
			return err
		}
	}
	if err := r.addNeighbors(ctx); err != nil {
		return err
	}
	return r.markDomains(ctx)
}

func (r *ranking) add(h store.Hit) *candidate {
	c, ok := r.found[h.ID]
	if !ok {
		c = &candidate{Hit: h, lexical: -1, anchor: -1}
		label := text.SetOf(h.Label)
		for _, t := range r.terms {
			if !h.Terms.Has(t.hash) {
				continue
			}
			c.matched++
			if !t.strong {
				continue
			}
			c.strong++
			c.identifier = c.identifier || t.Identifier
			if c.strength += t.idf; label.Has(t.hash) {
				c.strength += labelBonus * t.idf // a label says what the text is about
			}
		}
		if r.total > 0 {
			c.coverage = min(1, c.strength/r.total)
		}
		r.found[h.ID] = c
		r.order = append(r.order, c)
	}
	return c
}

func (r *ranking) addAnchored(ctx context.Context, dst string, mark func(*candidate)) error {
	edges, err := r.s.Edges(ctx, store.EdgeQuery{Dst: dst, Rel: relAnchor, When: r.when})
	if err != nil {
		return err
	}
	if name, ok := strings.CutPrefix(dst, "symbol:"); ok && len(edges) == 0 {
		// A memory may name the member, the cursor stands on Owner.member.
		if i := strings.LastIndexAny(name, ".:#"); i >= 0 {
			edges, err = r.s.Edges(ctx, store.EdgeQuery{Dst: "symbol:" + name[i+1:], Rel: relAnchor, When: r.when})
			if err != nil {
				return err
			}
		}
	}
	var ids []string
	for _, e := range edges {
		ids = append(ids, e.Src)
	}
	hits, err := r.s.ByIDs(ctx, ids[:min(len(ids), maxAnchored)], r.when, recallKinds, r.without)
	for _, h := range hits {
		mark(r.add(h))
	}
	return err
}

// addNeighbors marks memories about files that import an anchored file or are
// imported by it.
func (r *ranking) addNeighbors(ctx context.Context) error {
	g := r.e.o.Graph
	if g == nil {
		return nil
	}
	asked := 0
	for _, a := range r.anchors {
		rel, ok := strings.CutPrefix(a, "file:")
		if !ok {
			continue
		}
		if asked++; asked > 2 {
			break // the focal files; more would cost time and tell little
		}
		near, err := g.Neighbors(ctx, r.e.abs(rel))
		if err != nil {
			continue // an index that is not ready is no reason to recall nothing
		}
		for _, n := range near[:min(len(near), 12)] {
			if rel, inside := r.e.rel(n); inside {
				if err := r.addAnchored(ctx, "file:"+rel, func(c *candidate) { c.hop = true }); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// markDomains marks the candidates that share a domain with the query's scope.
func (r *ranking) markDomains(ctx context.Context) error {
	if len(r.scope) == 0 || len(r.order) == 0 {
		return nil
	}
	var ids, dsts []string
	for _, c := range r.order {
		ids = append(ids, c.ID)
	}
	for _, d := range r.scope {
		dsts = append(dsts, "domain:"+d)
	}
	edges, err := r.s.Edges(ctx, store.EdgeQuery{Srcs: ids, Rel: relDomain, Dsts: dsts, When: r.when})
	for _, e := range edges {
		if c := r.found[e.Src]; c != nil {
			c.domain = true
		}
	}
	return err
}

// frames reads the bodies of what was kept.
func (p *memoryProvider) frames(ctx context.Context, s *store.Store, q ocp.Query, kept []*candidate, dropped int) (ocp.Result, error) {
	res := ocp.Result{Frames: []ocp.Frame{}}
	var tokens uint32
	for i, c := range kept {
		if uint32(len(res.Frames)) >= q.MaxFrames || tokens+uint32(c.Cost) > q.MaxTokens {
			dropped += len(kept) - i
			break
		}
		f, err := p.frame(ctx, s, c)
		if err != nil {
			return ocp.Result{Frames: []ocp.Frame{}}, err
		}
		if tokens+f.TokenCost > q.MaxTokens || len(q.Kinds) > 0 && !slices.Contains(q.Kinds, f.Kind) {
			continue
		}
		tokens += f.TokenCost
		res.Frames = append(res.Frames, f)
	}
	if dropped > 0 {
		n := uint32(dropped)
		res.Truncated, res.DroppedEstimate = true, &n
	}
	return res, nil
}

func (p *memoryProvider) frame(ctx context.Context, s *store.Store, c *candidate) (ocp.Frame, error) {
	body, err := s.Body(ctx, c.Digest)
	if err != nil {
		return ocp.Frame{}, err
	}
	anchors, err := s.Edges(ctx, store.EdgeQuery{Src: c.ID, Rel: relAnchor})
	if err != nil {
		return ocp.Frame{}, err
	}
	content := strings.ToValidUTF8(body, "\uFFFD") + notes(c.Node, anchors)
	digest := ocp.Digest(content)
	f := ocp.Frame{
		ID: c.ID, Kind: frameKind(c.Kind), Title: c.Label, Content: &content, ContentDigest: &digest,
		Score: float32(c.score), TokenCost: ocp.Cost(content), CitationLabel: citationLabel(c.Node),
		ValidFrom: ocp.FormatTime(c.ValidFrom.Truncate(time.Second)), RecordedAt: ocp.FormatTime(c.RecordedAt.Truncate(time.Second)),
	}
	if !c.ValidTo.IsZero() {
		f.ValidTo = ocp.FormatTime(c.ValidTo)
	}
	if file := c.Attrs["file"]; file != "" && c.Source != "" {
		f.Provenance = append(f.Provenance, ocp.Provenance{Type: "file", URI: fileURI(p.e.abs(c.Source)), Digest: file, By: "stella-memory"})
	} else {
		f.Provenance = append(f.Provenance, ocp.Provenance{Type: "derivation", Method: c.Kind, By: "stella-memory"})
	}
	for _, a := range anchors {
		if rel, ok := strings.CutPrefix(a.Dst, "file:"); ok {
			f.Relations = append(f.Relations, ocp.Relation{Rel: "memory.cites", TargetURI: fileURI(p.e.abs(rel)), DisplayName: rel})
		} else if name, ok := strings.CutPrefix(a.Dst, "symbol:"); ok {
			f.Relations = append(f.Relations, ocp.Relation{Rel: "memory.cites", TargetURI: a.Dst, DisplayName: name})
		}
	}
	return f, nil
}

// notes are what a reader must know before believing the text.
func notes(n store.Node, anchors []store.Edge) string {
	var out string
	if doubts := doubtsOf(anchors); len(doubts) > 0 {
		out += "\n(Doubtful: " + strings.Join(doubts[:min(len(doubts), 3)], "; ") + ".)"
	}
	if n.Origin == files.Derived {
		out += "\n(Unconfirmed: noted after reading material from outside the workspace.)"
	}
	return out
}

func doubtsOf(anchors []store.Edge) (doubts []string) {
	for _, a := range anchors {
		if a.Rel == relAnchor && doubtfulState(a.Attrs["state"]) {
			doubts = append(doubts, a.Attrs["reason"])
		}
	}
	return doubts
}

func frameKind(kind string) ocp.Kind {
	switch kind {
	case kindEpisode:
		return ocp.KindEpisode
	case kindSkill:
		return ocp.KindDoc
	}
	return ocp.KindMemory
}

func citationLabel(n store.Node) string {
	switch n.Kind {
	case kindSkill:
		return "skill: " + n.Label
	case kindEpisode:
		return "episode: " + n.Label
	case kindReflection:
		return "lesson: " + n.Label
	}
	return "memory: " + n.Label
}
