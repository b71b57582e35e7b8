package guard

import (
	"testing"
)

func TestReadEditStaleClosed(t *testing.T) {
	e := newEnv(t)
	e.disk("a.txt", "one\ntwo\nthree\n")
	base := e.read("a.txt")
	r := e.ok(e.apply(edit("a.txt", base, "two", "2")))
	e.wantDisk("a.txt", "one\n2\nthree\n")
	e.disk("a.txt", "one\n2\nthree\nfour\n")
	got := e.stale(e.apply(edit("a.txt", r.Base, "one", "1")), "outside this editor")
	if got.Diff != "@@ -1,3 +1,4 @@\n one\n 2\n three\n+four\n" {
		t.Errorf("diff %q", got.Diff)
	}
	e.wantDisk("a.txt", "one\n2\nthree\nfour\n")
	e.ok(e.apply(edit("a.txt", e.read("a.txt"), "one", "1")))
	e.wantDisk("a.txt", "1\n2\nthree\nfour\n")
}

func TestReadEditStaleOpen(t *testing.T) {
	e := newEnv(t)
	e.disk("a.txt", "one\ntwo\nthree\n")
	e.ed.load("a.txt")
	base := e.read("a.txt")
	r := e.ok(e.apply(edit("a.txt", base, "two", "2", "three", "3")))
	if r.Saved == nil || !*r.Saved || r.Mode != "editor" {
		t.Errorf("saved %v, mode %q: %s", r.Saved, r.Mode, r.Note)
	}
	e.wantDisk("a.txt", "one\n2\n3\n")
	e.ed.wantText("a.txt", "one\n2\n3\n")
	e.ed.typed("a.txt", "one!\n2\n3\n")
	e.stale(e.apply(edit("a.txt", r.Base, "2", "two")), "you, typing in the editor (unsaved)")
	e.ed.wantText("a.txt", "one!\n2\n3\n")
}
