package guard

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
)

// undo takes the edits back and demands a status for each file.
func (e *env) undo(want Status, ids ...string) []Undone {
	e.t.Helper()
	out := e.s.Undo(context.Background(), ids)
	if len(out) == 0 {
		e.t.Fatal("nothing was undone")
	}
	for _, u := range out {
		if u.Result.Status != want {
			e.t.Fatalf("undo of %v: %s (%s), want %s", u.Edits, u.Result.Status, u.Result.Message, want)
		}
		if !u.Result.OK() && u.Result.Next == "" {
			e.t.Fatalf("a refusal without a next step: %+v", u.Result)
		}
	}
	return out
}

func TestUndoClosed(t *testing.T) {
	both(t, func(t *testing.T, e *env) {
		e.disk("a", bom8+"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7")
		r := e.ok(e.apply(edit("a", e.read("a"), "2", "zwei")))
		r = e.ok(e.apply(edit("a", r.Base, "6", "sechs\nund mehr")))
		// The person changes another place; the first edit goes, the rest stays.
		e.disk("a", bom8+"1\r\nzwei\r\n3\r\nvier\r\n5\r\nsechs\r\nund mehr\r\n7")
		if c := e.s.Changes(context.Background(), 0); len(c) != 1 || !c[0].Undoable || len(c[0].Edits) != 2 || !strings.Contains(c[0].Diff, "+zwei") {
			t.Errorf("%+v", c)
		}
		e.undo(StatusApplied, "e1")
		e.wantDisk("a", bom8+"1\r\n2\r\n3\r\nvier\r\n5\r\nsechs\r\nund mehr\r\n7")
		e.stale(e.apply(edit("a", r.Base, "1", "eins")))
		e.undo(StatusApplied, "e2")
		e.wantDisk("a", bom8+"1\r\n2\r\n3\r\nvier\r\n5\r\n6\r\n7")
		if len(e.s.Edits()) != 0 || len(e.s.Changes(context.Background(), 0)) != 0 {
			t.Error("edits are listed that were taken back")
		}
	})
}

func TestUndoTouchedByThePerson(t *testing.T) {
	both(t, func(t *testing.T, e *env) {
		e.disk("a", "1\n2\n3\n")
		e.ok(e.apply(edit("a", e.read("a"), "2", "zwei")))
		for _, now := range []string{"1\nzwei!\n3\n", "1\nzwei\ndazu\n3\n", "eins\nzwei\n3\n", "1\n2\n3\n", ""} {
			e.disk("a", now)
			u := e.undo(StatusStale, "e1")
			if now != "" && !strings.Contains(u[0].Result.Diff, "@@") {
				t.Errorf("no difference shown: %+v", u[0].Result)
			}
			e.wantDisk("a", now)
			if c := e.s.Changes(context.Background(), 0); len(c) != 1 || c[0].Undoable {
				t.Errorf("%+v", c)
			}
		}
		e.remove("a")
		e.undo(StatusNotFound, "e1")
		e.wantGone("a")
	})
}

// A12: unsaved lines of the person stay, and the buffer is one undo step further.
func TestUndoOpen(t *testing.T) {
	e := newEnv(t)
	e.disk("a", numbered(9))
	e.ed.load("a")
	r := e.ok(e.apply(edit("a", e.read("a"), "line 8", "acht")))
	with := strings.Replace(numbered(9), "line 8", "acht", 1)
	e.ed.typed("a", "mine\n"+with)
	e.undo(StatusApplied, "e1")
	e.ed.wantText("a", "mine\n"+numbered(9))
	e.wantDisk("a", with) // the person's unsaved buffer stays unsaved
	e.stale(e.apply(edit("a", r.Base, "line 1\n", "1\n")), "you, typing in the editor (unsaved)", "you, undoing edit #1")
	if w := e.ed.writes[len(e.ed.writes)-1]; !strings.Contains(w.Label, "undo edit #1") {
		t.Errorf("label %q", w.Label)
	}
	// Clean: undone and saved.
	e.ed.save("a")
	e.ok(e.apply(edit("a", e.read("a"), "line 2", "zwei")))
	e.undo(StatusApplied, "e2")
	e.wantDisk("a", "mine\n"+numbered(9))
	// An edit of a discarded buffer cannot be undone, and stays listed.
	e.ed.noSave = "test"
	e.ok(e.apply(edit("a", e.read("a"), "line 3", "drei")))
	e.ed.close("a")
	if c := e.s.Changes(context.Background(), 0); len(c) != 1 || c[0].Undoable {
		t.Errorf("%+v", c)
	}
	e.undo(StatusStale, "e3")
	e.wantDisk("a", "mine\n"+numbered(9))
}

