package graph

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
	"github.com/stella-ls/stella-ls/internal/workspace"
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
	}
	return a, nil
}

// symbol is a target as written: the name, and what it should be in.
type symbol struct {
	name       string
	containers []string
}

// parseSymbol reads "area", "Shape.area", "shapes::area", "Shape#area" and
// quoted SQL names.
func parseSymbol(target string) symbol {
	t := strings.TrimSpace(target)
	t = strings.TrimSuffix(t, "()")
	var parts []string
	for t != "" {
		var part string
		if c := closing(t[0]); c != 0 && strings.IndexByte(t[1:], c) >= 0 {
			n := strings.IndexByte(t[1:], c)
			part, t = t[1:n+1], t[n+2:]
		} else {
			n := strings.IndexAny(t, ".:#")
			if n < 0 {
				n = len(t)
			}
			part, t = t[:n], t[n:]
		}
		t = strings.TrimLeft(t, ".:#")
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return symbol{name: strings.TrimSpace(target)}
	}
	return symbol{name: parts[len(parts)-1], containers: parts[:len(parts)-1]}
}

func closing(c byte) byte {
	switch c {
	case '"', '`':
		return c
	case '[':
		return ']'
	}
	return 0
}

// locate finds the definitions that a query is about.
func (s *solver) locate(a *Answer, q Query) ([]value, error) {
	if q.Path == "" {
		return s.byName(q.Target), nil
	}
	p, v, err := s.file(a, q.Path)
	if v == nil || err != nil {
		return nil, err
	}
	if q.Position != nil {
		at := s.offset(v, workspace.Position{Line: uint32(q.Position.Line), Character: uint32(q.Position.Character)}, workspace.UTF16)
		o := v.OccAt(at)
		if o == facts.None {
			a.Why = "there is no name at that place"
			return nil, nil
		}
		return s.resolve(v, o), nil
	}
	var here []value
	for _, x := range s.byName(q.Target) {
		if x.path == p {
			x.how = HowLocal
			here = append(here, x)
		}
	}
	if len(here) > 0 {
		return here, nil
	}
	return s.meant(v, parseSymbol(q.Target)), nil
}

// meant is what a name means in a file that does not define it.
func (s *solver) meant(v *view, sym symbol) []value {
	parts := append(append([]string(nil), sym.containers...), sym.name)
	r := s.lexical(v, parts[0], 0, v.Size)
	for _, name := range parts[1:] {
		r = s.members(v, r, name, true)
	}
	if len(r) > 0 {
		return dedupe(r)
	}
	// A member that the file uses: what its occurrences resolve to.
	for i := range v.Occs {
		if v.Name(int32(i)) == sym.name {
			r = append(r, s.occ(v, int32(i))...)
		}
	}
	return dedupe(r)
}

// byName finds definitions by their name, and by what they are in when the
// target says so.
func (s *solver) byName(target string) []value {
	sym := parseSymbol(target)
	out := s.named2(sym.name, sym.containers)
	if len(out) == 0 && len(sym.containers) > 0 {
		out = s.named2(strings.TrimSpace(target), nil) // a name with a dot in it
	}
	return out
}

func (s *solver) named2(name string, containers []string) []value {
	var out []value
	for _, p := range s.g.definers(name) {
		v := s.view(p)
		if v == nil {
			continue
		}
		v.defsNamed(name, func(i int32, d *facts.Def) bool {
			if !answerable(d) || !inContainers(v, i, containers) {
				return true
			}
			how := HowName
			if len(containers) > 0 {
				how = HowMember
			}
			out = append(out, value{vDef, p, i, "", how})
			return true
		})
	}
	return out
}

// answerable leaves out what nobody asks for by name.
func answerable(d *facts.Def) bool {
	switch d.Kind {
	case facts.Impl, facts.Parameter, facts.TypeParam:
		return false
	}
	return d.Flags&facts.Local == 0 || d.Kind.Callable() || d.Kind.TypeLike()
}

// inContainers reports whether a definition stands in the named containers, or
// in a file or folder of that name.
func inContainers(v *view, i int32, containers []string) bool {
	d := &v.Defs[i]
	for n := len(containers) - 1; n >= 0; n-- {
		want := containers[n]
		if c := containerOf(v, d); c != "" && v.same(c, want) {
			if d.Parent != facts.None {
				d = &v.Defs[d.Parent]
			}
			continue
		}
		stem := strings.TrimSuffix(path.Base(v.path), path.Ext(v.path))
		return stem == want || strings.HasSuffix(path.Dir(v.path), "/"+strings.Join(containers[:n+1], "/"))
	}
	return true
}

