package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/internal/fakeeditor"
)

// command is one verb of the script.
type command struct {
	usage string
	min   int // arguments
	early bool
	run   func(w *world, args []string) error
}

// early commands can stand before the server runs; all others start it.
var commands = map[string]command{
	"editors":  {"editors NAME...  (which clients the scenario runs with)", 1, true, func(*world, []string) error { return nil }},
	"quirk":    {"quirk NAME...", 1, true, quirk},
	"encoding": {"encoding NAME...  (position encodings the client offers)", 1, true, func(w *world, a []string) error { w.options.Encodings = a; return nil }},
	"roots":    {"roots DIR...", 1, true, roots},
	"args":     {"args ARG...  (further arguments of the server)", 1, true, func(w *world, a []string) error { w.args = append(w.args, a...); return nil }},
	"trusted":  {"trusted yes|no|unset", 1, true, trusted},
	"extern":   {"extern write|append|replace|delete|rename|touch|chmod|link|symlink|mkdir|xattr ...", 2, true, extern},
	"exec":     {"exec COMMAND ARG...", 1, true, run},
	"env":      {"env NAME=VALUE...  (of the server)", 1, true, func(w *world, a []string) error { w.env = append(w.env, a...); return nil }},
	"foreign":  {"foreign  (skips the scenario where scripts/foreign.sh has not put programs of other makers)", 0, true, foreign},
	"model":    {"model anthropic|openai [PATH]  (that wire format, from a server at PATH of its address)", 1, true, chooseWire},

	"open":     {"open PATH", 1, false, func(w *world, a []string) error { return w.ed.Open(w.path(a[0])) }},
	"openuri":  {"openuri PATH URI  (%R is the root)", 2, false, func(w *world, a []string) error { return w.ed.OpenAs(w.path(a[0]), w.uri(a[1])) }},
	"close":    {"close PATH", 1, false, func(w *world, a []string) error { return w.ed.Close(w.path(a[0])) }},
	"discard":  {"discard PATH", 1, false, func(w *world, a []string) error { return w.ed.Discard(w.path(a[0])) }},
	"reload":   {"reload PATH", 1, false, func(w *world, a []string) error { return w.ed.Reload(w.path(a[0])) }},
	"save":     {"save PATH  (conflicts: want conflict)", 1, false, save},
	"savehard": {"savehard PATH  (overwriting what others wrote)", 1, false, func(w *world, a []string) error { return w.ed.SaveAnyway(w.path(a[0])) }},
	"undo":     {"undo PATH", 1, false, func(w *world, a []string) error { return w.ed.Undo(w.path(a[0])) }},
	"redo":     {"redo PATH", 1, false, func(w *world, a []string) error { return w.ed.Redo(w.path(a[0])) }},
	"type":     {"type PATH LINE:COL TEXT", 3, false, typeText},
	"append":   {"append PATH TEXT  (typed at the end)", 2, false, func(w *world, a []string) error { return w.ed.Append(w.path(a[0]), a[1]) }},
	"replace":  {"replace PATH OLD NEW  (typed)", 3, false, func(w *world, a []string) error { return w.ed.Replace(w.path(a[0]), a[1], a[2]) }},
	"replaceall": {"replaceall PATH OLD NEW  (one change with several ranges)", 3, false, func(w *world, a []string) error {
		return w.ed.ReplaceEach(w.path(a[0]), a[1], a[2])
	}},
	"flood":  {"flood PATH N SEED  (N random changes as fast as the pipe takes them)", 3, false, flood},
	"rename": {"rename PATH TO  (in the editor)", 2, false, func(w *world, a []string) error { return w.ed.Rename(w.path(a[0]), w.path(a[1])) }},
	"told":   {"told  (what the editor holds back of didChange is sent now)", 0, false, func(w *world, _ []string) error { w.ed.Flush(); return nil }},
	"needs":  {"needs METHOD  (skips the scenario while the server does not offer it)", 1, false, needs},
	"freeze": {"freeze  (the editor holds edit requests)", 0, false, func(w *world, _ []string) error { w.ed.Freeze(); return nil }},
	"thaw":   {"thaw", 0, false, func(w *world, _ []string) error { w.ed.Thaw(); return nil }},
	"raw":    {"raw BYTES  (to the server, as they are)", 1, false, func(w *world, a []string) error { w.ed.SendRaw([]byte(a[0])); return nil }},
	"notify": {"notify METHOD JSON", 2, false, func(w *world, a []string) error {
		w.ed.Notify(a[0], json.RawMessage(w.uri(a[1])))
		return nil
	}},

	"session":      {"session NAME [ROOT]  (a new one starts in ROOT)", 1, false, chooseSession},
	"join":         {"join", 0, false, func(w *world, _ []string) error { return w.joinRunning() }},
	"held":         {"held NAME", 1, false, func(w *world, a []string) error { return w.held(a[0]) }},
	"release":      {"release NAME", 1, false, release},
	"await-file":   {"await-file PATH  (waits until it exists)", 1, false, awaitFile},
	"action":       {"action PATH LINE:COL TITLE  (runs the code action with that title)", 3, false, action},
	"second":       {"second steer|no-steer STOP  (another prompt to the running session)", 2, false, second},
	"await":        {"await METHOD  (of the server, since the last ask began)", 1, false, await},
	"await-notice": {"await-notice TEXT  (of the running ask)", 1, false, awaitNotice},
	"asked":        {"asked  (waits for a question to the person)", 0, false, asked},
	"approve":      {"approve", 0, false, func(w *world, _ []string) error { return w.answer("once", "") }},
	"always":       {"always", 0, false, func(w *world, _ []string) error { return w.answer("always", "") }},
	"deny":         {"deny", 0, false, func(w *world, _ []string) error { return w.answer("deny", "") }},
	"dismiss":      {"dismiss", 0, false, func(w *world, _ []string) error { return w.answer("", "") }},
	"answer":       {"answer TEXT", 1, false, func(w *world, a []string) error { return w.answer("", a[0]) }},
	"auto":         {"auto once|always|deny  (answers every later question)", 1, false, func(w *world, a []string) error { w.ed.AutoAnswer(a[0]); return nil }},
	"cancel":       {"cancel  (by stella/session/cancel)", 0, false, cancel},
	"drop":         {"drop  (cancels by $/cancelRequest)", 0, false, func(w *world, _ []string) error { w.ed.Cancel(w.running.id); return nil }},
	"resume":       {"resume  (the current session of the server before)", 0, false, func(w *world, _ []string) error { return w.resume(false) }},
	"undoedit": {"undoedit EDIT  (stella/undo of one)", 1, false, func(w *world, a []string) error {
		return w.call("stella/undo", map[string]string{"sessionId": w.sessions[w.current].id, "edit": a[0]}, &w.undone)
	}},
	"undoturn": {"undoturn  (stella/undo of the last turn)", 0, false, func(w *world, _ []string) error {
		return w.call("stella/undo", map[string]string{"sessionId": w.sessions[w.current].id}, &w.undone)
	}},
	"restart": {"restart [SCRIPT]  (ends the server properly and starts a new one)", 0, false, restart},
	"kill":    {"kill  (as a crash; start follows)", 0, false, kill},
	"start":   {"start [SCRIPT]", 0, true, func(w *world, a []string) error { return w.start(append(a, "script.yaml")[0]) }},
}

