package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/stella-ls/stella-ls/graph"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

func (c *comparison) references(files []file, rng *rand.Rand) error {
	var defs []graph.Location
	for _, f := range files {
		ss, err := c.g.DocumentSymbols(c.ctx, workspace.Path(f.path), workspace.UTF16)
		if err != nil {
			return err
		}
		var walk func(ss []graph.Symbol)
		walk = func(ss []graph.Symbol) {
			for _, s := range ss {
				if s.Name != "default" {
					defs = append(defs, s.Location)
				}
				walk(s.Children)
			}
		}
		walk(ss)
	}
	rng.Shuffle(len(defs), func(i, j int) { defs[i], defs[j] = defs[j], defs[i] })
	for _, d := range defs[:min(len(defs), *symbols)] {
		p := string(d.Path)
		if err := c.peer.didOpen(p, *language, c.texts[p].text); err != nil {
			return err
		}
		truth, err := c.peer.ask("textDocument/references", p, int(d.NameRange.Start.Line), int(d.NameRange.Start.Character), map[string]any{"context": map[string]any{"includeDeclaration": false}})
		if err != nil {
			return err
		}
		mine, err := c.g.References(c.ctx, graph.At{Path: d.Path, Pos: d.NameRange.Start, Enc: workspace.UTF16}, false)
		if err != nil {
			return err
		}
		if err := c.compareRefs(d, within(truth, c.dir), mine); err != nil {
			return err
		}
	}
	return nil
}

// means asks the server what the name at a place is: the definition d, another
// one, or nothing at all. comment: nobody asks, it is in a comment, a
// keyword, or another declaration.
func (c *comparison) means(at string, d graph.Location) (same, nothing, comment bool, err error) {
	var line, col int
	i := strings.LastIndex(at, ":")
	j := strings.LastIndex(at[:i], ":")
	p := at[:j]
	if _, err := fmt.Sscanf(at[j+1:], "%d:%d", &line, &col); err != nil {
		return false, false, false, err
	}
	f, ok := c.texts[p]
	if !ok { // a file that nothing was drawn from
		b, err := os.ReadFile(p)
		if err != nil {
			return false, false, false, err
		}
		f = file{path: p, text: string(b), comment: comments(string(b), *language)}
		c.texts[p] = f
	}
	off := workspace.OffsetAt(f.text, workspace.Position{Line: uint32(line), Character: uint32(col)}, workspace.UTF16)
	if off < len(f.comment) && (f.comment[off] || keywords[word.FindString(f.text[off:])] || declares.MatchString(f.text[strings.LastIndexByte(f.text[:off], '\n')+1:off])) {
		return false, false, true, nil
	}
	if err := c.peer.didOpen(p, *language, f.text); err != nil {
		return false, false, false, err
	}
	truth, err := c.peer.ask("textDocument/definition", p, line, col, nil)
	return contains(truth, d), len(truth) == 0, false, err
}

func (c *comparison) compareRefs(d graph.Location, truth []string, mine []graph.Location) error {
	group := "functions, classes, types"
	switch d.Kind {
	case "property", "field", "variant", "variable", "const":
		group = "fields, properties, variables"
	}
	if c.refsBy[group] == nil {
		c.refsBy[group] = map[string]*score{}
	}
	want := map[string]bool{}
	for _, t := range truth {
		want[t] = true
	}
	delete(want, place(d))
	for _, m := range mine {
		p := place(m)
		s := count(c.refsBy[group], m.How)
		same, nothing := want[p], false
		if !same {
			var err error
			if same, nothing, _, err = c.means(p, d); err != nil {
				return err
			}
		}
		switch {
		case same:
			s.right++
			if m.How != graph.HowName {
				c.right[group]++
			}
			delete(want, p)
		case nothing:
			s.unknown++
		default:
			s.wrong++
			c.say("reference too many of %s %s by %s: %s\n", d.Name, place(d), m.How, p)
		}
	}
	for w := range want {
		same, nothing, comment, err := c.means(w, d)
		switch {
		case err != nil:
			return err
		case comment:
		case same || nothing:
			c.missed[group]++
			c.say("reference missed of %s %s: %s\n", d.Name, place(d), w)
		default:
			c.related[group]++
		}
	}
	return nil
}

// say prints a difference, with paths relative to the package.
func (c *comparison) say(format string, args ...any) {
	if *verbose {
		fmt.Fprint(os.Stderr, strings.ReplaceAll(fmt.Sprintf(format, args...), c.dir+"/", ""))
	}
}