// file resolves a path of a query. A nil view without an error means that the
// answer already says why there is nothing.
func (s *solver) file(a *Answer, spelled string) (string, *view, error) {
	p, err := s.g.source.Resolve(spelled)
	if err != nil {
		return "", nil, &UsageError{err.Error()}
	}
	v := s.view(p)
	if v != nil {
		return p, v, nil
	}
	e := s.g.index.get(p)
	switch {
	case e != nil && e.skip != "":
		a.Status, a.Why = NoInformation, fmt.Sprintf("%s is not indexed: %s", spelled, e.skip)
	case languageOf(p) == nil:
		a.Status, a.Why = NoInformation, "the index has no information about files like "+path.Base(p)
		if !s.g.index.isFile(p) && s.g.ready1() {
			return p, nil, &UsageError{"there is no file " + spelled + " in the workspace (or it is ignored)"}
		}
	case !s.g.ready1() || !s.g.indexer.idle():
		a.Status, a.Why = NotIndexed, spelled+" is not indexed yet"
	default:
		if r := s.g.rootOf(p); r == nil {
			return p, nil, &UsageError{spelled + " is outside of the workspace"}
		} else if ok, generated := r.judge(p, false); !ok || generated {
			a.Status, a.Why = NoInformation, spelled+" is ignored"
			return p, nil, nil
		}
		return p, nil, &UsageError{"there is no file " + spelled + " in the workspace"}
	}
	return p, nil, nil
}

func (g *Graph) ready1() bool {
	select {
	case <-g.ready:
		return true
	default:
		return false
	}
}

func (s *solver) definitions(a *Answer, q Query) error {
	found, err := s.locate(a, q)
	if err != nil {
		return err
	}
	s.rank(found)
	for _, x := range bestOnly(found, q.Guesses, &a.Guesses) {
		if len(a.Results) >= q.Limit {
			a.More++
			continue
		}
		if r, ok := s.definitionResult(x); ok {
			a.Results = append(a.Results, r)
		}
	}
	if len(a.Results) == 0 && a.Status == "" && allExternal(found) {
		a.Status, a.Why = Nothing, "it is defined outside of the workspace: "+found[0].path
	}
	return nil
}

func allExternal(xs []value) bool {
	for _, x := range xs {
		if x.kind != vExternal {
			return false
		}
	}
	return len(xs) > 0
}

// bestOnly keeps guesses apart from what was resolved.
func bestOnly(xs []value, guesses bool, left *int) []value {
	resolved := 0
	for _, x := range xs {
		if x.how != HowName {
			resolved++
		}
	}
	if resolved == 0 || guesses {
		return xs
	}
	out := make([]value, 0, resolved)
	for _, x := range xs {
		if x.how != HowName {
			out = append(out, x)
		} else {
			*left++
		}
	}
	return out
}

// rank orders answers: how they were found, exported before hidden, by path.
func (s *solver) rank(xs []value) {
	weight := func(x value) int {
		w := x.how.rank() * 16
		if v := s.view(x.path); v != nil && x.kind == vDef {
			d := &v.Defs[x.def]
			if d.Flags&facts.Local != 0 {
				w += 8
			}
			if d.Kind == facts.Variable || d.Kind == facts.Property || d.Kind == facts.Field {
				w += 2
			}
			if isTest(x.path) {
				w += 4
			}
		}
		return w
	}
	sort.SliceStable(xs, func(i, j int) bool {
		wi, wj := weight(xs[i]), weight(xs[j])
		if wi != wj {
			return wi < wj
		}
		if xs[i].path != xs[j].path {
			return xs[i].path < xs[j].path
		}
		return xs[i].def < xs[j].def
	})
}

func isTest(p string) bool {
	b := path.Base(p)
	return strings.Contains(b, "_test.") || strings.Contains(b, ".test.") || strings.Contains(b, ".spec.") || strings.HasPrefix(b, "test_") || strings.Contains(p, "/tests/")
}

func (s *solver) definitionResult(x value) (Result, bool) {
	l, ok := s.location(x, workspace.UTF16)
	if !ok {
		return Result{}, false
	}
	r := Result{Path: s.display(string(l.Path)), File: l.Path, Range: wire(l.Range), NameRange: wire(l.NameRange),
		Kind: l.Kind, Name: l.Name, Container: l.Container, How: l.How}
	if x.kind == vDef {
		v := s.view(x.path)
		r.Text = s.signature(v, &v.Defs[x.def])
	}
	return r, true
}

