// Command graphaccuracy compares the code graph's answers with those of a
// compiler-grade language server on a real package, and prints a row of a table.
// scripts/graph-accuracy.sh fetches servers and packages and runs it.
//
//	graphaccuracy -root DIR -language python -name click SERVER ARGS...
//
// Definitions: places of identifiers are drawn at random from the texts, by a
// regular expression and not by the graph. Where the server names a place in the
// package, the graph's answer is right when its first place is among them.
// Answers that the graph gives where the server says nothing are counted apart,
// as nobody knows. Names in comments are left out.
//
// References: definitions are drawn from the graph; every place is compared. A
// server lists with a member also the uses of members that are related to it:
// of other types in the hierarchy, of other alternatives of a union, other
// overloads. So each place that it lists and the graph does not is asked about
// again: where the server's own definition is another one, the place counts as
// related, not as missed. A place that only the graph lists is judged the same
// way: the server's definition of it is the one asked about (right), another
// one (wrong), or none (unknown).
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/graph"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

var (
	root     = flag.String("root", "", "the package")
	language = flag.String("language", "", "python or typescript")
	name     = flag.String("name", "", "of the package, for the table")
	places   = flag.Int("places", 800, "identifiers to ask about")
	symbols  = flag.Int("symbols", 120, "definitions whose references are compared")
	verbose  = flag.Bool("v", false, "prints every difference")
	answers  = flag.String("answers", "", "a file that keeps the server's answers from run to run")
	options  = flag.String("options", "{}", "the server's initializationOptions")
)

func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return uri
	}
	return u.Path
}

func main() {
	flag.Parse()
	if err := run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "graphaccuracy:", err)
		os.Exit(1)
	}
}

type file struct {
	path, text string
	lines      []string
	comment    []bool // by byte
}

// score counts answers found one way.
type score struct{ right, wrong, unknown int }

func run(argv []string) error {
	dir, err := filepath.Abs(*root)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return err
	}
	files, err := sources(dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	began := time.Now()
	g, err := graph.Open(graph.Options{Workspace: workspace.New(workspace.Options{Roots: []string{dir}}), NoWatch: true})
	if err != nil {
		return err
	}
	defer g.Close()
	g.Start(ctx)
	if err := g.Wait(ctx); err != nil {
		return err
	}
	whole := time.Since(began)

	var opts any
	if err := json.Unmarshal([]byte(*options), &opts); err != nil {
		return err
	}
	began = time.Now()
	peer, err := start(dir, opts, argv...)
	if err != nil {
		return err
	}
	defer peer.stop()
	defer peer.remember(*answers)()
	c := comparison{ctx: ctx, g: g, peer: peer, dir: dir, defs: map[string]*score{}, refsBy: map[string]map[string]*score{}, missed: map[string]int{}, right: map[string]int{}, related: map[string]int{}, texts: map[string]file{}}
	for _, f := range files {
		c.texts[f.path] = f
	}
	rng := rand.New(rand.NewPCG(11, 12))
	if err := c.definitions(files, rng); err != nil {
		return err
	}
	if c.firstPeer.IsZero() {
		return fmt.Errorf("the server never named a place in another file")
	}
	theirs := c.firstPeer.Sub(began)
	if err := c.references(files, rng); err != nil {
		return err
	}
	ours, err := c.first()
	if err != nil {
		return err
	}
	c.print(ours, whole, theirs)
	return nil
}

// first opens the package anew, nothing stored, and asks until it gets the first
// answer that the server gave across files.
func (c *comparison) first() (time.Duration, error) {
	began := time.Now()
	g, err := graph.Open(graph.Options{Workspace: workspace.New(workspace.Options{Roots: []string{c.dir}}), NoWatch: true})
	if err != nil {
		return 0, err
	}
	defer g.Close()
	g.Start(c.ctx)
	for time.Since(began) < 10*time.Minute {
		locs, err := g.Definition(c.ctx, c.firstAt)
		if err != nil {
			return 0, err
		}
		if len(locs) > 0 && contains(c.firstTruth, locs[0]) {
			return time.Since(began), nil
		}
		time.Sleep(time.Millisecond)
	}
	return 0, fmt.Errorf("no right answer at %v", c.firstAt)
}

func sources(dir string) ([]file, error) {
	ext := map[string]string{"python": ".py", "typescript": ".ts"}[*language]
	var out []file
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ext) {
			return err
		}
		b, err := os.ReadFile(p)
		if err == nil && len(b) < 400_000 {
			out = append(out, file{p, string(b), strings.Split(string(b), "\n"), comments(string(b), *language)})
		}
		return err
	})
	return out, err
}

