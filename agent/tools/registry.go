package tools

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/stella-ls/stella-ls/guard"
)

// Defaults of the gate.
const (
	maxParallelReads = 8
	defaultTimeout   = 15 * time.Minute
	// cancelGrace is how long a cancelled call may take to give its own result
	// before a synthetic one closes it.
	cancelGrace = 100 * time.Millisecond
)

// Denier holds rules that can only deny (guard-* keys of .stella/rules). It
// returns the reason, "" when no rule speaks against the call. paths are as the
// call spells them.
type Denier interface {
	Deny(tool string, paths []string, command string) string
	// Unsure says that a rule exists that may deny something and cannot be read,
	// "" when there is none: then a person decides about every change.
	Unsure() string
}

// Options wire a Registry. All may be nil.
type Options struct {
	Permissions *Permissions
	Rules       Denier
	Hooks       *Hooks
	Protect     Protector
	// Late is told which tools a message calls that are not here; it may wait for
	// what is still starting and add it.
	Late func(ctx context.Context, tools []string)
	Log  *slog.Logger
}

// Registry holds a session's tools and is the only way to run one. It is safe
// for concurrent use; tools may come and go while calls run.
type Registry struct {
	o Options

	mu    sync.RWMutex // guards tools
	tools map[string]*entry
	shown bool // Specs was called
	later int  // tools added since

	running sync.WaitGroup // calls, abandoned ones included
}

type entry struct {
	tool   Tool
	spec   Spec
	later  int // its place behind those that were there at first; 0 is one of them
	schema *jsonschema.Resolved
}

// NewRegistry returns an empty Registry.
func NewRegistry(o Options) *Registry {
	if o.Permissions == nil {
		o.Permissions = &Permissions{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Registry{o: o, tools: map[string]*entry{}}
}

// Add registers a tool. It fails on a name that is taken or no name at all, on
// a schema that does not compile, and on a mutating tool that would not leave
// the writing to the gate.
func (r *Registry) Add(t Tool) error {
	spec := t.Spec()
	if !validName(spec.Name) {
		return fmt.Errorf("tool name %q: use 1 to 64 letters, digits, _ and -", spec.Name)
	}
	if _, ok := t.(Mutator); (spec.Effect == Mutates) != ok {
		return fmt.Errorf("tool %s: a tool mutates exactly when it is a Mutator", spec.Name)
	}
	schema, err := compile(spec.Schema)
	if err != nil && spec.Lenient {
		r.o.Log.Warn("a tool's schema cannot be checked", "tool", spec.Name, "err", err.Error())
		schema, err = compile([]byte(`{"type":"object"}`))
	}
	if err != nil {
		return fmt.Errorf("tool %s: %w", spec.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.tools[spec.Name]; taken {
		return fmt.Errorf("tool %s: the name is taken", spec.Name)
	}
	e := &entry{tool: t, spec: spec, schema: schema}
	if r.shown {
		r.later++
		e.later = r.later
	}
	r.tools[spec.Name] = e
	return nil
}

func validName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// Remove takes a tool away; calls of it that run go on.
func (r *Registry) Remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tools, name)
}

// Has reports whether a tool is registered.
func (r *Registry) Has(name string) bool { return r.lookup(name) != nil }

// Specs describe all tools, in name order, so that requests stay byte-identical.
// Those that are added after the first call stand at the end, as they came: what a
// request began with, the next one begins with too.
func (r *Registry) Specs() []Spec {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown = true
	entries := slices.SortedFunc(maps.Values(r.tools), func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.later, b.later), strings.Compare(a.spec.Name, b.spec.Name))
	})
	specs := make([]Spec, len(entries))
	for i, e := range entries {
		specs[i] = e.spec
	}
	return specs
}

func (r *Registry) lookup(name string) *entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.tools[name]
}

func (r *Registry) names() string {
	var names []string
	for _, s := range r.Specs() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// Wait returns when no call runs any more, abandoned ones included.
func (r *Registry) Wait() { r.running.Wait() }

// Settle waits, at most for limit, until no abandoned call runs any more, so
// that a new turn does not overlap with what a cancelled one left behind.
func (r *Registry) Settle(ctx context.Context, limit time.Duration) {
	quiet := make(chan struct{})
	go func() { r.running.Wait(); close(quiet) }()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-quiet:
	case <-t.C:
	case <-ctx.Done():
	}
}

// pending is one call on its way through the gate.
type pending struct {
	i     int
	call  Call
	entry *entry
	// changes are what a mutating call asks for.
	changes  []guard.Change
	previews []guard.Preview // of changes, when a person may be asked
	result   *Result         // set: the call ended before it ran
	began    time.Time       // when it passed the gate and ran
}

// admit is the part of the gate before the guard: the tool exists, the input
// fits, no rule denies it.
func (r *Registry) admit(ctx context.Context, env Env, i int, call Call) *pending {
	p := &pending{i: i, call: call}
	end := func(res Result) *pending { p.result = &res; return p }
	if p.entry = r.lookup(call.Tool); p.entry == nil {
		return end(Invalid("there is no tool %q; there are: %s", call.Tool, r.names()))
	}
	if call.BadInput != "" {
		return end(Invalid("the input of %s could not be read, the tool was not run: %s", call.Tool, call.BadInput))
	}
	input, wrong := checkInput(p.entry.schema, call.Input)
	if wrong != "" {
		return end(Invalid("%s: %s", call.Tool, wrong))
	}
	p.call.Input = input
	if m, ok := p.entry.tool.(Mutator); ok {
		changes, res := m.Changes(ctx, env, p.call)
		if res != nil {
			return end(*res)
		}
		p.changes = changes
	}
	if r.o.Rules != nil {
		if why := r.o.Rules.Deny(call.Tool, p.paths(), commandOf(input)); why != "" {
			return end(denied(p, why))
		}
	}
	return p
}

func denied(p *pending, why string) Result {
	path, what := "", p.call.Tool
	if named := p.paths(); len(named) == 1 {
		path, what = named[0], what+" "+named[0]
	}
	return Failed(guard.StatusDenied, path, what+" was not run: "+why, "do not try the same call again; ask the user or find another way")
}

// paths are the files that the call names, as it spells them.
func (p *pending) paths() []string {
	if p.entry.spec.Effect == Mutates {
		var paths []string
		for _, c := range p.changes {
			paths = append(paths, c.Path)
			if c.To != "" {
				paths = append(paths, c.To)
			}
		}
		return paths
	}
	return namedPaths(p.call.Input, p.entry.spec.PathKeys)
}

// protect turns a panic of a tool into an error result.
func (r *Registry) protect(tool string, res *Result) {
	if v := recover(); v != nil {
		r.o.Log.Error("a tool panicked", "tool", tool, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		*res = Failed("error", "", fmt.Sprintf("%s failed inside: %v", tool, v), "this is a fault of the tool; find another way")
	}
}