func (s *solver) display(p string) *string {
	d := s.g.source.Display(p)
	return &d
}

func (s *solver) references(a *Answer, q Query) error {
	found, err := s.locate(a, q)
	if err != nil || a.Status != "" {
		return err
	}
	s.rank(found)
	found = bestOnly(found, false, new(int))
	resolved, guesses := s.uses(found)
	if len(found) == 0 || allExternal(found) {
		guesses = s.unresolvedUses(parseSymbol(q.Target).name, q)
		a.Why = "no definition of it is in the workspace; these are the places that use the name"
	}
	out := resolved
	if len(resolved) == 0 || q.Guesses {
		out = append(out, guesses...)
	} else {
		a.Guesses = len(guesses)
	}
	s.addUses(a, out, q.Limit)
	if q.Text {
		s.textHits(a, parseSymbol(q.Target).name, q.Limit)
	}
	if len(a.Results) == 0 {
		a.Why = ""
		if len(found) > 0 {
			a.Why = "it is defined, and nothing in the index uses it"
		}
	}
	return nil
}

// unresolvedUses are occurrences of a name that means nothing of the workspace.
func (s *solver) unresolvedUses(name string, q Query) []use {
	var out []use
	for _, p := range s.g.users(name) {
		if q.Path != "" {
			if want, err := s.g.source.Resolve(q.Path); err != nil || want != p {
				continue
			}
		}
		v := s.view(p)
		if v == nil {
			continue
		}
		for i := range v.Occs {
			if v.Occs[i].Role != facts.Definition && v.same(v.Name(int32(i)), name) {
				out = append(out, use{v, int32(i), HowName})
			}
		}
		if s.spent() || len(out) > 20000 {
			break
		}
	}
	return out
}

func (s *solver) addUses(a *Answer, us []use, limit int) {
	sort.SliceStable(us, func(i, j int) bool {
		if ri, rj := us[i].how == HowName, us[j].how == HowName; ri != rj {
			return rj
		}
		if us[i].v.path != us[j].v.path {
			return us[i].v.path < us[j].v.path
		}
		return us[i].occ < us[j].occ
	})
	for _, u := range us {
		if len(a.Results) >= limit {
			a.More++
			continue
		}
		o := u.v.Occs[u.occ]
		r := wire(s.rng(u.v, o.Start, u.v.OccEnd(u.occ), workspace.UTF16))
		res := Result{Path: s.display(u.v.path), File: workspace.Path(u.v.path), Range: r, NameRange: r, Kind: o.Role.String(),
			Name: u.v.Name(u.occ), How: u.how, Text: s.lineText(u.v, o.Start)}
		if c := u.v.Enclosing(o.Start); c != facts.None {
			res.Container = u.v.DefName(c)
		}
		a.Results = append(a.Results, res)
	}
}

// textHits adds places in strings and comments that hold the name as a word.
func (s *solver) textHits(a *Answer, name string, limit int) {
	for _, e := range s.g.index.entries() {
		if s.spent() || e.skip != "" {
			continue
		}
		v := s.view(e.path)
		if v == nil {
			continue
		}
		for _, at := range wordsIn(s.textOf(v), name) {
			if o := v.OccAt(at); o != facts.None && v.Occs[o].Start == at {
				continue
			}
			if len(a.Results) >= limit {
				a.More++
				continue
			}
			r := wire(s.rng(v, at, at+uint32(len(name)), workspace.UTF16))
			a.Results = append(a.Results, Result{Path: s.display(e.path), File: workspace.Path(e.path), Range: r, NameRange: r,
				Kind: "comment or string", Name: name, How: HowName, Text: s.lineText(v, at)})
		}
	}
}

// wordsIn are the places of a word in a text.
func wordsIn(text []byte, word string) (out []uint32) {
	if word == "" {
		return nil
	}
	t := string(text)
	for i := 0; ; {
		n := strings.Index(t[i:], word)
		if n < 0 {
			return out
		}
		at := i + n
		end := at + len(word)
		if (at == 0 || !wordChar(t[at-1])) && (end == len(t) || !wordChar(t[end])) {
			out = append(out, uint32(at))
		}
		i = end
	}
}

func wordChar(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// hasImports reports whether a language has imports to speak of.
func (s *solver) hasImports(a *Answer, v *view) bool {
	if v.lang.Resolver == nil {
		a.Status, a.Why = NoInformation, v.lang.Name+" files import nothing that the index could follow"
		return false
	}
	return true
}

func statusOf(t lang.Target) string { return t.Status.String() }
