package graph

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// MainEnv is what the command line needs of its process.
type MainEnv struct {
	Stdout, Stderr io.Writer
	Dir            string // working directory
	CacheDir       string // $STELLA_HOME/cache/graph
}

// Exit codes of `stella-ls graph`.
const (
	exitFound   = 0
	exitNothing = 1
	exitUsage   = 2
	exitUnknown = 4 // not indexed, or no such information for this language
	exitFailed  = 5
)

const usage = `usage: stella-ls graph definitions|references NAME [--path FILE]
       stella-ls graph imports|importers|neighbors FILE
       options: [--root DIR] [--json] [--no-wait] [--limit N] [--guesses] [--text]
`

// Main runs `stella-ls graph ARGS...` and returns the exit code: 0 found, 1
// nothing there, 2 usage, 4 not indexed or no such information for this
// language, 5 failed.
func Main(ctx context.Context, args []string, env MainEnv) int {
	c := command{env: env}
	q, err := c.parse(args)
	if err == flag.ErrHelp {
		fmt.Fprint(env.Stdout, usage)
		return exitFound
	}
	if err != nil {
		fmt.Fprintf(env.Stderr, "stella-ls graph: %v\n%s", err, usage)
		return exitUsage
	}
	return c.run(ctx, q)
}

type command struct {
	env    MainEnv
	root   string
	asJSON bool
	noWait bool
}

// parse takes flags before, between and after the words.
func (c *command) parse(args []string) (Query, error) {
	var q Query
	fs := flag.NewFlagSet("graph", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&c.root, "root", c.env.Dir, "")
	fs.StringVar(&q.Path, "path", "", "")
	fs.BoolVar(&c.asJSON, "json", false, "")
	fs.BoolVar(&c.noWait, "no-wait", false, "")
	fs.IntVar(&q.Limit, "limit", 0, "")
	fs.BoolVar(&q.Guesses, "guesses", false, "")
	fs.BoolVar(&q.Text, "text", false, "")
	var words []string
	for len(args) > 0 {
		if err := fs.Parse(args); err != nil {
			return q, err
		}
		if args = fs.Args(); len(args) > 0 {
			words = append(words, args[0])
			args = args[1:]
		}
	}
	switch {
	case len(words) < 2 || words[1] == "":
		return q, fmt.Errorf("a question and its target are needed")
	case len(words) > 2:
		return q, fmt.Errorf("one target is enough: %q is left over", strings.Join(words[2:], " "))
	}
	q.Op, q.Target = Op(words[0]), words[1]
	switch q.Op {
	case OpDefinitions, OpReferences:
		q.Path = c.fromDir(q.Path)
	case OpImports, OpImporters, OpNeighbors:
		if q.Path != "" {
			return q, fmt.Errorf("--path goes with definitions and references")
		}
		q.Target = c.fromDir(q.Target)
	default:
		return q, fmt.Errorf("unknown question %q", words[0])
	}
	return q, nil
}

// fromDir reads a path as the shell's user means it: relative to the working
// directory if such a file is there, else to the root.
func (c *command) fromDir(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	if abs := filepath.Join(c.env.Dir, p); fileExists(abs) {
		return abs
	}
	return p
}

func fileExists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}

