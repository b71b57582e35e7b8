package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/internal/fakeeditor"
)

// Config says where a scenario runs.
type Config struct {
	Bin    string // the built server
	Dir    string // an empty directory of its own
	Editor string // one of Editors
	// Vars are what %NAME% stands for in the archive's files and commands: programs and
	// addresses that only the caller knows. %ROOT% and %STATE% are always there, and %KEY%
	// is what the model server takes.
	Vars map[string]string
	// Patience bounds every wait for the server; 0 is a minute, far above what
	// anything takes, since the race detector and a busy machine slow all down.
	Patience time.Duration
}

// Editors are the clients a scenario can ask for; the first is the default.
var Editors = []string{"vscode", "nvim", "plain-vscode", "plain-nvim", "plain-noapply"}

// Run plays a scenario; the error tells the line, what was wrong, and the
// whole transcript.
func Run(ctx context.Context, c Config, a *Archive) error {
	lines, err := parseScript(a.File("script"))
	if err != nil {
		return err
	}
	w, err := newWorld(ctx, c, a, lines)
	if err != nil {
		return err
	}
	defer w.close()
	for w.at = 0; w.at < len(w.lines); w.at++ {
		l := w.lines[w.at]
		if !l.holds(c.Editor) {
			continue
		}
		w.remark(l.text)
		if err := w.step(l); errors.Is(err, ErrSkip) {
			return err
		} else if err != nil {
			return w.report(fmt.Errorf("line %d: %s\n    %w", l.number, l.text, err))
		}
	}
	if err := w.finish(); err != nil {
		return w.report(fmt.Errorf("at the end: %w", err))
	}
	return nil
}

// EditorsOf are the editors that a scenario wants to run with.
func EditorsOf(a *Archive) ([]string, error) {
	lines, err := parseScript(a.File("script"))
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		if l.words[0].text == "editors" {
			return texts(l.words[1:]), nil
		}
	}
	return Editors[:1], nil
}

// world is everything around one run.
type world struct {
	ctx   context.Context
	c     Config
	a     *Archive
	lines []line
	at    int

	root, state, home string
	roots             []string
	options           fakeeditor.Options
	env               []string
	args              []string

	ed       *fakeeditor.Editor
	proc     *fakeeditor.Process
	runFrom  int // where the log of the present server process begins
	sessions map[string]*session
	rootOf   map[string]string   // where sessions start, by name
	former   map[string]*session // those of the servers before
	current  string
	running  *ask
	last     *ask
	reviewed bool // a want looked at how the last ask stopped
	undone   json.RawMessage
	saveErr  error
	printed  string // by the last cli, or the answer of the last rpc
	marks    map[string]string
	wire     wire // not the script provider, but a real one in front of a fake server
}

// session is an agent session of the server.
type session struct {
	id      string
	ordinal int
}

func newWorld(ctx context.Context, c Config, a *Archive, lines []line) (*world, error) {
	dir, err := filepath.EvalSymlinks(c.Dir)
	if err != nil {
		return nil, err
	}
	w := &world{
		ctx: ctx, c: c, a: a, lines: lines,
		root: filepath.Join(dir, "w"), state: filepath.Join(dir, "state"), home: filepath.Join(dir, "home"),
		sessions: map[string]*session{}, rootOf: map[string]string{}, former: map[string]*session{}, current: "main",
	}
	for _, d := range []string{w.root, w.state, w.home, filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(d, 0o700); err != nil { // a test may have put a small disk there
			return nil, err
		}
	}
	for _, f := range a.Files {
		if f.Name == "script" || f.Name == "settings.toml" || f.Name == "reflect" || strings.HasSuffix(f.Name, "script.yaml") {
			continue
		}
		path := filepath.Join(w.root, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(w.expand(f.Data)), 0o644); err != nil {
			return nil, err
		}
	}
	w.roots = []string{w.root}
	w.options, err = editorOptions(c.Editor)
	w.args = []string{"serve", "--stdio", "--test-hooks"}
	w.env = []string{
		"HOME=" + w.home, "STELLA_HOME=" + w.state, "TMPDIR=" + filepath.Join(dir, "tmp"),
		"PATH=" + os.Getenv("PATH"), "GORACE=exitcode=66 atexit_sleep_ms=10", "GOTRACEBACK=all",
		"GOGC=300", // heaps are small and lives short here: collecting is mostly waste
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com",
	}
	return w, err
}