// H03, H05: creates, deletes and moves.
func TestUndoOfWholeFiles(t *testing.T) {
	both(t, func(t *testing.T, e *env) {
		r := e.ok(e.apply(write("new/dir/a", "", "one\n")))
		r = e.ok(e.apply(edit("new/dir/a", r.Base, "one", "two")))
		u := e.undo(StatusApplied, "e1", "e2")
		e.wantGone("new/dir/a")
		if len(u) != 1 && len(u) != 2 {
			t.Errorf("%+v", u)
		}
		// Create, delete, create with new text; undone one by one.
		r = e.ok(e.apply(write("b", "", "one\n")))
		_ = r
		e.disk("c", "see\n")
		base := e.read("c")
		e.ok(e.apply(Change{Kind: ChangeDelete, Path: "c", Base: base}))
		e.ok(e.apply(write("c", "", "new\n")))
		e.undo(StatusApplied, "e5")
		e.wantGone("c")
		e.undo(StatusApplied, "e4")
		e.wantDisk("c", "see\n")
		// A file that the person went on with is not removed.
		e.disk("b", "one\nmine\n")
		e.undo(StatusStale, "e3")
		e.wantDisk("b", "one\nmine\n")
		// Move, and edit behind it.
		e.read("c")
		r = e.ok(e.apply(Change{Kind: ChangeMove, Path: "c", Base: e.read("c"), To: "d/e"}))
		e.ok(e.apply(edit("d/e", r.Base, "see", "sea")))
		e.undo(StatusApplied, "e6", "e7")
		e.wantDisk("c", "see\n")
		e.wantGone("d/e")
		// Deleted, and somebody put something there.
		e.ok(e.apply(Change{Kind: ChangeDelete, Path: "c", Base: e.read("c")}))
		e.disk("c", "theirs\n")
		e.undo(StatusStale, "e8")
		e.wantDisk("c", "theirs\n")
		// Directories that the calls made are gone once nothing is parked in them.
		e.g.Close(context.Background())
		e.wantGone("new")
		e.wantGone("d")
	})
}

// A turn over several files: what cannot be undone does not hold up the rest,
// and earlier edits of that file are left too.
func TestUndoTurn(t *testing.T) {
	e := newEnv(t)
	e.disk("a", numbered(5))
	e.disk("b", numbered(5))
	e.ok(e.apply(edit("a", e.read("a"), "line 1", "eins")))
	e.disk("a", strings.Replace(numbered(5), "line 1", "eins", 1)+"more\n")
	e.ok(e.apply(edit("a", e.read("a"), "line 4", "vier")))
	e.ok(e.apply(edit("b", e.read("b"), "line 2", "zwei")))
	now := strings.NewReplacer("line 1", "eins", "line 4", "VIER").Replace(numbered(5)) + "more\n"
	e.disk("a", now)
	status := map[string]Status{}
	for _, u := range e.s.Undo(context.Background(), []string{"e1", "e2", "e3"}) {
		status[u.Edits[0]] = u.Result.Status
	}
	if status["e2"] != StatusStale || status["e1"] != StatusDenied || status["e3"] != StatusApplied {
		t.Errorf("%v", status)
	}
	e.wantDisk("a", now)
	e.wantDisk("b", numbered(5))
}

func TestUndoNeedsImages(t *testing.T) {
	e := newEnv(t)
	e.disk("a", "one\n")
	e.ok(e.apply(edit("a", e.read("a"), "one", "two")))
	list := e.s.Edits()
	full := list[0]
	list[0].Before, list[0].After = nil, nil
	e.s.RestoreEdits(list)
	e.undo(StatusUnreadable, "e1")
	e.g.o.Recorder = imageRecorder{&fakeRecorder{disk: func() string { return "" }}, full}
	e.undo(StatusApplied, "e1")
	e.wantDisk("a", "one\n")
	e.g.o.Recorder = nil
	r := e.ok(e.apply(edit("a", e.read("a"), "one", "two")))
	if r.EditID != "e2" {
		t.Errorf("numbers begin again: %s", r.EditID)
	}
}

type imageRecorder struct {
	*fakeRecorder
	full EditRecord
}

func (r imageRecorder) Images(context.Context, string, string) (EditRecord, error) {
	return r.full, nil
}

// Typing while an undo is on its way to the editor.
func TestUndoRaced(t *testing.T) {
	e := newEnv(t)
	e.disk("a", numbered(9))
	e.ed.load("a")
	e.ok(e.apply(edit("a", e.read("a"), "line 8", "acht")))
	with := strings.Replace(numbered(9), "line 8", "acht", 1)
	e.ed.before = func() { e.ed.typed("a", "mine\n"+with) }
	e.undo(StatusApplied, "e1") // planned anew on the new text
	e.ed.wantText("a", "mine\n"+numbered(9))
}

// invert agrees with applying only what came since to the text before.
func TestInvertAgainstOracle(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	undone := 0
	for range 5000 {
		n := 3 + rnd.IntN(12)
		line := make([]string, n)
		for i := range line {
			line[i] = strings.Repeat(string(rune('a'+i)), 2) + "\n"
		}
		edited, person := rnd.IntN(n), rnd.IntN(n)
		change := func(l []string, at int, to string) string {
			c := append([]string{}, l...)
			switch rnd.IntN(3) {
			case 0:
				c[at] = ""
			case 1:
				c[at] = to
			default:
				c[at] += to
			}
			return strings.Join(c, "")
		}
		before := strings.Join(line, "")
		after := change(line, edited, "model\n")
		// The person changes one line of the text after.
		al := lines(after)
		if person >= len(al) {
			continue
		}
		present := change(al, person, "person\n")
		got, ok := invert(before, after, present)
		if !ok {
			continue
		}
		undone++
		if strings.Contains(got, "model") || strings.Contains(present, "person") != strings.Contains(got, "person") {
			t.Fatalf("before %q after %q present %q: %q", before, after, present, got)
		}
		if back, ok := invert(present, after, got); present != after && ok && back == "" && got != "" {
			t.Fatalf("lost everything: %q", got)
		}
	}
	if undone < 500 {
		t.Errorf("only %d were undone", undone)
	}
}
