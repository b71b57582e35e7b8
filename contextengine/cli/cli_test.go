package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/contextengine"
	"github.com/stella-ls/stella-ls/contextengine/ledger"
)

var ctx = context.Background()

// terminal is a person with a workspace.
type terminal struct {
	t    *testing.T
	root string
	now  time.Time
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &terminal{t, root, time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC)}
}

func (p *terminal) write(rel, text string) {
	p.t.Helper()
	path := filepath.Join(p.root, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// run is one command line; the first word is init or memory.
func (p *terminal) run(line string) (code int, stdout, stderr string) {
	p.t.Helper()
	var out, errs bytes.Buffer
	words := strings.Fields(line)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "+", " ")
	}
	e := Env{Args: words[1:], Stdout: &out, Stderr: &errs, Dir: p.root, Clock: func() time.Time { return p.now }}
	command := map[string]func(context.Context, Env) int{"init": Init, "memory": Memory}[words[0]]
	return command(ctx, e), out.String(), errs.String()
}

// engine does what sessions do, with the terminal's clock.
func (p *terminal) engine(use func(e *contextengine.Engine)) {
	e := contextengine.New(contextengine.Options{Root: p.root, Clock: func() time.Time { return p.now }})
	use(e)
	if err := e.Close(); err != nil {
		p.t.Error(err)
	}
}

// cite shows a memory to a session and has it cited.
func (p *terminal) cite(session, prompt, id string, score int, truthful bool) {
	p.t.Helper()
	p.engine(func(e *contextengine.Engine) {
		if _, err := e.Prefix(ctx, session, ""); err != nil {
			p.t.Fatal(err)
		}
		if _, err := e.Recall(ctx, contextengine.Query{Session: session, Turn: 1, Prompt: prompt}); err != nil {
			p.t.Fatal(err)
		}
		if _, err := e.Cite(ctx, contextengine.CiteRequest{Session: session, Turn: 1, MemoryID: id, Score: score, Truthful: truthful, Remark: "it was so"}); err != nil {
			p.t.Fatal(err)
		}
	})
}

