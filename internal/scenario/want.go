package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/internal/fakeeditor"
)

// What can be wanted. TEXT compared with "is" must be equal; "contains" and
// "lacks" look for a part. Results are those of the last ask.
//
//	want applied [PATH]                the last call changed the file
//	want refused STATUS [PATH]         the last call that was to change something was refused
//	want cause TEXT                    changed_by of that refusal has an item with TEXT
//	want causes TEXT...                exactly these items, in order, each containing TEXT
//	want diff TEXT                     its diff_since_read contains TEXT
//	want statuses TOOL STATUS...       of all its calls, in order
//	want result TOOL[.N] KEY is|contains|lacks TEXT     (KEY "text" is the whole result)
//	want buffer|disk PATH is|contains|lacks TEXT   want buffer|disk PATH TEXT
//	want absent PATH | want exists PATH | want gone-soon PATH (a parked file may hold its directory for a second)
//	want dirty PATH | want clean PATH | want closed PATH
//	want mode PATH OCTAL | want links PATH TO | want xattr PATH NAME=VALUE
//	want stop REASON [TEXT]
//	want text|notice|message is... TEXT (contains)
//	want notices N                     notices of the last ask
//	want status PATH fresh|stale       in stella/guard/status, now or soon
//	want files PATH fresh|stale|none   in stella/guard/files
//	want asked N                       questions that wait now
//	want question TEXT                 the oldest of them shows TEXT to the person
//	want conflict                      the last save met a conflict
//	want undone PATH... | want undo-refused PATH
//	want changes [!]PATH... | none     stella/changes, "!" before what cannot be undone; both sides of each can be read
//	want listed STATE|none             the current session in stella/session/list
//	want seen PATH                     the last read gave exactly the editor's text
//	want calls N                       calls that the model of the last ask made
//	want usage KEY VALUE|none          of the last ask's answer, in tokens
//	want transcript contains|lacks TEXT    what stella/session/get tells of the session
//	want transcript-count calls|results N
//	want model-calls N                 requests of turns to the model server (with "model")
//	want model-saw N|any contains|lacks TEXT    the body of its Nth request, from 1
//	want dead FILE                     no process whose id is a line of FILE lives any more
//	want nowhere TEXT                  neither the state directory, its records unpacked, nor the server's messages hold it
//	want private                       all of the state directory is its owner's alone
//	want sent METHOD N                 the server sent METHOD that often since the last ask
//	want request METHOD contains|lacks TEXT        the last such message of the server
func (w *world) want(a []string) error {
	if len(a) == 0 {
		return errors.New("want what?")
	}
	if w.last != nil && a[0] != "stop" {
		if err := w.lastEnded(); err != nil {
			return err
		}
	}
	check, ok := wants[a[0]]
	if !ok {
		return fmt.Errorf("cannot want %q", a[0])
	}
	if len(a)-1 < check.min {
		return fmt.Errorf("want %s needs %d arguments", a[0], check.min)
	}
	return check.run(w, a[1:])
}

type wantCheck struct {
	min int
	run func(*world, []string) error
}

var wants map[string]wantCheck

func init() {
	wants = map[string]wantCheck{
		"applied":          {0, wantApplied},
		"refused":          {1, wantRefused},
		"cause":            {1, wantCause},
		"causes":           {1, wantCauses},
		"diff":             {1, wantDiff},
		"statuses":         {1, wantStatuses},
		"result":           {4, wantResult},
		"buffer":           {2, wantBuffer},
		"disk":             {2, wantDisk},
		"absent":           {1, wantAbsent},
		"gone-soon":        {1, wantGoneSoon},
		"exists":           {1, wantExists},
		"dirty":            {1, func(w *world, a []string) error { return w.wantState(a[0], true, true) }},
		"clean":            {1, func(w *world, a []string) error { return w.wantState(a[0], true, false) }},
		"closed":           {1, func(w *world, a []string) error { return w.wantState(a[0], false, false) }},
		"mode":             {2, wantMode},
		"links":            {2, wantLinks},
		"xattr":            {2, wantXattr},
		"stop":             {1, wantStop},
		"text":             {1, func(w *world, a []string) error { return w.wantSaid("text", a) }},
		"notice":           {1, func(w *world, a []string) error { return w.wantSaid("notice", a) }},
		"message":          {1, wantMessage},
		"status":           {2, wantStatus},
		"files":            {2, wantFiles},
		"asked":            {1, wantAsked},
		"conflict":         {0, wantConflict},
		"undone":           {1, wantUndone},
		"undo-refused":     {1, wantUndoRefused},
		"sent":             {2, wantSent},
		"seen":             {1, wantSeen},
		"calls":            {1, wantCalls},
		"notices":          {1, wantNotices},
		"usage":            {2, wantUsage},
		"transcript":       {2, wantTranscript},
		"transcript-count": {2, wantTranscriptCount},
		"model-calls":      {1, wantModelCalls},
		"model-saw":        {3, wantModelSaw},
		"dead":             {1, wantDead},
		"nowhere":          {1, wantNowhere},
		"private":          {0, wantPrivate},
		"request":          {3, wantRequest},
		"question":         {1, wantQuestion},
		"listed":           {1, wantListed},
		"changes":          {1, wantChanges},
	}
}