func (w *world) step(l line) error {
	verb, args := l.words[0].text, l.words[1:]
	if verb != "want" {
		if err := w.lastEnded(); err != nil {
			return err
		}
	}
	switch verb {
	case "ask", "ask&":
		return w.ask(verb == "ask&", args)
	case "continue": // resume, and go on with the interrupted turn: the model's steps follow
		return w.goOn()
	case "peer":
		return w.peer(args)
	case "want":
		return w.want(expandAll(w, texts(args)))
	}
	c, ok := commands[verb]
	if !ok {
		return fmt.Errorf("no command %q", verb)
	}
	if len(args) < c.min {
		return errors.New("usage: " + c.usage)
	}
	if !c.early {
		if err := w.server(); err != nil {
			return err
		}
	}
	return c.run(w, expandAll(w, texts(args)))
}

func expandAll(w *world, args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = w.expand(a)
	}
	return out
}

func (w *world) ask(background bool, args []word) error {
	prompt := "Please go on."
	if w.a.File("script.yaml") != "" && len(args) == 1 {
		prompt = args[0].text
	} else if len(args) > 1 && args[0].text == "prompt" {
		prompt = args[1].text
	}
	a, err := w.begin(prompt)
	if err != nil {
		return err
	}
	if background {
		w.running = a
		return nil
	}
	return w.join(a)
}

func (w *world) joinRunning() error {
	a := w.running
	if a == nil {
		return errors.New("no ask& is running")
	}
	w.running = nil
	return w.join(a)
}

// path is a workspace path as the scenario names it.
func (w *world) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(w.root, filepath.FromSlash(p))
}

func (w *world) uri(s string) string { return strings.ReplaceAll(s, "%R", w.root) }

func chooseSession(w *world, a []string) error {
	w.current = a[0]
	if len(a) > 1 {
		w.rootOf[a[0]] = w.path(a[1])
	}
	return nil
}

// ErrSkip ends a scenario that needs what the server does not offer.
var ErrSkip = errors.New("there is not")