func (c *command) run(ctx context.Context, q Query) int {
	root, err := filepath.Abs(c.root)
	if !filepath.IsAbs(c.root) {
		root = filepath.Join(c.env.Dir, c.root)
	}
	if fi, statErr := os.Stat(root); err != nil || statErr != nil || !fi.IsDir() {
		fmt.Fprintf(c.env.Stderr, "stella-ls graph: %s is not a folder\n", c.root)
		return exitUsage
	}
	meter := &progressMeter{out: c.env.Stderr}
	g, err := Open(Options{Workspace: workspace.New(workspace.Options{Roots: []string{root}}), CacheDir: c.env.CacheDir, NoWatch: true,
		Progress: meter.step, Notice: func(s string) { fmt.Fprintln(c.env.Stderr, s) }})
	if err != nil {
		fmt.Fprintf(c.env.Stderr, "stella-ls graph: %v\n", err)
		return exitFailed
	}
	defer g.Close()
	g.Start(ctx)
	if c.noWait {
		g.loaded(ctx)
	} else if err := g.Wait(ctx); err != nil {
		fmt.Fprintf(c.env.Stderr, "stella-ls graph: %v\n", err)
		return exitFailed
	}
	meter.end()
	a, err := g.Query(ctx, q)
	if err != nil {
		fmt.Fprintf(c.env.Stderr, "stella-ls graph: %v\n", err)
		if _, ok := err.(*UsageError); ok {
			return exitUsage
		}
		return exitFailed
	}
	a.Target = c.shown(q)
	if err := c.print(a); err != nil {
		return exitFailed
	}
	switch a.Status {
	case Found:
		return exitFound
	case Nothing:
		return exitNothing
	case NotIndexed, NoInformation:
		return exitUnknown
	}
	return exitFailed
}

// shown is the target as it was asked for.
func (c *command) shown(q Query) string {
	if rel, err := filepath.Rel(c.root, q.Target); err == nil && filepath.IsAbs(q.Target) {
		return filepath.ToSlash(rel)
	}
	return q.Target
}

func (c *command) print(a Answer) error {
	if c.asJSON {
		enc := json.NewEncoder(c.env.Stdout)
		enc.SetEscapeHTML(false)
		return enc.Encode(a)
	}
	_, err := io.WriteString(c.env.Stdout, a.String())
	return err
}

// String is the answer for people: one line for each result.
func (a Answer) String() string {
	var b strings.Builder
	for _, r := range a.Results {
		where := "-"
		if r.Path != nil {
			where = *r.Path
		}
		if rng := r.NameRange; rng != nil {
			where += fmt.Sprintf(":%d:%d", rng.Start.Line+1, rng.Start.Character+1)
		} else if r.Range != nil && a.Query != OpImports {
			where += fmt.Sprintf(":%d", r.Range.Start.Line+1)
		}
		fields := []string{}
		for _, f := range []string{r.Kind, r.Specifier, r.Name, inside(r.Container), by(r.How), r.Status, r.Why} {
			if f != "" {
				fields = append(fields, f)
			}
		}
		fmt.Fprintf(&b, "%s  %s", where, strings.Join(fields, "  "))
		if r.Text != "" {
			fmt.Fprintf(&b, "\n    %s", r.Text)
		}
		b.WriteByte('\n')
	}
	if a.More > 0 {
		fmt.Fprintf(&b, "+%d more\n", a.More)
	}
	if a.Guesses > 0 {
		fmt.Fprintf(&b, "+%d by name alone (--guesses shows them)\n", a.Guesses)
	}
	if a.Status != Found {
		fmt.Fprintf(&b, "%s: %s\n", map[Status]string{Nothing: "nothing found", NotIndexed: "not indexed yet", NoInformation: "no such information", Failed: "failed"}[a.Status], a.Why)
	} else if !a.Complete {
		fmt.Fprintf(&b, "(the index is being brought up to date; this answer is %v old)\n", (time.Duration(a.AgeMS) * time.Millisecond).Round(time.Second))
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD") // a source in Latin-1
}

func inside(c string) string {
	if c == "" {
		return ""
	}
	return "in " + c
}

func by(h How) string {
	if h == "" {
		return ""
	}
	return "by " + string(h)
}

// progressMeter writes a line now and then.
type progressMeter struct {
	out  io.Writer
	last int
	any  bool
}

func (m *progressMeter) step(done, total int) {
	if total < 500 || done-m.last < 500 && done != total {
		return
	}
	m.last, m.any = done, true
	fmt.Fprintf(m.out, "\rindexing %d of %d files", done, total)
}

func (m *progressMeter) end() {
	if m.any {
		fmt.Fprintln(m.out)
	}
}