// compare applies an operator.
func compare(what, got, op, want string) error {
	switch op {
	case "is":
		if got != want {
			return fmt.Errorf("%s is\n      %q\n    wanted\n      %q", what, got, want)
		}
	case "contains":
		if !strings.Contains(got, want) {
			return fmt.Errorf("%s lacks %q: %q", what, want, got)
		}
	case "lacks":
		if strings.Contains(got, want) {
			return fmt.Errorf("%s contains %q: %q", what, want, got)
		}
	default:
		return fmt.Errorf("no operator %q", op)
	}
	return nil
}

// operator takes "[OP] TEXT" from the end of a want.
func operator(a []string) (op, text string) {
	if len(a) == 1 {
		return "is", a[0]
	}
	return a[0], a[1]
}

func wantBuffer(w *world, a []string) error {
	text, _, _, open := w.ed.Buffer(w.path(a[0]))
	if !open {
		return fmt.Errorf("%s is not open", a[0])
	}
	op, want := operator(a[1:])
	return compare("the buffer of "+a[0], text, op, want)
}

func wantDisk(w *world, a []string) error {
	raw, err := os.ReadFile(w.path(a[0]))
	if err != nil {
		return err
	}
	op, want := operator(a[1:])
	return compare(a[0]+" on disk", string(raw), op, want)
}

func wantAbsent(w *world, a []string) error {
	if _, err := os.Lstat(w.path(a[0])); err == nil || !os.IsNotExist(err) {
		return fmt.Errorf("%s is there (%v)", a[0], err)
	}
	return nil
}

func wantGoneSoon(w *world, a []string) error {
	ctx, cancel := w.deadline()
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for wantAbsent(w, a) != nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return wantAbsent(w, a)
		}
	}
	return nil
}

func wantExists(w *world, a []string) error {
	_, err := os.Lstat(w.path(a[0]))
	return err
}

func (w *world) wantState(path string, open, dirty bool) error {
	_, _, isDirty, isOpen := w.ed.Buffer(w.path(path))
	if isOpen != open || isDirty != dirty {
		return fmt.Errorf("%s: open %v, unsaved changes %v", path, isOpen, isDirty)
	}
	return nil
}

func wantMode(w *world, a []string) error {
	info, err := os.Stat(w.path(a[0]))
	if err != nil {
		return err
	}
	return compare("the mode of "+a[0], fmt.Sprintf("%04o", info.Mode().Perm()), "is", a[1])
}

func wantLinks(w *world, a []string) error {
	to, err := os.Readlink(w.path(a[0]))
	if err != nil {
		return err
	}
	return compare("the target of "+a[0], to, "is", a[1])
}

func wantXattr(w *world, a []string) error {
	name, value, _ := strings.Cut(a[1], "=")
	got, err := getXattr(w.path(a[0]), name)
	if err != nil {
		return err
	}
	return compare(name+" of "+a[0], got, "is", value)
}

func wantStop(w *world, a []string) error {
	if w.last == nil {
		return errors.New("nothing was asked")
	}
	w.reviewed = true
	if err := compare("stop", w.last.stop, "is", a[0]); err != nil {
		return fmt.Errorf("%w (%s)", err, w.last.problem)
	}
	if len(a) > 1 {
		return compare("the turn's error", w.last.problem, "contains", a[1])
	}
	return nil
}

