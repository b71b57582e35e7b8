package guard

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Several splices reach the mirror one by one; together they are one own edit.
func TestOwnEditOfSeveralPlacesIsOwn(t *testing.T) {
	for _, full := range []bool{false, true} {
		e := newEnv(t)
		e.ed.full, e.ed.noSave = full, "test"
		e.disk("a.txt", "one\ntwo\nthree\nfour\n")
		e.ed.load("a.txt")
		base := e.read("a.txt")
		r := e.ok(e.apply(edit("a.txt", base, "one", "1", "three", "3", "four", "4")))
		if r.Saved == nil || *r.Saved {
			t.Fatalf("saved: %v", r.Saved)
		}
		b, _ := e.ws.Document(e.name("a.txt").Path)
		if b.Dirty || !b.OwnUnsaved {
			t.Errorf("full=%v: dirty %v, own unsaved %v", full, b.Dirty, b.OwnUnsaved)
		}
		e.stale(e.apply(edit("a.txt", base, "two", "2")), "edit #1 (this session, step 2)")
		e.ed.noSave = ""
		r = e.ok(e.apply(edit("a.txt", r.Base, "two", "2")))
		if !*r.Saved {
			t.Errorf("the second edit was not saved: %s", r.Note)
		}
		e.wantDisk("a.txt", "1\n2\n3\n4\n")
	}
}

// Case 22: a change arrives while the commit waits on the editor.
func TestTypingDuringCommit(t *testing.T) {
	e := newEnv(t)
	e.disk("a.txt", "one\ntwo\n")
	e.ed.load("a.txt")
	base := e.read("a.txt")
	e.ed.before = func() { e.ed.typed("a.txt", "one\ntwo\nmine\n") }
	r := e.stale(e.apply(edit("a.txt", base, "one", "1")), "you, typing in the editor (unsaved)")
	if !strings.Contains(r.Diff, "+mine") {
		t.Errorf("diff %q", r.Diff)
	}
	e.ed.wantText("a.txt", "one\ntwo\nmine\n")
	e.wantDisk("a.txt", "one\ntwo\n")
}

// A change that only reaches us after the editor has refused.
func TestRefusedByEditorBeforeItsChangeArrives(t *testing.T) {
	e := newEnv(t)
	e.disk("a.txt", "one\n")
	e.ed.load("a.txt")
	base := e.read("a.txt")
	b := e.ed.buf("a.txt")
	e.ed.before = func() {
		b.text, b.version = "one\nmine\n", b.version+1
		go e.ws.DidChange(e.uri("a.txt"), b.version, []workspace.ContentChange{{Text: b.text}})
	}
	e.stale(e.apply(edit("a.txt", base, "one", "1")))
	e.ed.wantText("a.txt", "one\nmine\n")
}

// "applied: true" is no proof.
func TestEditorThatLies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		e.disk("a.txt", "one\n")
		e.ed.load("a.txt")
		base := e.read("a.txt")
		e.ed.lie = true
		e.no(e.apply(edit("a.txt", base, "one", "1")), StatusGuardUnavailable)
		e.wantDisk("a.txt", "one\n")
		e.ed.lie = false
		e.stale(e.apply(edit("a.txt", base, "one", "1")), "the editor did not confirm your last change in time")
		e.ok(e.apply(edit("a.txt", e.read("a.txt"), "one", "1")))
		e.wantDisk("a.txt", "1\n")
		e.g.Close(context.Background())
	})
}

func TestEditorThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		e.disk("a.txt", "one\n")
		e.ed.load("a.txt")
		base := e.read("a.txt")
		e.ed.mute = true
		start := time.Now()
		e.no(e.apply(edit("a.txt", base, "one", "1")), StatusGuardUnavailable)
		if d := time.Since(start); d > editorDeadline+catchUpDeadline {
			t.Errorf("it took %s", d)
		}
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		base = e.read("a.txt")
		start = time.Now()
		e.s.Apply(ctx, nil, false, []Change{edit("a.txt", base, "one", "1")})
		if d := time.Since(start); d > 1100*time.Millisecond {
			t.Errorf("cancelled after %s", d)
		}
		e.g.Close(context.Background())
	})
}

// The answer got lost, the edit did not.
func TestEditorAnswerLost(t *testing.T) {
	e := newEnv(t)
	e.disk("a.txt", "one\n")
	e.ed.load("a.txt")
	base := e.read("a.txt")
	e.ed.lost = errors.New("connection reset")
	r := e.ok(e.apply(edit("a.txt", base, "one", "1")))
	if *r.Saved {
		t.Error("said to be saved")
	}
	e.ed.wantText("a.txt", "1\n")
	e.ed.lost = nil
	e.ok(e.apply(edit("a.txt", r.Base, "1", "2")))
}

