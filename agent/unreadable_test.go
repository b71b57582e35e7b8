package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/internal/record"
)

// worked is a life in which a session has read and changed a.txt, and is over.
func worked(t *testing.T, root, home string) (id string) {
	t.Helper()
	one := newLife(t, root, home)
	one.write("a.txt", "one\n")
	one.start(t)
	one.brain.play(readCall("a.txt"), editOn(func() string { return lastBase(one.brain.request(-1), "a.txt") }, "one", "two"), say("done"))
	if o := one.prompt("change it"); o.Stop != StopEndTurn {
		t.Fatalf("outcome %+v", o)
	}
	one.end()
	return one.id
}

// damage makes what match names of the record unreadable.
func damage(t *testing.T, home, match string, content []byte) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(home, "work", "*.git", match))
	if err != nil || len(list) == 0 {
		t.Fatalf("%v %v", list, err)
	}
	for _, path := range list {
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if content == nil { // a pack: every object's body
			for i := 40; i < len(raw)-20; i++ {
				raw[i] ^= 0x11
			}
			content = raw
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A session whose record is damaged says so aloud and can be used, with every
// file unread; its record stays as it is, and what follows is recorded.
func TestUnreadableRecord(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	id := worked(t, root, home)
	damage(t, home, "refs/stella/sessions/"+id, []byte("0123456789"))

	two := newLife(t, root, home)
	if list := two.m.List(); len(list) != 1 || !strings.HasPrefix(list[0].Title, "cannot be read: ") {
		t.Errorf("list %+v", list)
	}
	two.id = id
	if _, err := two.m.Resume(context.Background(), id, false); err != nil {
		t.Fatal(err)
	}
	if len(two.told) != 1 || !strings.Contains(two.told[0], "cannot be read") || !strings.Contains(two.told[0], "Nothing of your files is lost") {
		t.Errorf("told %q", two.told)
	}
	// What stands in the file is even what the session wrote last; it cannot know.
	two.brain.play(
		do(call("edit_file", map[string]any{"path": "a.txt", "base": base2(two.bench), "edits": []map[string]any{{"old": "two", "new": "three"}}})),
		do(call("write_file", map[string]any{"path": "new.txt", "content": "new\n"})),
		readCall("a.txt"), editOn(func() string { return lastBase(two.brain.request(-1), "a.txt") }, "two", "three"), say("ok"))
	if o := two.prompt("and again"); o.Stop != StopEndTurn {
		t.Fatalf("outcome %+v", o)
	}
	var statuses []string
	for _, r := range two.results() {
		statuses = append(statuses, r.Status)
	}
	if got := strings.Join(statuses, " "); got != "guard_unavailable applied ok applied" || two.disk("a.txt") != "three\n" {
		t.Errorf("statuses %s, the file holds %q", got, two.disk("a.txt"))
	}
	if !strings.Contains(two.client.notices(), "cannot be read") {
		t.Errorf("notices %q", two.client.notices())
	}
	valid(t, two.brain.request(0).Messages)
	two.end()
	if b, _ := os.ReadFile(only(t, home, "refs/stella/sessions/"+id)); string(b) != "0123456789" {
		t.Error("the damaged record was changed")
	}

	three := newLife(t, root, home)
	defer three.end()
	three.id = id + ".2"
	if interrupted, err := three.m.Resume(context.Background(), three.id, false); interrupted || err != nil {
		t.Fatal(err)
	}
	undone, err := three.m.Undo(context.Background(), three.id, "", "")
	if err != nil || len(undone) != 2 || three.disk("a.txt") != "two\n" {
		t.Errorf("%+v %v", undone, err)
	}
}

// base2 is the digest of what a.txt holds now.
func base2(b *bench) string {
	name, err := b.ws.Resolve("", filepath.Join(b.root, "a.txt"))
	if err != nil {
		b.t.Fatal(err)
	}
	f, err := b.ws.View(context.Background(), name)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(f.Base())
}

func only(t *testing.T, home, match string) string {
	t.Helper()
	list, _ := filepath.Glob(filepath.Join(home, "work", "*.git", match))
	if len(list) != 1 {
		t.Fatalf("%v", list)
	}
	return list[0]
}

// The transcript of a damaged record is saved as far as it can be read, for
// people; the model does not get it.
func TestSalvagedTranscript(t *testing.T) {
	l := &record.Loaded{Header: record.Header{Session: "s", Turn: 3, Step: 4}}
	for _, text := range []string{"first", "second"} {
		raw, err := json.Marshal(piece{Entries: []storedEntry{{Kind: fromHuman, Msg: userText(text), Turn: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		l.Transcript = append(l.Transcript, raw, json.RawMessage(`{"entries": 7}`))
	}
	st := salvaged(l)
	if len(st.log) != 2 || st.turns != 3 || st.steps != 4 {
		t.Fatalf("%+v", st)
	}
	for _, e := range st.log {
		if _, in := e.inContext(); in {
			t.Errorf("the model gets %+v", e.msg)
		}
	}
	l.Transcript = l.Transcript[1:]
	if _, _, err := restore(l); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("half a transcript passes for a whole one: %v", err)
	}
}

// A session of another process is shown as its record has it, and not opened.
func TestLookAtWhatRunsElsewhere(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	one := newLife(t, root, home)
	one.write("a.txt", "one\n")
	one.start(t)
	one.brain.play(say("hello"))
	one.prompt("greet me")
	two := newLife(t, root, home)
	defer two.end()
	if list := two.m.List(); len(list) != 0 {
		t.Errorf("offered: %+v", list)
	}
	if list := two.m.ListAll(); len(list) != 1 || !list[0].Elsewhere || list[0].State != Idle {
		t.Errorf("all: %+v", list)
	}
	for _, get := range []func() (Transcript, error){
		func() (Transcript, error) { return two.m.Get(one.id) },
		func() (Transcript, error) { return two.m.Look(context.Background(), one.id) },
	} {
		if tr, err := get(); err != nil || len(tr.Messages) != 2 || tr.Messages[1].Parts[0].Text != "hello" {
			t.Errorf("%+v %v", tr, err)
		}
	}
	if _, err := two.m.Undo(context.Background(), one.id, "", ""); err == nil || !strings.Contains(err.Error(), "open in another process") {
		t.Errorf("%v", err)
	}
	one.end()
	if _, err := two.m.Look(context.Background(), "s-none"); err == nil || !strings.Contains(err.Error(), "no such session") {
		t.Errorf("%v", err)
	}
}

// Undo of an edit that is older than what a resumed session holds in memory
// reads it from the record.
func TestUndoOfOldEditAfterRestart(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	one := newLife(t, root, home)
	one.write("a.txt", "v0\n")
	one.start(t)
	create := do(call("write_file", map[string]any{"path": "old.txt", "content": "old\n"}))
	one.brain.play(create, say("made"))
	one.prompt("make it")
	for i := range imagesKept {
		if i == 0 {
			one.brain.play(readCall("a.txt"))
		}
		old, next := fmt.Sprint("v", i), fmt.Sprint("v", i+1)
		one.brain.play(editOn(func() string { return lastBase(one.brain.request(-1), "a.txt") }, old, next))
	}
	one.brain.play(say("done"))
	if o := one.prompt("flip it"); o.Stop != StopEndTurn {
		t.Fatalf("%+v", o)
	}
	one.end()

	two := newLife(t, root, home)
	defer two.end()
	if before, after, ok := two.m.Content(one.id + "/e1"); !ok || len(before) != 0 || string(after) != "old\n" {
		t.Errorf("content at once: %q %q %v", before, after, ok)
	}
	files, err := two.m.Changes(context.Background(), one.id, "t1")
	if err != nil || len(files) != 1 || !files[0].Undoable {
		t.Fatalf("%+v %v", files, err)
	}
	undone, err := two.m.Undo(context.Background(), one.id, "t1", "")
	if err != nil || len(undone) != 1 || !undone[0].Result.OK() {
		t.Errorf("%+v %v", undone, err)
	}
	if _, err := os.Stat(filepath.Join(root, "old.txt")); err == nil {
		t.Error("the file is still there")
	}
}

// Sessions of several roots: each in the record of its own.
func TestSessionsOfTwoRoots(t *testing.T) {
	a, b, home := t.TempDir(), t.TempDir(), t.TempDir()
	one := newLife(t, a, home, b)
	roots := one.ws.Roots()
	ids := map[string]string{}
	for _, root := range roots {
		id, err := one.m.Start(context.Background(), StartOptions{Root: root, Title: "in " + filepath.Base(root)})
		if err != nil {
			t.Fatal(err)
		}
		one.brain.play(do(call("write_file", map[string]any{"path": filepath.Join(root, "x.txt"), "content": "x\n"})), say("done"))
		if o, err := one.m.Prompt(context.Background(), Prompt{Session: id, Text: "make it"}); err != nil || o.Stop != StopEndTurn {
			t.Fatalf("%+v %v", o, err)
		}
		ids[root] = id
	}
	one.end()
	for _, root := range roots {
		l := newLife(t, root, home)
		if list := l.m.List(); len(list) != 1 || list[0].ID != ids[root] {
			t.Errorf("%s lists %+v", root, list)
		}
		if undone, err := l.m.Undo(context.Background(), ids[root], "", ""); err != nil || len(undone) != 1 || !undone[0].Result.OK() {
			t.Errorf("%+v %v", undone, err)
		}
		l.end()
	}
}

func TestOrphanResultsGo(t *testing.T) {
	c := func(id string) model.Part { return model.Part{Kind: model.ToolCallPart, CallID: id, Tool: "read_file"} }
	r := func(id string) model.Part { return model.Part{Kind: model.ToolResultPart, CallID: id, Text: "x"} }
	results := func(parts ...model.Part) entry {
		return entry{kind: toolResults, msg: model.Message{Role: model.User, Parts: parts}}
	}
	calls := func(parts ...model.Part) entry {
		return entry{kind: fromModel, msg: model.Message{Role: model.Assistant, Parts: parts}}
	}
	log := repaired([]entry{
		{kind: fromHuman, msg: userText("go")}, results(r("0")), calls(c("1")), results(r("1"), r("1"), r("9")),
		calls(c("2")), {kind: fromHuman, msg: userText("more")}, results(r("2")),
	})
	var messages []model.Message
	for _, e := range log {
		if msg, in := e.inContext(); in {
			messages = append(messages, msg)
		}
	}
	valid(t, messages)
	if len(messages) != 6 || len(messages[2].Parts) != 1 || !messages[4].Parts[0].IsError {
		t.Errorf("%+v", messages)
	}
}