func needs(w *world, a []string) error {
	var r struct {
		Capabilities struct {
			Experimental struct {
				Stella struct {
					Methods []string `json:"methods"`
				} `json:"stella"`
			} `json:"experimental"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(w.ed.ServerInfo(), &r); err != nil {
		return err
	}
	if !contains(r.Capabilities.Experimental.Stella.Methods, a[0]) {
		return fmt.Errorf("%w %s", ErrSkip, a[0])
	}
	return nil
}

func foreign(w *world, _ []string) error {
	if w.c.Vars["FOREIGN"] == "" {
		return fmt.Errorf("%w the programs that scripts/foreign.sh installs", ErrSkip)
	}
	return nil
}

func quirk(w *world, names []string) error {
	q := &w.options.Quirks
	for _, n := range names {
		switch n {
		case "says-yes":
			q.SaysYes = true
		case "no-version-check":
			q.NoVersionCheck = true
		case "no-versions":
			q.NoVersions = true
		case "no-applyedit":
			q.NoApplyEdit = true
		case "late-change":
			q.LateChange = 150 * time.Millisecond
		case "lies":
			q.Lies = true
		case "never-answers":
			q.NeverAnswers = true
		case "drops-answer":
			q.DropsAnswer = true
		case "full-sync":
			q.FullSync = true
		case "autosave":
			w.options.AutoSave = true
		case "no-fixeol":
			w.options.FixEndOfLine = false
		case "format-on-save":
			w.options.FormatOnSave = formatOnSave
		default:
			return fmt.Errorf("no quirk %q", n)
		}
	}
	if w.ed != nil {
		w.ed.SetOptions(w.options)
	}
	return nil
}

// formatOnSave is a formatter whose work is easy to see: it gives every "="
// one space on each side, and ends a text that is not empty with a newline.
func formatOnSave(_, text string) string {
	eol := "\n"
	if strings.Contains(text, "\r\n") {
		eol = "\r\n"
	}
	lines := strings.Split(text, eol)
	for i, l := range lines {
		if name, value, ok := strings.Cut(l, "="); ok && !strings.Contains(l, "\"") {
			lines[i] = strings.TrimRight(name, " ") + " = " + strings.TrimLeft(value, " ")
		}
	}
	text = strings.Join(lines, eol)
	if text != "" && !strings.HasSuffix(text, eol) {
		text += eol
	}
	return text
}

func roots(w *world, dirs []string) error {
	w.roots = nil
	for _, d := range dirs {
		w.roots = append(w.roots, w.path(d))
	}
	return nil
}

func trusted(w *world, a []string) error {
	yes := a[0] == "yes"
	w.options.Trusted = &yes
	if a[0] == "unset" {
		w.options.Trusted = nil
	}
	return nil
}

func typeText(w *world, a []string) error {
	var line, col int
	if _, err := fmt.Sscanf(a[1], "%d:%d", &line, &col); err != nil {
		return fmt.Errorf("LINE:COL: %q", a[1])
	}
	return w.ed.Insert(w.path(a[0]), line, col, a[2])
}

// save keeps a conflict for "want conflict"; any other error is the scenario's.
func save(w *world, a []string) error {
	w.saveErr = w.ed.Save(w.path(a[0]))
	if errors.Is(w.saveErr, fakeeditor.ErrConflict) {
		return nil
	}
	return w.saveErr
}

func await(w *world, a []string) error {
	from := w.runFrom
	if w.running != nil {
		from = w.running.from
	}
	return w.awaitMessage(from, func(r fakeeditor.Record) bool { return r.Method == a[0] })
}

func (w *world) awaitMessage(from int, ok func(fakeeditor.Record) bool) error {
	ctx, cancel := w.deadline()
	defer cancel()
	_, _, err := w.ed.Await(ctx, from, func(r fakeeditor.Record) bool {
		return r.Dir == fakeeditor.Received && ok(r)
	})
	return err
}

// asked waits until a question waits for the person.
func asked(w *world, _ []string) error {
	from := w.runFrom
	if w.running != nil {
		from = w.running.from
	}
	ctx, cancel := w.deadline()
	defer cancel()
	for w.ed.Prompts() == 0 {
		r, next, err := w.ed.Await(ctx, from, func(r fakeeditor.Record) bool {
			return r.Method == fakeeditor.Asked ||
				r.Dir == fakeeditor.Received && w.running != nil && r.Method == "" && r.ID == string(w.running.id)
		})
		if err != nil {
			return err
		}
		if r.Method != fakeeditor.Asked {
			return errors.New("the turn ended and nothing was asked")
		}
		from = next
	}
	return nil
}

func (w *world) answer(choice, text string) error {
	if err := asked(w, nil); err != nil {
		return err
	}
	return w.ed.Answer(choice, text)
}

func cancel(w *world, _ []string) error {
	return w.call("stella/session/cancel", map[string]string{"sessionId": w.sessions[w.current].id}, nil)
}

func restart(w *world, a []string) error {
	if err := w.stop(); err != nil {
		return err
	}
	w.leave()
	return w.start(append(a, "script.yaml")[0])
}

func kill(w *world, _ []string) error {
	w.leave()
	return w.proc.Kill()
}
