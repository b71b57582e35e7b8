package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/internal/record"
	"github.com/stella-ls/stella-ls/internal/server"
)

// Exit codes of ask.
const (
	exitModel = 3
	exitLimit = 4
)

func ask(ctx context.Context, e env) int {
	fs := flags(e, "ask", `TEXT [--root DIR] [--json] [--session ID] [--model NAME] [--trust]

Runs one turn without an editor: the answer goes to stdout, what the session does to
stderr. Nobody can be asked, so what the settings do not allow is denied.

exit codes: 0 done, 1 failed or cancelled, 2 wrong usage or no such session, 3 model error or no model, 4 budget or step limit, or a loop
`)
	root := fs.String("root", ".", "the workspace; a `dir`")
	asJSON := fs.Bool("json", false, "print one JSON object at the end instead of the answer as it comes")
	session := fs.String("session", "", "go on with the session of this `id`")
	modelName := fs.String("model", "", "the model, by the `name` that its provider gives it")
	trust := fs.Bool("trust", false, "trust the workspace for this run")
	words, code, done := parseMixed(fs, e.args)
	if done {
		return code
	}
	text := strings.Join(words, " ")
	if strings.TrimSpace(text) == "" {
		fmt.Fprintln(e.stderr, "stella-ls ask: say what to do: stella-ls ask \"...\"")
		return exitUsage
	}
	c := &console{e: e, quiet: *asJSON}
	h, code := headless(ctx, e, "ask", *root, c, server.Options{Trust: *trust})
	if h == nil {
		return code
	}
	defer closeSoon(h, e.stderr)
	id, err := sessionOf(ctx, h, *session, *modelName)
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls ask:", err)
		switch {
		case errors.Is(err, agent.ErrNoSession):
			return exitUsage
		case errors.Is(err, record.ErrBusy):
			return exitFail
		}
		return exitModel
	}
	out, err := h.Prompt(ctx, agent.Prompt{Session: id, Text: text})
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls ask:", err)
		return exitFail
	}
	c.end(id, out)
	return stopCode(out.Stop)
}

func sessionOf(ctx context.Context, h *server.Headless, id, modelName string) (string, error) {
	if id == "" {
		return h.Start(ctx, agent.StartOptions{Model: modelName})
	}
	_, err := h.Resume(ctx, id, false)
	return id, err
}

// stopCode is the exit code of a turn's end.
func stopCode(s agent.Stop) int {
	switch s {
	case agent.StopEndTurn:
		return exitOK
	case agent.StopError:
		return exitModel
	case agent.StopMaxSteps, agent.StopBudget, agent.StopLoop:
		return exitLimit
	default:
		return exitFail
	}
}

// console is the client of a run without an editor: the answer goes to stdout,
// what the session does to stderr, and questions have no answer.
type console struct {
	e     env
	quiet bool

	mu   sync.Mutex // guards text and open
	text strings.Builder
	open bool // the last thing on stdout was no whole line
}

var _ agent.Client = (*console)(nil)

func (c *console) Update(u agent.Update) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch u.Kind {
	case agent.UpdateText:
		c.text.WriteString(u.Text)
		if !c.quiet {
			_, _ = io.WriteString(c.e.stdout, u.Text)
			c.open = !strings.HasSuffix(u.Text, "\n")
		}
	case agent.UpdateToolCall:
		c.text.Reset() // what was said before a call is not the answer
		c.line("step %d: %s", u.Step, u.Tool)
	case agent.UpdateToolResult:
		head, _, _ := strings.Cut(u.Text, "\n")
		c.line("  %s", head)
	case agent.UpdateNotice:
		c.line("%s", u.Text)
	}
}

func (c *console) line(format string, args ...any) {
	if c.open {
		fmt.Fprintln(c.e.stdout)
		c.open = false
	}
	fmt.Fprintf(c.e.stderr, format+"\n", args...)
}

// Ask says that nobody is there.
func (c *console) Ask(context.Context, string, tools.Question) (tools.Answer, error) {
	return tools.Answer{}, nil
}

// Diagnostics cannot be told without an editor.
func (c *console) Diagnostics(context.Context, string) ([]agent.Diagnostic, bool) { return nil, false }

func (c *console) end(session string, o agent.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quiet {
		printJSON(c.e.stdout, map[string]any{
			"sessionId": session, "turnId": o.TurnID, "stop": o.Stop, "error": o.Error,
			"text": c.text.String(), "usage": o.Usage,
		})
		return
	}
	if c.open {
		fmt.Fprintln(c.e.stdout)
	}
	if o.Stop != agent.StopEndTurn {
		fmt.Fprintf(c.e.stderr, "stopped: %s %s\n", o.Stop, o.Error)
	}
}

func printJSON(w io.Writer, v any) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}

type closer interface {
	Close(ctx context.Context) error
}

func closeSoon(c closer, stderr io.Writer) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	if err := c.Close(ctx); err != nil {
		fmt.Fprintln(stderr, "stella-ls:", err)
	}
}

// headless opens the program around the workspace root, for a command that has
// no editor and says "stella-ls NAME: ..." when that fails: then h is nil and
// code the exit code. how holds the choices of the command.
func headless(ctx context.Context, e env, name, root string, c *console, how server.Options) (h *server.Headless, code int) {
	fail := func(err error, code int) (*server.Headless, int) {
		fmt.Fprintf(e.stderr, "stella-ls %s: %v\n", name, err)
		return nil, code
	}
	dir, err := directory(root)
	if err != nil {
		return fail(err, exitUsage)
	}
	o, err := options(e, slog.LevelWarn)
	if err != nil {
		return fail(err, exitFail)
	}
	o.Trust, o.LookOnly = how.Trust, how.LookOnly
	if h, err = server.OpenHeadless(ctx, o, dir, c, func(m string) { fmt.Fprintln(e.stderr, m) }); err != nil {
		return fail(err, exitFail)
	}
	return h, exitOK
}

func directory(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return abs, isDirectory(abs)
}