// Typing right behind the edit: the edit was applied, and what came after it
// was not seen.
func TestTypingRightAfterTheEdit(t *testing.T) {
	e := newEnv(t)
	e.disk("a.txt", "one\n")
	e.ed.load("a.txt")
	base := e.read("a.txt")
	e.ed.noSave = "typing"
	e.ed.afterApply = func() { e.ed.typed("a.txt", "1\nmine\n") }
	r := e.ok(e.apply(edit("a.txt", base, "one", "1")))
	e.ed.afterApply = nil
	e.stale(e.apply(edit("a.txt", r.Base, "1", "2")), "you, typing in the editor (unsaved)")
}

func TestSaveParticipants(t *testing.T) {
	e := newEnv(t)
	e.disk("a.go", "a := 1\nb := 2\n")
	e.ed.load("a.go")
	base := e.read("a.go")
	e.ed.onSave = func(s string) string { return strings.ReplaceAll(s, "b  :=", "b :=") }
	r := e.ok(e.apply(edit("a.go", base, "b := 2", "b  := 3")))
	if !strings.Contains(r.HookDiff, "+b := 3") || !*r.Saved {
		t.Errorf("hook_diff %q, saved %v", r.HookDiff, *r.Saved)
	}
	e.wantDisk("a.go", "a := 1\nb := 3\n")
	e.ok(e.apply(edit("a.go", r.Base, "b := 3", "b := 4")))
	e.wantDisk("a.go", "a := 1\nb := 4\n")
}

// What a save changed beyond what can be shown is not seen.
func TestSaveParticipantsTooMuch(t *testing.T) {
	e := newEnv(t)
	text := strings.Repeat("x\n", 1000)
	e.disk("a.txt", text+"end\n")
	e.ed.load("a.txt")
	base := e.read("a.txt")
	e.ed.onSave = func(s string) string { return strings.ReplaceAll(s, "x", "y") }
	r := e.ok(e.apply(edit("a.txt", base, "end", "END")))
	if !strings.Contains(r.Note, "re-read") {
		t.Errorf("note %q", r.Note)
	}
	e.stale(e.apply(edit("a.txt", r.Base, "END", "end")))
	e.ok(e.apply(edit("a.txt", e.read("a.txt"), "END", "end")))
}

// Case 26: the disk changed under an open clean buffer.
func TestDiskChangedUnderCleanBuffer(t *testing.T) {
	e := newEnv(t)
	e.disk("a.txt", "one\ntwo\n")
	e.ed.load("a.txt")
	base := e.read("a.txt")
	e.disk("a.txt", "one\ntwo\ntheirs\n")
	r := e.stale(e.apply(edit("a.txt", base, "one", "1")), "outside this editor")
	if *r.Actual != workspace.DigestOfString("one\ntwo\ntheirs\n") || !strings.Contains(r.Diff, "+theirs") || !strings.Contains(r.Message, "open in the editor") {
		t.Errorf("%+v", r)
	}
	e.read("a.txt") // the difference was not shown: still not seen
	e.stale(e.apply(edit("a.txt", base, "one", "1")))
	base = e.readBoth("a.txt")
	r = e.ok(e.apply(edit("a.txt", base, "one", "1")))
	if *r.Saved {
		t.Error("the save would have destroyed what is on disk")
	}
	e.wantDisk("a.txt", "one\ntwo\ntheirs\n")
	e.ed.wantText("a.txt", "1\ntwo\n")
}

// Case 27 and 3: unsaved in between, and a save by the person.
func TestUnsavedEditsInARow(t *testing.T) {
	e := newEnv(t)
	e.disk("a.txt", "one\n")
	e.ed.load("a.txt")
	e.ed.typed("a.txt", "one\ntwo\n")
	base := e.read("a.txt")
	r := e.ok(e.apply(edit("a.txt", base, "one", "1")))
	if *r.Saved {
		t.Error("a buffer with the person's unsaved edits was saved")
	}
	r = e.ok(e.apply(edit("a.txt", r.Base, "two", "2")))
	e.ed.save("a.txt")
	r = e.ok(e.apply(edit("a.txt", r.Base, "2", "zwei")))
	if !*r.Saved {
		t.Errorf("not saved: %s", r.Note)
	}
	e.wantDisk("a.txt", "1\nzwei\n")
}