func editorOptions(name string) (fakeeditor.Options, error) {
	yes := true
	o := fakeeditor.Options{Kind: fakeeditor.VSCode, Trusted: &yes}
	if strings.HasSuffix(name, "nvim") {
		o.Kind, o.FixEndOfLine = fakeeditor.Neovim, true
	}
	o.Quirks = o.Kind.Habits()
	switch name {
	case "vscode", "nvim":
		o.Extension = true
	case "plain-vscode":
	case "plain-nvim":
		o.Quirks.LateChange = 20 * time.Millisecond
	case "plain-noapply":
		o.Quirks.NoApplyEdit = true
	default:
		return o, fmt.Errorf("no editor %q; known are %v", name, Editors)
	}
	return o, nil
}

// server makes sure that one runs.
func (w *world) server() error {
	if w.ed != nil && w.proc != nil {
		return nil
	}
	return w.start("script.yaml")
}

// configure writes the script of the asks up to the next restart, and the
// settings that name it.
func (w *world) configure(script string) error {
	text := w.a.File(script)
	if text == "" {
		entries, err := w.script()
		if err != nil {
			return err
		}
		play := map[string]any{"turns": entries, "record": w.requests()}
		if lessons := strings.TrimSpace(w.a.File("reflect")); lessons != "" {
			play["reflect"] = strings.Split(lessons, "\n")
		}
		raw, err := json.MarshalIndent(play, "", "  ") // JSON is YAML
		if err != nil {
			return err
		}
		text = string(raw)
	}
	text = strings.ReplaceAll(text, "%W", filepath.Dir(w.root))
	path := filepath.Join(filepath.Dir(w.root), "script.yaml")
	if err := os.WriteFile(path, []byte(w.expand(text)), 0o644); err != nil {
		return err
	}
	chosen, err := w.chooseModel(path)
	if err != nil {
		return err
	}
	// What an earlier server of this scenario kept there ("always") stays.
	user := filepath.Join(w.state, "settings.toml")
	if _, err := os.Stat(user); err == nil && w.wire.provider == "" {
		return nil
	}
	return os.WriteFile(user, []byte(chosen+"\n"+w.expand(w.a.File("settings.toml"))), 0o600)
}

// start starts a server that plays the script.
func (w *world) start(script string) error {
	if err := w.configure(script); err != nil {
		return err
	}
	command := fakeeditor.Command{Path: w.c.Bin, Args: w.args, Env: append(w.env[:len(w.env):len(w.env)], w.wire.env()...), Dir: w.root}
	w.options.Roots = w.roots
	var err error
	if w.ed == nil {
		w.ed, w.proc, err = fakeeditor.Launch(command, w.options)
	} else {
		w.runFrom = len(w.ed.Records())
		w.proc, err = w.ed.Relaunch(command)
	}
	if err != nil {
		return err
	}
	ctx, cancel := w.deadline()
	defer cancel()
	if err := w.ed.Initialize(ctx); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	return nil
}

