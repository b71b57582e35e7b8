package graph

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// The files of testdata/truth hold small projects with the truth written into
// them, by hand:
//
//	«d ID»name      the definition called ID has its name here
//	«r ID HOW»name  this name means ID, and is found by HOW; ID+ID2: either
//	«g ID»name      only the name says that this may be ID
//	«x»name         this means nothing of the workspace
//
// Every mark is asked about in both directions: the definition at each r, and
// the references of each d, which must be exactly its r. Sections called
// "want OP TARGET" list results of a query, one a line. A file called
// x.crlf.EXT has its line ends changed to CRLF and is called x.EXT.

type mark struct {
	kind, id, how string
	path          string // relative
	at            int    // byte offset, marks removed
	name          string
}

type truthCase struct {
	dir   string
	texts map[string]string
	marks []mark
	wants []want
}

type want struct{ op, target, text string }

var markRE = regexp.MustCompile(`«([drgx]) ?([^» ]*) ?([^»]*)»`)

func readTruth(t *testing.T, file string) *truthCase {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &truthCase{dir: dir, texts: map[string]string{}}
	for name, text := range sections(string(raw)) {
		if op, target, ok := strings.Cut(strings.TrimPrefix(name, "want "), " "); ok && strings.HasPrefix(name, "want ") {
			c.wants = append(c.wants, want{op, target, strings.TrimSpace(text)})
			continue
		}
		if strings.Contains(name, ".crlf.") {
			name = strings.Replace(name, ".crlf.", ".", 1)
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		c.texts[name] = c.unmark(name, text)
	}
	sort.Slice(c.wants, func(i, j int) bool { return c.wants[i].op+c.wants[i].target < c.wants[j].op+c.wants[j].target })
	for name, text := range c.texts {
		p := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// sections splits a text at lines "-- name --".
func sections(s string) map[string]string {
	out := map[string]string{}
	name, start := "", 0
	for at := 0; at < len(s); {
		end := strings.IndexByte(s[at:], '\n')
		if end < 0 {
			end = len(s) - at - 1
		}
		line := strings.TrimRight(s[at:at+end+1], "\n")
		if strings.HasPrefix(line, "-- ") && strings.HasSuffix(line, " --") {
			if name != "" {
				out[name] = s[start:at]
			}
			name, start = strings.TrimSuffix(strings.TrimPrefix(line, "-- "), " --"), at+end+1
		}
		at += end + 1
	}
	if name != "" {
		out[name] = s[start:]
	}
	return out
}

// unmark takes the marks out of a text and notes them.
func (c *truthCase) unmark(name, text string) string {
	var b strings.Builder
	for {
		m := markRE.FindStringSubmatchIndex(text)
		if m == nil {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:m[0]])
		k := mark{kind: text[m[2]:m[3]], id: text[m[4]:m[5]], how: text[m[6]:m[7]], path: name, at: b.Len()}
		text = text[m[1]:]
		n := 0
		for n < len(text) && wordChar(text[n]) {
			n++
		}
		k.name = text[:n]
		c.marks = append(c.marks, k)
	}
}

func (c *truthCase) place(k mark) string {
	before := c.texts[k.path][:k.at]
	return fmt.Sprintf("%s:%d %s", k.path, 1+strings.Count(before, "\n"), k.name)
}

func (c *truthCase) line(k mark) string {
	before := c.texts[k.path][:k.at]
	return fmt.Sprintf("%s:%d:%d", k.path, 1+strings.Count(before, "\n"), k.at-strings.LastIndexByte(before, '\n'))
}

func (c *truthCase) at(k mark) At {
	return At{workspace.Path(filepath.Join(c.dir, k.path)), workspace.PositionAt(c.texts[k.path], k.at, workspace.UTF16), workspace.UTF16}
}

// notices collects what the graph tells people.
type notices struct {
	mu   sync.Mutex
	said []string
}

func (n *notices) add(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said = append(n.said, s)
}

func (n *notices) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.said)
}

// indexed opens a graph over a directory and waits for the first pass.
func indexed(t *testing.T, o Options, roots ...string) *Graph {
	t.Helper()
	if o.Workspace == nil {
		o.Workspace = workspace.New(workspace.Options{Roots: roots})
	}
	g, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	g.Start(context.Background())
	if err := g.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestTruth(t *testing.T) {
	files, _ := filepath.Glob("testdata/truth/*.txt")
	if len(files) == 0 {
		t.Fatal("no cases")
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			c := readTruth(t, f)
			g := indexed(t, Options{NoWatch: true}, c.dir)
			c.checkDefinitions(t, g)
			c.checkReferences(t, g)
			c.checkQueries(t, g)
		})
	}
}