type comparison struct {
	ctx       context.Context
	g         *graph.Graph
	peer      *client
	dir       string
	defs      map[string]*score
	asked     int // places for which the server names one in the package
	resolved  int // of those, answered right by resolution
	guessed   int
	missed    map[string]int // references that we did not give, by group of definition
	right     map[string]int // those resolved right
	related   map[string]int // listed by the server with others in mind
	texts     map[string]file
	refsBy    map[string]map[string]*score
	firstPeer time.Time
	// firstAt is the first place for which the server named one in another file
	// and the graph the same, firstTruth what it named.
	firstAt    graph.At
	firstTruth []string
}

func count(m map[string]*score, how graph.How) *score {
	if m[string(how)] == nil {
		m[string(how)] = &score{}
	}
	return m[string(how)]
}

// keywords are no identifiers, though servers answer for some of them.
var keywords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`False None True and as assert async await break class continue def del elif else except finally for from global if import in is
lambda nonlocal not or pass raise return try while with yield this super new const let var function export default extends implements interface type enum
public private protected readonly static abstract declare case switch do void typeof instanceof throw catch null undefined true false keyof infer of`) {
		m[w] = true
	}
	return m
}()

// declares ends before the name of a function or class: another declaration of
// the same name (an overload, a setter) is no use of it, and no declarations are
// asked for.
var declares = regexp.MustCompile(`\b(def|class|function)\s+$`)

var word = regexp.MustCompile(`[A-Za-z_]\w*`)

func (c *comparison) definitions(files []file, rng *rand.Rand) error {
	for range *places {
		f := files[rng.IntN(len(files))]
		all := word.FindAllStringIndex(f.text, -1)
		if len(all) == 0 {
			continue
		}
		at := all[rng.IntN(len(all))]
		if keywords[f.text[at[0]:at[1]]] || f.comment[at[0]] {
			continue
		}
		pos := workspace.PositionAt(f.text, at[0], workspace.UTF16)
		if err := c.peer.didOpen(f.path, *language, f.text); err != nil {
			return err
		}
		truth, err := c.peer.ask("textDocument/definition", f.path, int(pos.Line), int(pos.Character), nil)
		if err != nil {
			return err
		}
		mine, err := c.g.Definition(c.ctx, graph.At{Path: workspace.Path(f.path), Pos: pos, Enc: workspace.UTF16})
		if err != nil {
			return err
		}
		c.judge(f, pos, f.text[at[0]:at[1]], truth, mine)
	}
	return nil
}

func (c *comparison) judge(f file, pos workspace.Position, name string, truth []string, mine []graph.Location) {
	inside := within(truth, c.dir)
	for _, t := range inside {
		if c.firstPeer.IsZero() && !strings.HasPrefix(t, f.path+":") {
			c.firstPeer = time.Now()
		}
		if c.firstTruth == nil && !strings.HasPrefix(t, f.path+":") && len(mine) > 0 && contains(inside, mine[0]) {
			c.firstAt, c.firstTruth = graph.At{Path: workspace.Path(f.path), Pos: pos, Enc: workspace.UTF16}, inside
		}
	}
	if len(inside) > 0 {
		c.asked++
	}
	verdict := ""
	if len(mine) > 0 {
		first := mine[0]
		s := count(c.defs, first.How)
		switch {
		case len(truth) == 0:
			s.unknown++
		case contains(inside, first):
			s.right++
			if first.How != graph.HowName {
				c.resolved++
			} else {
				c.guessed++
			}
		default:
			s.wrong++
			verdict = "wrong by " + string(first.How)
		}
	} else if len(inside) > 0 {
		verdict = "missed"
	}
	if *verbose && verdict != "" {
		got := ""
		if len(mine) > 0 {
			got = place(mine[0])
		}
		fmt.Fprintf(os.Stderr, "%s %s:%d:%d %s: %s, want %s\n    %s\n", verdict, strings.TrimPrefix(f.path, c.dir+"/"), pos.Line+1, pos.Character+1, name,
			strings.TrimPrefix(got, c.dir+"/"), strings.ReplaceAll(strings.Join(truth, " "), c.dir+"/", ""), strings.TrimSpace(f.lines[pos.Line]))
	}
}

func within(places []string, dir string) (out []string) {
	for _, p := range places {
		if strings.HasPrefix(p, dir+"/") && !strings.Contains(p, "/node_modules/") {
			out = append(out, p)
		}
	}
	return out
}

func place(l graph.Location) string {
	return fmt.Sprintf("%s:%d:%d", l.Path, l.NameRange.Start.Line, l.NameRange.Start.Character)
}

// contains compares path and line: servers disagree about the column of what has
// no name of its own, such as a module.
func contains(truth []string, l graph.Location) bool {
	want := fmt.Sprintf("%s:%d:", l.Path, l.NameRange.Start.Line)
	for _, t := range truth {
		if strings.HasPrefix(t, want) {
			return true
		}
	}
	return false
}
