// Package cli is the context engine on the command line: "stella-ls init" and
// "stella-ls memory". The binary wires it to the process, the model and the graph.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/contextengine"
)

// Exit codes.
const (
	OK      = 0
	Nothing = 1 // no such memory, or refused with a reason
	Usage   = 2
	Failed  = 5
)

// Env is what a command may touch of the process.
type Env struct {
	// Args are the arguments after the command's own name.
	Args           []string
	Stdout, Stderr io.Writer
	// Dir is the directory that --root defaults to; empty is the process's own.
	Dir   string
	Clock func() time.Time
	// Ask is the model for init's taxonomy; nil, or --no-model, uses the heuristic.
	Ask func(root string) (contextengine.Ask, error)
	// Graph opens the code graph of a root for anchors on symbols; nil does without.
	Graph func(root string) contextengine.Graph
	// Index fills the code graph at the end of init; nil does without.
	Index func(ctx context.Context, root string) error
}

func (e Env) say(format string, args ...any) { fmt.Fprintf(e.Stdout, format+"\n", args...) }
func (e Env) warn(format string, args ...any) {
	fmt.Fprintf(e.Stderr, "stella-ls: "+format+"\n", args...)
}

// parse reads flags that may stand before, between and after the other arguments.
func parse(fs *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		args = fs.Args()
		if len(args) == 0 {
			return rest, nil
		}
		rest, args = append(rest, args[0]), args[1:]
	}
}

// flags returns a flag set whose faults are reported by ended.
func (e Env) flags(name string) (*flag.FlagSet, *string) {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs, fs.String("root", "", "the workspace folder (default: the nearest one above that has .stella/, else the current one)")
}

// root is the folder that a command works on.
func (e Env) root(flagged string) (string, error) {
	dir := e.Dir
	if flagged != "" {
		dir = flagged
	}
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", abs)
	}
	if flagged != "" {
		return abs, nil
	}
	for up := abs; ; up = filepath.Dir(up) {
		if info, err := os.Stat(filepath.Join(up, ".stella")); err == nil && info.IsDir() {
			return up, nil
		}
		if up == filepath.Dir(up) {
			return abs, nil
		}
	}
}

func (e Env) engine(root string) *contextengine.Engine {
	o := contextengine.Options{Root: root, Clock: e.Clock, Report: func(s string) { e.warn("%s", s) }}
	if e.Graph != nil {
		o.Graph = e.Graph(root)
	}
	return contextengine.New(o)
}

// code maps an error to an exit code, after saying it.
func (e Env) code(err error) int {
	var refusal *contextengine.Refusal
	switch {
	case err == nil:
		return OK
	case errors.Is(err, flag.ErrHelp):
		return OK
	case errors.As(err, &refusal):
		e.warn("%s", refusal.Error())
		return Nothing
	}
	e.warn("%v", err)
	return Failed
}

const initUsage = `init [--root DIR] [--no-model]

Makes .stella/ in the folder, infers the project's domains with one call of the
model (or from the directories), and fills the code graph. Run again it records
what changed.
`

// Init is "stella-ls init [--root DIR] [--no-model]".
func Init(ctx context.Context, e Env) int {
	fs, rootFlag := e.flags("init")
	noModel := fs.Bool("no-model", false, "infer the domains from the directories alone")
	rest, err := parse(fs, e.Args)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("init takes no argument %q: the folder is given by --root", rest[0])
	}
	if err != nil {
		return e.ended(fs, initUsage, err)
	}
	if *rootFlag == "" {
		if *rootFlag = e.Dir; *rootFlag == "" {
			*rootFlag = "." // init makes .stella/ here, not in a folder above
		}
	}
	root, err := e.root(*rootFlag)
	if err != nil {
		e.warn("%v", err)
		return Usage
	}
	engine := e.engine(root)
	defer engine.Close()
	var ask contextengine.Ask
	if !*noModel && e.Ask != nil {
		if ask, err = e.Ask(root); err != nil {
			e.warn("no model, so the directories decide: %v", err)
			ask = nil
		}
	}
	report, err := engine.Init(ctx, ask)
	if err != nil {
		return e.code(err)
	}
	e.tell(root, report)
	if e.Index != nil {
		if err := e.Index(ctx, root); err != nil {
			e.warn("the code graph could not be filled: %v", err)
			return Failed
		}
	}
	return OK
}

func (e Env) tell(root string, r contextengine.InitReport) {
	for _, n := range r.Notes {
		e.warn("%s", n)
	}
	e.say("%s is ready.", filepath.Join(root, ".stella"))
	switch {
	case len(r.Domains) == 0:
		e.say("Domains: none (no directories with files yet; run init again later).")
	default:
		how := map[string]string{"model": "inferred by the model", "heuristic": "inferred from the directories",
			"kept": "kept as you edited them", "unchanged": "unchanged"}[r.Taxonomy]
		e.say("Domains, %s: %s.", how, strings.Join(r.Domains, ", "))
	}
	if len(r.Closed) > 0 {
		e.say("No longer: %s.", strings.Join(r.Closed, ", "))
	}
}

// ended is how a command line ends that was not understood, or asked for help:
// the usage on stdout for who asked, with the fault on stderr for who erred.
func (e Env) ended(fs *flag.FlagSet, usage string, err error) int {
	out, code := e.Stderr, Usage
	if errors.Is(err, flag.ErrHelp) {
		out, code = e.Stdout, OK
	} else {
		e.warn("%v", err)
	}
	fmt.Fprintf(out, "usage: stella-ls %s\n", usage)
	fs.SetOutput(out)
	fs.PrintDefaults()
	return code
}
