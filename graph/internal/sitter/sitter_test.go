package sitter

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	rust "github.com/tree-sitter/tree-sitter-rust/bindings/go"
)

func parse(t *testing.T, text string) (*Language, *Parser, *Tree) {
	t.Helper()
	l := NewLanguage(rust.Language())
	p, err := NewParser(l, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	tree, err := p.Parse(context.Background(), []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return l, p, tree
}

func TestRunCollectsAllCaptures(t *testing.T) {
	if !CAllocator() {
		t.Fatal("the C allocator is not in force")
	}
	l, _, tree := parse(t, "fn a() { b(c); }\nfn d() {}\n")
	defer tree.Close()
	q, err := NewQuery(l, "(function_item name: (identifier) @name) @def (identifier) @ref")
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	c := NewCursor()
	defer c.Close()
	count := map[string]int{}
	caps, ok := c.RunAll(q, tree)
	if !ok {
		t.Error("incomplete")
	}
	for _, x := range caps {
		count[q.Captures[x.Capture]]++
	}
	if count["name"] != 2 || count["def"] != 2 || count["ref"] != 4 {
		t.Errorf("captures: %v", count)
	}
	if _, err := NewQuery(l, "(identifier) @x\n(no_such_node) @y"); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("bad query: %v", err)
	}
}

func TestDeepNestingIsParsedWithoutRecursion(t *testing.T) {
	text := "fn a() { " + strings.Repeat("(", 20000) + "x" + strings.Repeat(")", 20000) + "; }"
	l, _, tree := parse(t, text)
	defer tree.Close()
	q, err := NewQuery(l, "(identifier) @ref (parenthesized_expression) @p")
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	c := NewCursor()
	defer c.Close()
	caps, _ := c.RunAll(q, tree)
	if len(caps) < 20001 {
		t.Errorf("%d captures", len(caps))
	}
	tree.Errors(10)
	if n := len(tree.Path(uint32(len(text)/2), 1<<16)); n < 1000 {
		t.Errorf("path of %d nodes", n)
	}
}

func TestParseStops(t *testing.T) {
	l := NewLanguage(rust.Language())
	text := []byte(strings.Repeat("fn a() { b(c); }\n", 200000))
	p, err := NewParser(l, 2*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Parse(context.Background(), text, nil); !errors.Is(err, ErrTooSlow) {
		t.Errorf("limit: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Parse(ctx, text, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancel: %v", err)
	}
	small, err := p.Parse(context.Background(), []byte("fn a() {}"), nil)
	if err != nil {
		t.Fatalf("the parser is usable afterwards: %v", err)
	}
	small.Close()
}

func TestIncrementalEditFindsTheChange(t *testing.T) {
	_, p, tree := parse(t, "fn a() {}\nfn b() {}\n")
	tree.Edit(Edit{Start: 13, OldEnd: 14, NewEnd: 16, StartPoint: Point{1, 3}, OldEndPoint: Point{1, 4}, NewEndPoint: Point{1, 6}})
	next, err := p.Parse(context.Background(), []byte("fn a() {}\nfn bcd() {}\n"), tree)
	if err != nil {
		t.Fatal(err)
	}
	if next.HasError() {
		t.Error("has errors")
	}
	tree.Changed(next)
	tree.Close()
	clone := next.Clone()
	next.Close()
	if got, before, ok := clone.Region(13, 16, nil); !ok || before != 0 || got != (Span{9, 22}) {
		t.Errorf("region %v %v", got, ok)
	}
	clone.Close()
	if Live.Trees.Load() != 0 {
		t.Errorf("%d trees live", Live.Trees.Load())
	}
}

func TestFlatten(t *testing.T) {
	text := []byte("fn f(x: u8) { g(x, 1) }\n")
	l, _, tree := parse(t, string(text))
	defer tree.Close()
	c := NewCursor()
	defer c.Close()
	f := c.Flatten(l, tree, text, 0, math.MaxUint32)
	var got []string
	for i := range f.Nodes {
		if f.Kind(int32(i)) == "call_expression" {
			for k := f.First(int32(i)); k >= 0; k = f.Sibling(k) {
				got = append(got, f.Field(k)+"="+f.Str(k))
			}
			args := f.Child(int32(i), "arguments")
			got = append(got, f.Str(f.Last(args)), f.Kind(f.Parent(args)))
		}
	}
	if want := "function=g arguments=(x, 1) 1 call_expression"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := f.Nodes[0]; n.Parent != -1 || int(n.Next) != len(f.Nodes) || n.End != uint32(len(text)) {
		t.Errorf("root %+v of %d", n, len(f.Nodes))
	}
}

// A region is whole groups, comments with what follows them, and the group after;
// the flat tree and the errors of a region are those of its groups alone.
func TestRegion(t *testing.T) {
	text := "fn a() {}\n// b's\nfn b() {}\n\nfn c() {}\nfn d( {}\n// end\n"
	l, _, tree := parse(t, text)
	defer tree.Close()
	var quiet []bool
	for i := range uint16(400) {
		quiet = append(quiet, l.SymbolName(i) == "line_comment")
	}
	for _, c := range []struct {
		at   string
		want string
	}{
		{"a()", "fn a() {}\n// b's\nfn b() {}"},
		{"b's", "\n// b's\nfn b() {}\n\nfn c() {}"},
		{"\nfn c", "\n// b's\nfn b() {}\n\nfn c() {}\nfn d( {}"}, // touches b too
		{"end", "\n// end\n"},
	} {
		at := uint32(strings.Index(text, c.at))
		if c.at[0] == '\n' {
			at-- // where b ends
		}
		s, _, ok := tree.Region(at, at, quiet)
		if !ok || text[s.Start:s.End] != c.want {
			t.Errorf("%q: %v %q", c.at, ok, text[s.Start:s.End])
		}
	}
	s, _, _ := tree.Region(0, 0, quiet)
	if n := len(tree.ErrorsIn(s.Start, s.End, 9)); n != 0 || len(tree.Errors(9)) == 0 {
		t.Errorf("%d errors in a part without", n)
	}
	cur := NewCursor()
	defer cur.Close()
	f := cur.Flatten(l, tree, []byte(text), s.Start, s.End)
	var got []string
	for n := f.First(0); n >= 0; n = f.Sibling(n) {
		got = append(got, f.Str(n))
	}
	if strings.Join(got, "|") != "fn a() {}|// b's\n|fn b() {}" && strings.Join(got, "|") != "fn a() {}|// b's|fn b() {}" {
		t.Errorf("flat: %q", got)
	}
}