func TestReadFromDirtyThenSavedAllEncodings(t *testing.T) {
	for name, enc := range map[string]func(string) []byte{
		"bom":   func(s string) []byte { return append([]byte(bom8), s...) },
		"utf16": func(s string) []byte { return textForm{bom: "\xFF\xFE", order: binary.LittleEndian}.encode(s) },
		"crlf":  func(s string) []byte { return []byte(s) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.ed.encode = enc
			text := "one\r\ntwo"
			e.disk("a.txt", string(enc(text)))
			e.ed.load("a.txt")
			e.ed.wantText("a.txt", text)
			e.ed.typed("a.txt", text+"!")
			base := e.read("a.txt")
			e.ed.save("a.txt")
			r := e.ok(e.apply(edit("a.txt", base, "one\ntwo", "1\n2")))
			if !*r.Saved {
				t.Errorf("not saved: %s", r.Note)
			}
			e.wantDisk("a.txt", string(enc("1\r\n2!")))
			e.ed.close("a.txt")
			r = e.ok(e.apply(edit("a.txt", r.Base, "1", "one")))
			e.wantDisk("a.txt", string(enc("one\r\n2!")))
			e.ed.load("a.txt")
			e.ok(e.apply(edit("a.txt", r.Base, "2", "two")))
			e.wantDisk("a.txt", string(enc("one\r\ntwo!")))
		})
	}
}

func TestViewedDifferentlyIsNeverSaved(t *testing.T) {
	e := newEnv(t)
	e.disk("a.txt", "one\r\ntwo\n")
	e.ed.open("a.txt", "one\ntwo\n", 1) // the editor unified the line ends
	base := e.read("a.txt")
	r := e.ok(e.apply(edit("a.txt", base, "one", "1")))
	if *r.Saved || !strings.Contains(r.Note, "differently") {
		t.Errorf("saved %v, note %q", *r.Saved, r.Note)
	}
	e.ok(e.apply(edit("a.txt", r.Base, "two", "2")))
	e.wantDisk("a.txt", "one\r\ntwo\n")
	e.ed.wantText("a.txt", "1\n2\n")
}

func TestDiscardIsStale(t *testing.T) {
	e := newEnv(t)
	e.disk("a.txt", "one\n")
	e.ed.load("a.txt")
	e.ed.typed("a.txt", "one\ntwo\n")
	base := e.read("a.txt")
	e.ed.close("a.txt")
	e.stale(e.apply(edit("a.txt", base, "one", "1")), "buffer discarded")
	e.wantDisk("a.txt", "one\n")
}

// H08: an open file that is deleted on disk.
func TestOpenFileDeletedOnDisk(t *testing.T) {
	e := newEnv(t)
	e.disk("a.txt", "one\n")
	e.ed.load("a.txt")
	base := e.read("a.txt")
	e.remove("a.txt")
	r := e.stale(e.apply(edit("a.txt", base, "one", "1")))
	if r.Actual == nil || *r.Actual != "" || !strings.Contains(r.Message, "deleted on disk") {
		t.Errorf("%+v", r)
	}
	base = e.read("a.txt")
	res := e.ok(e.apply(edit("a.txt", base, "one", "1")))
	if *res.Saved {
		t.Error("a deleted file was brought back by a save")
	}
	e.wantGone("a.txt")
	e.ed.wantText("a.txt", "1\n")
	e.ok(e.apply(edit("a.txt", res.Base, "1", "2")))
	e.wantGone("a.txt")
}

func TestUnsureDocument(t *testing.T) {
	e := newEnv(t)
	e.disk("a.txt", "one\n")
	e.ed.load("a.txt")
	base := e.read("a.txt")
	e.ws.DidChange(e.uri("a.txt"), 1, []workspace.ContentChange{{Range: &workspace.Range{}, Text: "x"}}) // a version that does not grow
	e.no(e.apply(edit("a.txt", base, "one", "1")), StatusGuardUnavailable)
	e.ed.typed("a.txt", "one\n")
	e.ok(e.apply(edit("a.txt", base, "one", "1")))
}

