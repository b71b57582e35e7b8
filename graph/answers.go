package graph

import (
	"path"
	"sort"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

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