// script collects what the model does from here to the next restart.
func (w *world) script() ([]entry, error) {
	var asks []line
	var order []string
	name, names := w.current, []string{}
	for i := w.at; i < len(w.lines); i++ {
		l := w.lines[i]
		if !l.holds(w.c.Editor) {
			continue
		}
		verb := l.words[0].text
		if i > w.at && (verb == "restart" || verb == "start") {
			break
		}
		switch verb {
		case "session":
			name = l.words[1].text
		case "continue", "ask", "ask&":
			asks, names = append(asks, l), append(names, name)
			if !contains(order, name) {
				order = append(order, name)
			}
		}
	}
	var out []entry
	for i, l := range asks {
		ordinal := 0
		if len(order) > 1 {
			ordinal = index(order, names[i]) + 1
		}
		entries, err := compile(l.words[1:], ordinal)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", l.number, l.text, err)
		}
		out = append(out, entries...)
	}
	return out, nil
}

func (w *world) deadline() (context.Context, context.CancelFunc) {
	d := w.c.Patience
	if d == 0 {
		d = time.Minute
	}
	return context.WithTimeoutCause(w.ctx, d, fmt.Errorf("the server did not do it within %v", d))
}

func (w *world) remark(s string) {
	if w.ed != nil {
		w.ed.Remark("%s", s)
	}
}

// finish shuts the server down and looks whether it was well until then.
func (w *world) finish() error {
	if w.running != nil {
		return errors.New("an ask& was never joined")
	}
	if err := w.lastEnded(); err != nil {
		return err
	}
	if w.proc == nil {
		return nil
	}
	if err := w.stop(); err != nil {
		return err
	}
	return w.leftovers()
}

// stop ends the server in the proper way.
func (w *world) stop() error {
	ctx, cancel := w.deadline()
	defer cancel()
	if err := w.ed.Shutdown(ctx); err != nil {
		return err
	}
	err := w.proc.Wait(ctx)
	stderr := w.proc.Stderr()
	if strings.Contains(stderr, "DATA RACE") {
		return errors.New("the race detector found something (see stderr)")
	}
	if strings.Contains(stderr, "panic:") || strings.Contains(stderr, "goroutine 1 [") {
		return errors.New("the server panicked (see stderr)")
	}
	if err != nil {
		return fmt.Errorf("the server ended with %w", err)
	}
	return nil
}

// leftovers fails when a temporary of the server is still in the workspace.
func (w *world) leftovers() error {
	return filepath.WalkDir(filepath.Dir(w.root), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(filepath.Dir(w.root), path)
		if d.IsDir() && (d.Name() == ".git" || d.Name() == ".stella" || rel == "state" || rel == "tmp" || rel == "home") {
			return filepath.SkipDir
		}
		if strings.HasPrefix(d.Name(), ".stella-") {
			return fmt.Errorf("a temporary was left behind: %s", rel)
		}
		return nil
	})
}

// expand fills in the %NAME%s of a text.
func (w *world) expand(s string) string {
	for name, value := range w.c.Vars {
		s = strings.ReplaceAll(s, "%"+name+"%", value)
	}
	if w.wire.server != nil {
		s = strings.ReplaceAll(s, "%KEY%", w.wire.server.Key)
	}
	return strings.NewReplacer("%ROOT%", w.root, "%STATE%", w.state).Replace(s)
}

func (w *world) close() {
	w.wire.close()
	if w.proc != nil {
		select {
		case <-w.proc.Exited():
		default:
			_ = w.proc.Kill()
		}
	}
}

// report adds all that is known to an error.
func (w *world) report(err error) error {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s] %v\n", w.c.Editor, err)
	if w.ed != nil {
		fmt.Fprintf(&b, "\n--- transcript (-> to the server, <- from it, ## the script)\n%s", w.ed.Transcript(700))
	}
	if w.proc != nil {
		w.close()
		fmt.Fprintf(&b, "\n--- stderr of the server\n%s", end(w.proc.Stderr(), 6000))
	}
	return errors.New(b.String())
}

func end(s string, n int) string {
	if len(s) > n {
		return "..." + s[len(s)-n:]
	}
	return s
}

func contains(list []string, s string) bool { return index(list, s) >= 0 }

func index(list []string, s string) int {
	for i, x := range list {
		if x == s {
			return i
		}
	}
	return -1
}