func (w *world) wantSaid(kind string, a []string) error {
	if w.last == nil {
		return errors.New("nothing was asked")
	}
	said := w.last.notices
	if kind == "text" {
		said = []string{strings.Join(w.last.texts, "")}
	}
	op, want := "contains", a[0]
	if len(a) > 1 {
		op, want = a[0], a[1]
	}
	return compare("the "+kind+"s of the turn", strings.Join(said, "\n"), op, want)
}

func wantMessage(w *world, a []string) error {
	return w.awaitMessage(w.runFrom, func(r fakeeditor.Record) bool {
		return (r.Method == "window/showMessage" || r.Method == "window/showMessageRequest") && strings.Contains(string(r.Params), a[0])
	})
}

// guardFile is a row of stella/guard/status and stella/guard/files.
type guardFile struct {
	URI       string   `json:"uri"`
	SessionID string   `json:"sessionId"`
	State     string   `json:"state"`
	ChangedBy []string `json:"changedBy"`
}

// wantStatus looks at the newest word about a file, and waits for a newer one
// when it says something else.
func wantStatus(w *world, a []string) error {
	uri := w.ed.URI(w.path(a[0]))
	ctx, cancel := w.deadline()
	defer cancel()
	state, at := "", w.runFrom
	for {
		_, next, err := w.ed.Await(ctx, at, func(r fakeeditor.Record) bool {
			return r.Dir == fakeeditor.Received && r.Method == "stella/guard/status"
		})
		if err != nil {
			return fmt.Errorf("the last state of %s is %q: %w", a[0], state, err)
		}
		record := w.ed.Records()[next-1]
		at = next
		var p struct {
			Files []guardFile `json:"files"`
		}
		if err := json.Unmarshal(record.Params, &p); err != nil {
			return err
		}
		for _, f := range p.Files {
			if f.URI == uri {
				state = f.State
			}
		}
		if state == a[1] && !w.newerStatus(at, uri) {
			return nil
		}
	}
}

// newerStatus reports whether the log says more about uri after record at.
func (w *world) newerStatus(at int, uri string) bool {
	for _, r := range w.ed.Records()[at:] {
		if r.Dir == fakeeditor.Received && r.Method == "stella/guard/status" && strings.Contains(string(r.Params), `"`+uri+`"`) {
			return true
		}
	}
	return false
}

func wantFiles(w *world, a []string) error {
	params := map[string]string{}
	if s := w.sessions[w.current]; s != nil {
		params["sessionId"] = s.id
	}
	var r struct {
		Files []guardFile `json:"files"`
	}
	if err := w.call("stella/guard/files", params, &r); err != nil {
		return err
	}
	state, uri := "none", w.ed.URI(w.path(a[0]))
	for _, f := range r.Files {
		if f.URI == uri {
			state = f.State
		}
	}
	return compare("the guard's state of "+a[0], state, "is", a[1])
}

func wantAsked(w *world, a []string) error {
	return compare("the number of open questions", fmt.Sprint(w.ed.Prompts()), "is", a[0])
}

func wantQuestion(w *world, a []string) error {
	if got := w.ed.Question(); !strings.Contains(got, a[0]) {
		return fmt.Errorf("the question %q does not show %q", got, a[0])
	}
	return nil
}

func wantConflict(w *world, _ []string) error {
	if !errors.Is(w.saveErr, fakeeditor.ErrConflict) {
		return fmt.Errorf("the last save ended with %v", w.saveErr)
	}
	return nil
}

func wantUndone(w *world, a []string) error {
	var r struct {
		Undone []string `json:"undone"`
	}
	if err := json.Unmarshal(w.undone, &r); err != nil {
		return fmt.Errorf("%w: %s", err, w.undone)
	}
	var want []string
	for _, p := range a {
		want = append(want, w.ed.URI(w.path(p)))
	}
	return compare("undone", strings.Join(r.Undone, " "), "is", strings.Join(want, " "))
}

func wantUndoRefused(w *world, a []string) error {
	var r struct {
		Undone  []string         `json:"undone"`
		Refused []map[string]any `json:"refused"`
	}
	if err := json.Unmarshal(w.undone, &r); err != nil {
		return fmt.Errorf("%w: %s", err, w.undone)
	}
	for _, f := range r.Refused {
		if f["path"] == a[0] {
			return nil
		}
	}
	return fmt.Errorf("%s is not among the refused: %s", a[0], w.undone)
}