func (c *truthCase) checkDefinitions(t *testing.T, g *Graph) {
	defs := map[string]string{} // place -> id
	for _, k := range c.marks {
		if k.kind == "d" {
			defs[fmt.Sprintf("%s@%d", k.path, k.at)] = k.id
		}
	}
	for _, k := range c.marks {
		locs, err := g.Definition(context.Background(), c.at(k))
		if err != nil {
			t.Errorf("%s: %v", c.place(k), err)
			continue
		}
		var got []string
		for _, l := range locs {
			rel := strings.TrimPrefix(string(l.Path), c.dir+"/")
			id := defs[fmt.Sprintf("%s@%d", rel, l.NameStart)]
			if l.Kind == "module" && l.End == 0 {
				id = rel
			} else if id == "" {
				id = fmt.Sprintf("unmarked %s:%d %s", rel, l.NameRange.Start.Line+1, l.Name)
			}
			if k.kind != "d" {
				id += " " + string(l.How)
			}
			if len(got) == 0 || got[len(got)-1] != id {
				got = append(got, id)
			}
		}
		exp := k.id
		switch k.kind {
		case "r":
			var either []string
			hows := strings.Split(k.how, "+")
			for i, id := range strings.Split(k.id, "+") {
				either = append(either, id+" "+hows[min(i, len(hows)-1)])
			}
			exp = strings.Join(either, ", ")
		case "g":
			exp += " name"
		}
		if g := strings.Join(got, ", "); g != strings.TrimSpace(exp) {
			t.Errorf("%s: means %q, want %q", c.place(k), g, strings.TrimSpace(exp))
		}
	}
}

func (c *truthCase) checkReferences(t *testing.T, g *Graph) {
	exp := map[string][]string{}
	for _, k := range c.marks {
		if k.kind == "r" {
			for _, id := range strings.Split(k.id, "+") {
				exp[id] = append(exp[id], c.line(k))
			}
		}
	}
	done := map[string]bool{}
	for _, k := range c.marks {
		if k.kind != "d" || done[k.id] {
			continue
		}
		done[k.id] = true
		locs, err := g.References(context.Background(), c.at(k), false)
		if err != nil {
			t.Errorf("%s: %v", c.place(k), err)
		}
		var got []string
		for _, l := range locs {
			rel := strings.TrimPrefix(string(l.Path), c.dir+"/")
			got = append(got, c.line(mark{path: rel, at: l.NameStart}))
		}
		want := exp[k.id]
		sort.Strings(got)
		sort.Strings(want)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("references of %s:\n got %q\nwant %q", k.id, got, want)
		}
	}
}

func (c *truthCase) checkQueries(t *testing.T, g *Graph) {
	for _, w := range c.wants {
		q := Query{Op: Op(w.op), Target: w.target}
		if name, p, ok := strings.Cut(w.target, " in "); ok {
			q.Target, q.Path = name, p
		}
		a, err := g.Query(context.Background(), q)
		if err != nil {
			t.Errorf("%s %s: %v", w.op, w.target, err)
			continue
		}
		if got := brief(a); got != w.text {
			t.Errorf("%s %s:\n got\n%s\nwant\n%s", w.op, w.target, indent(got), indent(w.text))
		}
	}
}

func indent(s string) string { return "\t" + strings.ReplaceAll(s, "\n", "\n\t") }

// brief is an answer in the form of the want sections.
func brief(a Answer) string {
	var lines []string
	for _, r := range a.Results {
		p := "-"
		if r.Path != nil {
			p = *r.Path
		}
		switch a.Query {
		case OpDefinitions, OpReferences:
			l := fmt.Sprintf("%s:%d %s %s", p, r.NameRange.Start.Line+1, r.Kind, r.Name)
			if r.Container != "" {
				l += " in " + r.Container
			}
			lines = append(lines, l+" "+string(r.How))
		case OpImports:
			l := fmt.Sprintf("%s -> %s %s", r.Specifier, p, r.Status)
			lines = append(lines, l)
		case OpImporters:
			l := p + " " + r.Name
			if r.Why != "" {
				l += " " + r.Why
			}
			lines = append(lines, l)
		default:
			lines = append(lines, p+" "+r.Kind)
		}
	}
	if a.Status != Found {
		lines = append(lines, string(a.Status))
	}
	return strings.Join(lines, "\n")
}