func TestPlainClients(t *testing.T) {
	versioned := EditorAbilities{ApplyEdit: true, Versioned: true}
	t.Run("versioned", func(t *testing.T) {
		e := newEnv(t)
		e.ed.can = versioned
		e.disk("a.txt", "one\n")
		e.ed.load("a.txt")
		r := e.ok(e.apply(edit("a.txt", e.read("a.txt"), "one", "1")))
		if *r.Saved || e.ed.writes[0].Save || r.Mode != "editor-versioned" {
			t.Errorf("%+v", r)
		}
		r = e.ok(e.apply(edit("a.txt", r.Base, "1", "2")))
		e.ed.wantText("a.txt", "2\n")
		e.wantDisk("a.txt", "one\n")
	})
	for name, can := range map[string]EditorAbilities{"version 0": versioned, "no applyEdit": {}} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.ed.can = can
			e.disk("a.txt", "one\n")
			e.ed.open("a.txt", "one\n", 0)
			r := e.ok(e.apply(edit("a.txt", e.read("a.txt"), "one", "1")))
			e.wantDisk("a.txt", "1\n")
			// The editor has not reloaded yet: the next base is good all the same.
			r = e.ok(e.apply(edit("a.txt", r.Base, "1", "2")))
			e.wantDisk("a.txt", "2\n")
			e.ed.wantText("a.txt", "one\n")
			if len(e.ed.writes) > 0 {
				t.Error("an edit was sent")
			}
			e.ed.typed("a.txt", "2\n") // it reloads
			e.ok(e.apply(edit("a.txt", r.Base, "2", "3")))
			if can.ApplyEdit {
				e.ed.wantText("a.txt", "3\n") // it has a version now
				return
			}
			e.ed.typed("a.txt", "3\nmine\n")
			e.no(e.apply(edit("a.txt", e.read("a.txt"), "3", "drei")), StatusDenied)
			e.wantDisk("a.txt", "3\n")
		})
	}
}

// The editor refuses over and over, and nothing that we hear explains it.
func TestEditorOutOfStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		e.disk("a.txt", "one\n")
		e.ed.load("a.txt")
		base := e.read("a.txt")
		e.ed.refuse = "content"
		start := time.Now()
		r := e.no(e.apply(edit("a.txt", base, "one", "1")), StatusGuardUnavailable)
		if d := time.Since(start); d > 2*catchUpDeadline || len(e.ed.writes) != 1 {
			t.Errorf("%d tries in %s: %s", len(e.ed.writes), d, r.Message)
		}
		e.ed.refuse = ""
		e.ok(e.apply(edit("a.txt", base, "one", "1")))
		e.g.Close(context.Background())
	})
}

// H01, H06, case 19: a branch switch makes every file that moved stale, once,
// and switching back makes it fresh without a read.
func TestBranchSwitch(t *testing.T) {
	e := newEnv(t)
	bases := map[string]workspace.Digest{}
	for _, f := range []string{"a", "b", "c"} {
		e.disk(f, f+" on main\n")
		bases[f] = e.read(f)
	}
	checkout := func(branch string) {
		e.disk("a", "a on "+branch+"\n")
		e.disk("b", "b on "+branch+"\n")
	}
	end := e.s.Bracket(context.Background(), "run_command: git checkout side")
	checkout("side")
	if rows := end(context.Background()); len(rows) != 2 {
		t.Errorf("%+v", rows)
	}
	rows := e.s.Stale(context.Background())
	if len(rows) != 2 || len(rows[0].ChangedBy) != 1 || rows[0].ChangedBy[0] != "during run_command: git checkout side" {
		t.Errorf("%+v", rows)
	}
	if rows := e.s.Stale(context.Background()); len(rows) != 0 {
		t.Errorf("told again: %+v", rows)
	}
	e.ok(e.apply(edit("c", bases["c"], "main", "c")))
	e.stale(e.apply(edit("a", bases["a"], "main", "x")))
	checkout("main")
	if rows := e.s.Stale(context.Background()); len(rows) != 0 {
		t.Errorf("told of fresh files: %+v", rows)
	}
	e.ok(e.apply(edit("a", bases["a"], "main", "x")))
	checkout("side")
	if rows := e.s.Stale(context.Background()); len(rows) != 2 {
		t.Errorf("not told of the second switch: %+v", rows)
	}
}

// B04: an editor that takes no edits saves its old text over ours.
func TestOldTextSavedOverOurs(t *testing.T) {
	e := newEnv(t)
	e.ed.can = EditorAbilities{}
	e.disk("a", "one\n")
	e.ed.load("a")
	r := e.ok(e.apply(edit("a", e.read("a"), "one", "1")))
	e.wantDisk("a", "1\n")
	e.ed.save("a")
	e.wantDisk("a", "one\n")
	e.stale(e.apply(edit("a", r.Base, "1", "2")), "you, saved in the editor")
}

// The buffer is the old one, not the person's: to save it would undo what came.
func TestOldBufferOfAnEditorThatTakesNoEdits(t *testing.T) {
	e := newEnv(t)
	e.ed.can = EditorAbilities{}
	e.disk("a.txt", "one\n")
	e.ed.load("a.txt")
	e.disk("a.txt", "theirs\n")
	r := e.no(e.apply(edit("a.txt", e.readBoth("a.txt"), "one", "1")), StatusDenied)
	if !strings.Contains(r.Message, "changed on disk") || !strings.Contains(r.Next, "reload") || strings.Contains(r.Next, "save it") {
		t.Errorf("got %q, %q", r.Message, r.Next)
	}
	e.wantDisk("a.txt", "theirs\n")
}