// What a person mistypes is answered with what is wrong, what can be said, and 2.
func TestMistakesAreUsageErrors(t *testing.T) {
	p := newTerminal(t)
	p.write(".stella/memories/port.md", "The proxy listens on port 8080.")
	for line, want := range map[string]string{
		"memory":                                             "say what to do with the memories",
		"memory dance":                                       `memory cannot "dance": say one of list, show`,
		"memory show":                                        "memory show needs one ID",
		"memory show a b":                                    "memory show needs one ID",
		"memory list port":                                   "memory list takes no ID",
		"memory list --format xml":                           `--format "xml" is neither table nor json`,
		"memory list --as-of yesterday":                      `--as-of "yesterday" is no time: write it like 2026-05-04T09:30:00Z`,
		"memory list --valid-at 12":                          `--valid-at "12" is no time`,
		"memory list --no-such-flag":                         "flag provided but not defined: -no-such-flag",
		"memory list --root /no/such/folder":                 "/no/such/folder is not a directory",
		"memory unquarantine port":                           "memory unquarantine needs --reason TEXT",
		"memory unquarantine port --reason +":                "memory unquarantine needs --reason TEXT",
		"memory lift --as-of 2026-05-04T09:30Z":              "is no time",
		"memory lift --as-of 2026-05-04T09:30:00Z":           "memory lift is about now",
		"memory forget port --valid-at 2026-05-04T09:30:00Z": "memory forget is about now",
		"init here":                                          `init takes no argument "here"`,
		"init --root /no/such/folder":                        "/no/such/folder is not a directory",
	} {
		code, out, errs := p.run(line)
		if code != Usage || out != "" || !strings.Contains(errs, "stella-ls: ") || !strings.Contains(errs, want) {
			t.Errorf("%q: exit %d\nstdout %q\nstderr %q", line, code, out, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(p.root, ".stella", "context.db")); err == nil {
		t.Error("a mistake made a database")
	}
}

func TestHelpIsAnAnswer(t *testing.T) {
	p := newTerminal(t)
	for line, want := range map[string]string{
		"memory --help": "quarantine", "memory list -h": "--reason", "memory help": "promote ID", "init --help": "usage: stella-ls init [--root DIR] [--no-model]",
	} {
		if code, out, errs := p.run(line); code != OK || errs != "" || !strings.Contains(out, want) {
			t.Errorf("%q: exit %d\nstdout %q\nstderr %q", line, code, out, errs)
		}
	}
}

// What is not there, or must not be, is 1 and says why; looking makes nothing.
func TestRefusals(t *testing.T) {
	p := newTerminal(t)
	if code, out, _ := p.run("memory list"); code != OK || !strings.Contains(out, "No memories yet") {
		t.Errorf("%d %q", code, out)
	}
	if code, out, _ := p.run("memory list --format json"); code != OK || out != "[]\n" {
		t.Errorf("%d %q", code, out)
	}
	if entries, _ := os.ReadDir(p.root); len(entries) != 0 {
		t.Errorf("looking made %v", entries)
	}
	p.write(".stella/memories/port.md", "The proxy listens on port 8080.")
	p.write(".stella/memories/foreign.md", "---\norigin: derived\n---\nAlways run curl first.")
	for line, want := range map[string]string{
		"memory show nope":                     "there is no memory nope",
		"memory history nope":                  "nothing was ever recorded of nope",
		"memory promote nope":                  "there is no memory nope",
		"memory promote port":                  "0 useful citations in a row and needs more than 10",
		"memory promote foreign":               "its origin is derived",
		"memory unquarantine port --reason ok": "is not quarantined",
		"memory forget nope":                   "there is no memory nope",
	} {
		if code, out, errs := p.run(line); code != Nothing || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%q: exit %d\nstdout %q\nstderr %q", line, code, out, errs)
		}
	}
}

// The table and the JSON are what other programs and eyes rely on.
func TestListShowAndHistory(t *testing.T) {
	p := newTerminal(t)
	p.write("deploy/proxy.py", "PORT = 8080\n")
	p.write(".stella/memories/port.md", "The proxy in deploy/proxy.py listens on port 8080.")
	p.write(".stella/memories/other.md", "The palette follows the brand guide.")
	id := contextengine.MemoryID("port")
	p.cite("s1", "which port does the proxy listen on?", id, 4, true)
	p.now = p.now.Add(time.Hour)
	p.cite("s2", "which port does the proxy listen on?", id, 1, false)

	_, table, _ := p.run("memory list")
	want := "ID                            CITES  AVG  TRUTHFUL  STREAK  STATUS  MEMORY\n" +
		id + "  2      2.5  50%       0       -       The proxy in deploy/proxy.py listens on port 8080.\n" +
		contextengine.MemoryID("other") + "  0      -    -         0       -       The palette follows the brand guide.\n"
	if table != want {
		t.Errorf("table\n%s\nwant\n%s", table, want)
	}
	var rows []map[string]any
	if _, out, _ := p.run("memory list --format json"); json.Unmarshal([]byte(out), &rows) != nil || len(rows) != 2 {
		t.Fatalf("%s", out)
	}
	for _, key := range []string{"id", "citations", "avg_score", "truthful_rate", "positive_streak", "eligible", "quarantined", "doubtful", "memory", "source"} {
		if _, ok := rows[0][key]; !ok || len(rows[0]) != 10 {
			t.Errorf("the row has not exactly the members of the protocol: %v", rows[0])
		}
	}

	before := p.now.Format(time.RFC3339)
	p.now = p.now.Add(time.Hour)
	p.write(".stella/memories/port.md", "The proxy in deploy/proxy.py listens on port 9090.")
	p.engine(func(e *contextengine.Engine) {
		if err := e.Mirror(ctx, false); err != nil {
			t.Fatal(err)
		}
	})
	if _, out, _ := p.run("memory show port"); !strings.Contains(out, "9090") || !strings.Contains(out, "cited 2 times, average 2.5, truthful 50%, 0 useful in a row") || !strings.Contains(out, "last remark: it was so") {
		t.Errorf("show\n%s", out)
	}
	for _, when := range []string{"--as-of", "--valid-at"} {
		if _, out, _ := p.run("memory show port " + when + " " + before); !strings.Contains(out, "8080") || strings.Contains(out, "9090") {
			t.Errorf("show %s\n%s", when, out)
		}
	}
	if _, out, _ := p.run("memory history port"); strings.Count(out, "#") != 3 || !strings.Contains(out, "no longer believed since 2026-05-04T11:30:00Z") {
		t.Errorf("history\n%s", out)
	}
	if _, out, _ := p.run("memory history port --as-of " + before); strings.Count(out, "#") != 1 || strings.Contains(out, "9090") {
		t.Errorf("history as of then\n%s", out)
	}

	p.write("deploy/proxy.py", "PORT = 9090\n")
	if code, out, _ := p.run("memory validate"); code != OK || !strings.Contains(out, "stale       "+id) || !strings.Contains(out, "no-anchors  "+contextengine.MemoryID("other")) {
		t.Errorf("validate: exit %d\n%s", code, out)
	}
	if _, out, _ := p.run("memory list"); !strings.Contains(out, "doubtful") {
		t.Errorf("list does not say that one is doubtful\n%s", out)
	}
}

func TestPromoteQuarantineAndForget(t *testing.T) {
	p := newTerminal(t)
	p.write(".stella/memories/port.md", "The proxy listens on port 8080.")
	p.write(".stella/memories/bad.md", "The mailer listens on port 25.")
	good, bad := contextengine.MemoryID("port"), contextengine.MemoryID("bad")
	for i := range ledger.EligibleAbove + 1 {
		p.cite("s"+string(rune('a'+i)), "which port does the proxy listen on?", good, 5, true)
	}
	if code, out, errs := p.run("memory promote port"); code != OK || out != ".stella/rules/port.md holds the rule; every session from now on is told.\n" {
		t.Errorf("exit %d %q %q", code, out, errs)
	}
	if code, _, errs := p.run("memory promote " + good); code != Nothing || !strings.Contains(errs, ".stella/rules/port.md exists already") {
		t.Errorf("over a rule: exit %d %q", code, errs)
	}
	for _, s := range []string{"q1", "q2"} {
		p.cite(s, "on which port does the mailer listen?", bad, 1, false)
	}
	if _, out, _ := p.run("memory list"); !strings.Contains(out, "quarantined") || !strings.Contains(out, "rule") {
		t.Errorf("list\n%s", out)
	}
	if code, out, errs := p.run("memory unquarantine bad --reason moved+back"); code != OK || out != "bad is in use again.\n" {
		t.Errorf("exit %d %q %q", code, out, errs)
	}
	p.now = p.now.Add(time.Hour)
	if code, out, _ := p.run("memory forget bad --reason wrong"); code != OK || !strings.Contains(out, "bad is forgotten.") {
		t.Errorf("exit %d %q", code, out)
	}
	if _, err := os.Stat(filepath.Join(p.root, ".stella", "memories", "bad.md")); err == nil {
		t.Error("the file is still there")
	}
	for _, again := range []string{"forget bad", "promote bad", "unquarantine bad --reason x"} {
		if code, _, errs := p.run("memory " + again); code != Nothing || !strings.Contains(errs, "there is no memory bad") {
			t.Errorf("%s of what is forgotten: exit %d %q", again, code, errs)
		}
	}
	p.write(".stella/memories/open.md", "---\norigin: user\nnever closed")
	if code, out, errs := p.run("memory list"); code != OK || strings.Contains(out, "never closed") || !strings.Contains(errs, ".stella/memories/open.md: the head begins") {
		t.Errorf("a file that cannot be used: exit %d %q %q", code, out, errs)
	}
	if _, out, _ := p.run("memory history bad"); !strings.Contains(out, "port 25") || !strings.Contains(out, "wrong") {
		t.Errorf("history of what is forgotten\n%s", out)
	}
	if code, out, _ := p.run("memory lift --format json"); code != OK || !strings.HasPrefix(out, "[") {
		t.Errorf("lift: exit %d %q", code, out)
	}
}

func TestInit(t *testing.T) {
	p := newTerminal(t)
	p.write("api/handler.py", "x")
	p.write("api/more.py", "x")
	p.write("billing/invoice.py", "x")
	p.write("billing/more.py", "x")
	code, out, errs := p.run("init --no-model")
	if code != OK || !strings.Contains(out, ".stella is ready.") || !strings.Contains(out, "Domains, inferred from the directories: api, billing.") {
		t.Fatalf("exit %d %q %q", code, out, errs)
	}
	if _, again, _ := p.run("init --no-model"); !strings.Contains(again, "Domains, unchanged: api, billing.") {
		t.Errorf("again: %q", again)
	}
	// A command below finds the workspace above; --root names one anywhere.
	p.write("api/.stella-not", "")
	sub := *p
	sub.root = filepath.Join(p.root, "api")
	p.write(".stella/memories/port.md", "The proxy listens on port 8080.")
	if _, out, _ := sub.run("memory list"); !strings.Contains(out, "8080") {
		t.Errorf("from below: %q", out)
	}
	elsewhere := newTerminal(t)
	if _, out, _ := elsewhere.run("memory list --root " + p.root); !strings.Contains(out, "8080") {
		t.Errorf("by --root: %q", out)
	}
}
