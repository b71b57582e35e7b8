package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"github.com/stella-ls/stella-ls/graph"
	"github.com/stella-ls/stella-ls/graph/bench"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// typing is one way to type into a file of 10,000 lines: random one-byte edits, each
// followed by a question about the new text.
type typing struct {
	key      string // of the numbers
	file, id string
	head     string
	unit     string // repeated, with two numbers
	in       string // edits are made where this stands; "": anywhere
	at       string // the question is about the end of this text, which stands in the head
	want     string // and this text is what it leads to
	how      graph.How
}

const goUnit = "// fn%d_%d does a thing.\nfunc fn%[1]d_%[2]d(count int, name string) int {\n\ttotal := count + len(name)\n\tfor i := range total {\n\t\ttotal += other%[2]d(i, name) * %[1]d\n\t}\n\treturn total\n}\n\n"

const tsHead = `import { Store } from './store';

class Item { at = 1; }
class List { items: Item[] = []; first() { return this.items[0]; } }
function newest(l: List, s: Store) { const one = l.first(); return one.at + s.size; }

`

const tsUnit = "// fn%d_%d does a thing.\nexport function fn%[1]d_%[2]d(count: number, s: Store): number {\n  let total = count + s.size;\n  for (const i of s.items) {\n    total += other%[2]d({ at: i.at, name: s.name(i) }) * %[1]d;\n  }\n  return total;\n}\n\n"

var typings = []typing{
	{"go", "big.go", "go", "package big\n\nfunc first(n int) int { return second(n) }\n\nfunc second(n int) int { return n }\n\n", goUnit, "", "return second", "func second", graph.HowLocal},
	{"ts", "big.ts", "typescript", tsHead, tsUnit, "total", "return one", "const one", graph.HowLocal},
	// A member whose receiver is a returned element of a field: it needs types.
	{"tstype", "big.ts", "typescript", tsHead, tsUnit, "total", "return one.at", "class Item { at", graph.HowMember},
	// Anywhere, which breaks the text again and again.
	{"tsany", "big.ts", "typescript", tsHead, tsUnit, "", "return one.at", "class Item { at", graph.HowMember},
}

// text is 10,000 lines.
func (y typing) text() string {
	var b strings.Builder
	b.WriteString(y.head)
	for i := 0; strings.Count(b.String(), "\n") < 10_000; i++ {
		for j := range 40 {
			fmt.Fprintf(&b, y.unit, i, j)
		}
	}
	return b.String()
}

// edit times all typings; beside each, the bare incremental parse of the same edits.
// Both are counted in processor time, which other programs on the machine disturb less.
func edit() (numbers, error) {
	n := numbers{}
	for _, y := range typings {
		if *one != "" && *one != y.key {
			continue
		}
		if err := y.run(n); err != nil {
			return nil, fmt.Errorf("edit %s: %w", y.key, err)
		}
	}
	return n, nil
}

// run types into one text and adds the numbers under its key.
func (y typing) run(n numbers) error {
	text, p := y.text(), filepath.Join(*dir, y.file)
	ws := workspace.New(workspace.Options{Roots: []string{*dir}})
	g, err := graph.Open(graph.Options{Workspace: ws, NoWatch: true})
	if err != nil {
		return err
	}
	defer g.Close() // not started: what the buffer alone costs
	if err := ws.DidOpen("file://"+p, y.id, 1, text); err != nil {
		return err
	}
	g.TouchDocument(workspace.Path(p))
	if err := y.ask(g, p, text); err != nil {
		return err
	}
	bare, err := bench.NewIncremental(p, []byte(text))
	if err != nil {
		return err
	}
	defer bare.Close()
	rng := rand.New(rand.NewPCG(5, 6))
	var ours, theirs []float64
	for i := range 200 {
		at := len(y.head) + rng.IntN(len(text)-len(y.head))
		if y.in != "" {
			at += max(0, strings.Index(text[at:], y.in))
		}
		pos := workspace.PositionAt(text, at, workspace.UTF16)
		if err := ws.DidChange("file://"+p, int32(i+2), []workspace.ContentChange{{Range: &workspace.Range{Start: pos, End: pos}, Text: "x"}}); err != nil {
			return err
		}
		text = text[:at] + "x" + text[at:]
		now := []byte(text)
		t := cpu()
		g.TouchDocument(workspace.Path(p))
		if err := y.ask(g, p, text); err != nil {
			return err
		}
		ours = append(ours, (cpu()-t)*1000)
		t = cpu()
		if err := bare.Insert(at, now); err != nil {
			return err
		}
		theirs = append(theirs, (cpu()-t)*1000)
	}
	n["ours50"+y.key], n["ours99"+y.key] = percentile(ours, 0.5), percentile(ours, 0.99)
	n["bare50"+y.key], n["bare99"+y.key] = percentile(theirs, 0.5), percentile(theirs, 0.99)
	return nil
}

// ask asks for a definition in the buffer and checks the answer. It needs the facts
// of the new text.
func (y typing) ask(g *graph.Graph, p, text string) error {
	at := workspace.PositionAt(text, strings.Index(text, y.at)+len(y.at), workspace.UTF16)
	want := strings.Index(text, y.want) + len(y.want)
	locs, err := g.Definition(context.Background(), graph.At{Path: workspace.Path(p), Pos: at, Enc: workspace.UTF16})
	if err != nil {
		return err
	}
	if len(locs) != 1 || locs[0].NameEnd != want || locs[0].How != y.how {
		return fmt.Errorf("%s leads to %+v, not to byte %d", y.at, locs, want)
	}
	return nil
}
