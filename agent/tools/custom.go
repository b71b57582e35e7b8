package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/process"
	"github.com/stella-ls/stella-ls/internal/tomlfile"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// customSpec is a .stella/tools/NAME.toml.
type customSpec struct {
	Name        string          `toml:"name"`
	Description string          `toml:"description"`
	Command     []string        `toml:"command"`
	Timeout     config.Duration `toml:"timeout"`
	Paths       []string        `toml:"paths"`
	Schema      map[string]any  `toml:"schema"`
}

const (
	customTimeout    = 60 * time.Second
	customTimeoutMax = 10 * time.Minute
	customMost       = 64        // tools of one workspace
	plainMost        = 256 << 10 // bytes of a file of tools or servers
)

// Custom reads the custom tools of a workspace folder. What is wrong with a
// file is reported, and the others are still there. Whether they may run is the
// caller's to know: without trust they are not to be read at all.
func Custom(ctx context.Context, ws *workspace.Workspace, root string) (list []Tool, problems []error) {
	dir := filepath.Join(root, ".stella", "tools")
	entries, err := os.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			problems = append(problems, err)
		}
		return nil, problems
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	for _, e := range entries {
		if path.Ext(e.Name()) != ".toml" {
			continue
		}
		if len(list) == customMost {
			problems = append(problems, fmt.Errorf(".stella/tools: more than %d tools; the rest is left out", customMost))
			break
		}
		t, err := readCustom(ctx, ws, root, filepath.Join(dir, e.Name()))
		if err != nil {
			problems = append(problems, fmt.Errorf(".stella/tools/%s: %w", e.Name(), err))
			continue
		}
		list = append(list, t)
	}
	return list, problems
}

func readCustom(ctx context.Context, ws *workspace.Workspace, root, file string) (Tool, error) {
	raw, err := readPlain(ctx, ws, file)
	if err != nil {
		return nil, err
	}
	var c customSpec
	meta, err := tomlfile.Decode(string(raw), &c)
	if err != nil {
		return nil, err
	}
	for _, key := range meta.Undecoded() {
		if key[0] != "schema" {
			return nil, fmt.Errorf("unknown key %s", key)
		}
	}
	switch {
	case !validName(c.Name):
		return nil, fmt.Errorf("name %q: use 1 to 64 letters, digits, _ and -", c.Name)
	case strings.HasPrefix(c.Name, "mcp__"):
		return nil, errors.New("a name must not begin with mcp__")
	case len(c.Command) == 0 || c.Command[0] == "":
		return nil, errors.New("command is missing: a list of the program and its arguments")
	}
	if c.Schema == nil {
		c.Schema = map[string]any{"type": "object"}
	}
	schema, err := json.Marshal(c.Schema)
	if err != nil {
		return nil, err
	}
	if _, err := compile(schema); err != nil {
		return nil, err
	}
	return &customTool{spec: c, schema: schema, root: root}, nil
}

// readPlain is what a file of the workspace holds now.
func readPlain(ctx context.Context, ws *workspace.Workspace, file string) ([]byte, error) {
	name, err := ws.Resolve("", file)
	if err != nil {
		return nil, err
	}
	view, err := ws.View(ctx, name)
	if err != nil {
		return nil, err
	}
	if !view.Exists() {
		return nil, os.ErrNotExist
	}
	raw := view.Truth()
	if len(raw) > plainMost { // far above what people write
		return nil, fmt.Errorf("it has %d bytes; more than %d are not read", len(raw), plainMost)
	}
	return raw, nil
}

// customTool runs a program of the workspace: input as JSON on stdin, output
// from stdout, no shell.
type customTool struct {
	spec   customSpec
	schema json.RawMessage
	root   string
}

func (t *customTool) Spec() Spec {
	return Spec{
		Name: t.spec.Name, Description: t.spec.Description, Schema: t.schema,
		Effect: Opaque, Permission: PermitCommand, PathKeys: t.spec.Paths,
	}
}

// Limit is above the tool's own, which ends the process and says so.
func (t *customTool) Limit() time.Duration { return t.timeout() + 10*time.Second }

func (t *customTool) timeout() time.Duration {
	if t.spec.Timeout.Duration <= 0 {
		return customTimeout
	}
	return min(t.spec.Timeout.Duration, customTimeoutMax)
}

func (t *customTool) Need(_ context.Context, env Env, call Call) Need {
	line := strings.Join(t.spec.Command, " ")
	return Need{
		Permission: PermitCommand, Rule: "tool:" + t.spec.Name, Trust: true,
		Question: Question{Kind: "command", Title: "Run the tool " + t.spec.Name + "?", Command: line, Cwd: env.Root,
			Detail: "with the input\n" + readable(call.Input)},
	}
}

type customObject struct {
	Status string `json:"status"` // ok, failed, timed_out
	Exit   int    `json:"exit"`
	Cut    int    `json:"cut"`
}

func (t *customTool) Run(ctx context.Context, env Env, call Call) (Result, error) {
	out, err := process.Run(ctx, process.Command{Argv: t.spec.Command, Dir: env.Root, Stdin: call.Input, Timeout: t.timeout(), Split: true})
	if err != nil {
		return Result{}, err
	}
	o := customObject{Status: "ok", Exit: out.Exit, Cut: out.Cut}
	r := Result{Body: strings.TrimRight(out.Output, "\n"), Head: t.spec.Name + " gave a result"}
	switch {
	case out.TimedOut:
		o.Status, r.Head = "timed_out", fmt.Sprintf("%s was ended after %s", t.spec.Name, t.timeout())
	case out.Exit != 0:
		o.Status, r.Head = "failed", fmt.Sprintf("%s failed with exit %d", t.spec.Name, out.Exit)
	}
	if o.Status != "ok" && out.Stderr != "" {
		r.Body = strings.TrimSpace(r.Body + "\n" + strings.TrimRight(out.Stderr, "\n"))
	}
	r.Object, r.Status, r.IsError = o, o.Status, o.Status != "ok"
	return r, nil
}
