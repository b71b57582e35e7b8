package guard

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// realDisk puts the commit engine under an env.
func realDisk(o *Options) { o.disk = nil }

// both runs a test over the stand-in and over the commit engine.
func both(t *testing.T, f func(t *testing.T, e *env)) {
	t.Run("plain", func(t *testing.T) { f(t, newEnv(t)) })
	t.Run("engine", func(t *testing.T) { f(t, newEnv(t, realDisk)) })
}

func numbered(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func (e *env) seen(name, want string) {
	e.t.Helper()
	b, ok := e.s.belief(e.name(name).Path)
	if !ok {
		e.t.Fatalf("no belief about %s", name)
	}
	got := fmt.Sprintf("%v whole=%v", b.Seen, b.Whole)
	if got != want {
		e.t.Fatalf("seen of %s is %s, want %s", name, got, want)
	}
}

func TestCoverageOfReads(t *testing.T) {
	e := newEnv(t)
	e.disk("a.txt", numbered(40))
	e.read("a.txt", 1, 3)
	e.seen("a.txt", "[[1 3]] whole=false")
	e.read("a.txt", 10, 12)
	e.read("a.txt", 4, 5)
	e.seen("a.txt", "[[1 5] [10 12]] whole=false")
	e.read("a.txt", 6, 9)
	e.read("a.txt", 12, 40)
	e.seen("a.txt", "[[1 40]] whole=true")
	// Somebody appends: a peek at the head maps what was seen, and the tail is unseen.
	e.disk("a.txt", numbered(42))
	base := e.read("a.txt", 1, 3)
	e.seen("a.txt", "[[1 40]] whole=false")
	r := e.no(e.apply(write("a.txt", base, "all new\n")), StatusUnseen)
	if !strings.Contains(r.Message, "you have seen lines 1-40 of 42") {
		t.Error(r.Message)
	}
	e.wantDisk("a.txt", numbered(42))
	// 8b: a line changed in place leaves coverage.
	e.read("a.txt")
	e.disk("a.txt", strings.Replace(numbered(42), "line 20\n", "line zwanzig\n", 1))
	base = e.read("a.txt", 1, 3)
	e.seen("a.txt", "[[1 19] [21 42]] whole=false")
	e.no(e.apply(write("a.txt", base, "all new\n")), StatusUnseen)
	e.ok(e.apply(edit("a.txt", base, "zwanzig", "20"))) // targeted: allowed outside what was seen
	e.read("a.txt", 20, 20)
	e.seen("a.txt", "[[1 42]] whole=true")
	// Lines inserted in front shift what was seen.
	e.disk("a.txt", "head\n"+numbered(42))
	e.read("a.txt", 5, 5)
	e.seen("a.txt", "[[2 43]] whole=false")
}

func TestCoverageCannotBeMapped(t *testing.T) {
	e := newEnv(t)
	big := strings.Repeat("0123456789abcde\n", maxBlob/16+10)
	e.disk("a.txt", big)
	e.read("a.txt")
	n := CountLines([]byte(big))
	e.seen("a.txt", fmt.Sprintf("[[1 %d]] whole=true", n))
	e.disk("a.txt", "x\n"+big)
	base := e.read("a.txt", 1, 2)
	e.seen("a.txt", "[[1 2]] whole=false")
	e.disk("a.txt", big)
	r := e.stale(e.apply(edit("a.txt", base, "x", "y")))
	if r.Diff != "no diff: too large" {
		t.Errorf("diff %q", clip(r.Diff, 80))
	}
}

// Cases 9 and 10.
func TestWholeWrites(t *testing.T) {
	both(t, func(t *testing.T, e *env) {
		e.disk("a.txt", numbered(40))
		base := e.read("a.txt", 1, 3)
		e.no(e.apply(write("a.txt", base, "new\n")), StatusUnseen)
		r := e.ok(e.apply(edit("a.txt", base, "line 2\n", "zwei\n")))
		e.no(e.apply(write("a.txt", r.Base, "new\n")), StatusUnseen)
		base = e.read("a.txt")
		r = e.ok(e.apply(write("a.txt", base, "new\n")))
		e.seen("a.txt", "[[1 1]] whole=true")
		e.ok(e.apply(write("a.txt", r.Base, "newer\n")))
		e.wantDisk("a.txt", "newer\n")

		e.disk("empty", "")
		base = e.read("empty")
		e.seen("empty", "[] whole=true")
		e.ok(e.apply(write("empty", base, "x\n")))
		e.wantDisk("empty", "x\n")

		r = e.ok(e.apply(write("deep/er/new.txt", "", "1\n2\n")))
		e.seen("deep/er/new.txt", "[[1 2]] whole=true")
		e.ok(e.apply(write("deep/er/new.txt", r.Base, "3\n")))
		e.wantDisk("deep/er/new.txt", "3\n")
		if dirs := e.s.Edits()[len(e.s.Edits())-2].CreatedDirs; len(dirs) != 2 {
			t.Errorf("created directories %v", dirs)
		}

		e.no(e.apply(write("deep/er/new.txt", "", "4\n")), StatusExists)
		e.disk("other.txt", "theirs\n")
		e.no(e.apply(write("other.txt", "", "mine\n")), StatusExists)
		e.wantDisk("other.txt", "theirs\n")
		e.set.OverwriteUnseen = "allow"
		e.ok(e.apply(write("other.txt", "", "mine\n")))
		e.disk("a.txt", numbered(3))
		base = e.read("a.txt", 1, 1)
		e.ok(e.apply(write("a.txt", base, "mine\n")))
		e.disk("a.txt", "theirs\n")
		e.stale(e.apply(write("a.txt", "", "mine again\n"))) // it lifts exists and unseen only
	})
}

func TestCoverageOfOwnEdits(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines [2]int
		edits []string
		want  string
	}{
		{"a line by a line", [2]int{2, 4}, []string{"line 3\n", "drei\n"}, "[[2 4]] whole=false"},
		{"a line by two", [2]int{2, 4}, []string{"line 3\n", "drei\nund\n"}, "[[2 5]] whole=false"},
		{"inside an unseen line", [2]int{2, 4}, []string{"ne 8", "ne acht"}, "[[2 4]] whole=false"},
		{"all of an unseen line", [2]int{2, 4}, []string{"line 8", "acht"}, "[[2 4] [8 8]] whole=false"},
		{"unseen line with its end", [2]int{2, 4}, []string{"line 8\n", "acht\n"}, "[[2 4] [8 8]] whole=false"},
		{"new lines inside an unseen line", [2]int{2, 4}, []string{"ne 8", "x\ny\nz"}, "[[2 4] [9 10]] whole=false"},
		{"in front of what was seen", [2]int{2, 4}, []string{"line 1\n", ""}, "[[1 3]] whole=false"},
		{"joining a seen and an unseen line", [2]int{2, 4}, []string{"4\nline 5", "4, 5"}, "[[2 3]] whole=false"},
		{"two in one line", [2]int{2, 4}, []string{"li", "LI"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEnv(t)
			e.disk("a.txt", numbered(10))
			base := e.read("a.txt", c.lines[0], c.lines[1])
			if c.want == "" {
				e.no(e.apply(edit("a.txt", base, c.edits...)), StatusAmbiguous)
				return
			}
			e.ok(e.apply(edit("a.txt", base, c.edits...)))
			e.seen("a.txt", c.want)
		})
	}
}

func TestBeliefTable(t *testing.T) {
	t.Run("own delete drops, and its path can be created again", func(t *testing.T) {
		both(t, func(t *testing.T, e *env) {
			e.disk("a.txt", "one\n")
			base := e.read("a.txt")
			e.ok(e.apply(Change{Kind: ChangeDelete, Path: "a.txt", Base: base}))
			e.wantGone("a.txt")
			if len(e.s.Snapshot()) != 0 {
				t.Error("a belief is left")
			}
			e.ok(e.apply(write("a.txt", "", "two\n")))
		})
	})
	t.Run("own move takes the belief along", func(t *testing.T) {
		both(t, func(t *testing.T, e *env) {
			e.disk("a.txt", numbered(9))
			base := e.read("a.txt", 2, 3)
			r := e.ok(e.apply(Change{Kind: ChangeMove, Path: "a.txt", Base: base, To: "sub/b.txt"}))
			e.wantGone("a.txt")
			e.seen("sub/b.txt", "[[2 3]] whole=false")
			e.ok(e.apply(edit("sub/b.txt", r.Base, "line 5", "5")))
			e.disk("c.txt", "")
			base = e.read("sub/b.txt")
			e.no(e.apply(Change{Kind: ChangeMove, Path: "sub/b.txt", Base: base, To: "c.txt"}), StatusExists)
		})
	})
	t.Run("a link is deleted, its target's belief stays", func(t *testing.T) {
		both(t, func(t *testing.T, e *env) {
			e.disk("a.txt", "one\n")
			if err := os.Symlink("a.txt", e.path("link")); err != nil {
				t.Skip(err)
			}
			base := e.read("link")
			r := e.ok(e.apply(edit("link", base, "one", "1")))
			e.wantDisk("a.txt", "1\n")
			if fi, err := os.Lstat(e.path("link")); err != nil || fi.Mode()&os.ModeSymlink == 0 {
				t.Fatal("the link is no link any more")
			}
			e.stale(e.apply(edit("a.txt", base, "1", "2")))
			e.ok(e.apply(Change{Kind: ChangeDelete, Path: "link", Base: r.Base}))
			e.wantGone("link")
			e.ok(e.apply(edit("a.txt", r.Base, "1", "2")))
		})
	})
	t.Run("reading what is gone drops", func(t *testing.T) {
		e := newEnv(t)
		e.disk("a.txt", "one\n")
		base := e.read("a.txt")
		e.remove("a.txt")
		r := e.stale(e.apply(edit("a.txt", base, "one", "1")))
		if r.Actual == nil || *r.Actual != "" || !strings.Contains(r.Message, "deleted or renamed") {
			t.Errorf("%+v", r)
		}
		e.stale(e.apply(write("a.txt", "", "new\n")))
		e.stale(e.apply(Change{Kind: ChangeDelete, Path: "a.txt", Base: base}))
		e.wantGone("a.txt")
		e.read("a.txt")
		e.no(e.apply(edit("a.txt", base, "one", "1")), StatusNotFound)
		e.ok(e.apply(write("a.txt", "", "new\n")))
	})
	t.Run("a tool changed the file", func(t *testing.T) {
		e := newEnv(t)
		e.disk("a.txt", "one\n")
		e.disk("b.txt", "one\n")
		base := e.read("a.txt")
		e.read("b.txt")
		end := e.s.Bracket(context.Background(), "run_command: make schemas")
		e.disk("a.txt", "two\n")
		rows := end(context.Background())
		if len(rows) != 1 || rows[0].Display != "a.txt" || rows[0].State != Stale {
			t.Fatalf("%+v", rows)
		}
		e.stale(e.apply(edit("a.txt", base, "one", "1")), "during run_command: make schemas")
		e.seen("a.txt", "[[1 1]] whole=true")
		if rows := e.s.Stale(context.Background()); len(rows) != 1 {
			t.Errorf("told %+v", rows)
		}
		if rows := e.s.Stale(context.Background()); len(rows) != 0 {
			t.Errorf("told twice: %+v", rows)
		}
		e.disk("a.txt", "one\n") // H06: back to what was seen, fresh without a read
		e.ok(e.apply(edit("a.txt", base, "one", "1")))
	})
	t.Run("compacted", func(t *testing.T) {
		e := newEnv(t)
		e.disk("a.txt", numbered(3))
		base := e.read("a.txt")
		e.s.Compacted(e.name("a.txt").Path)
		e.seen("a.txt", "[] whole=false")
		e.no(e.apply(write("a.txt", base, "x\n")), StatusUnseen)
		e.ok(e.apply(edit("a.txt", base, "line 2", "2")))
	})
	t.Run("no belief", func(t *testing.T) {
		e := newEnv(t)
		e.disk("a.txt", "one\n")
		if r := e.s.Check(context.Background(), "a.txt"); r != nil {
			t.Errorf("flagged: %+v", r)
		}
		e.no(e.apply(edit("a.txt", "", "one", "1")), StatusMissingBase)
		e.no(e.apply(edit("a.txt", "sha256:1234", "one", "1")), StatusMissingBase)
		e.no(e.apply(Change{Kind: ChangeDelete, Path: "a.txt"}), StatusMissingBase)
		e.no(e.apply(Change{Kind: ChangeMove, Path: "a.txt", To: "b.txt"}), StatusMissingBase)
		held := workspace.DigestOf([]byte("one\n"))
		e.no(e.apply(Change{Kind: ChangeDelete, Path: "a.txt", Base: held}), StatusMissingBase)
		e.no(e.apply(Change{Kind: ChangeMove, Path: "a.txt", To: "b.txt", Base: held}), StatusMissingBase)
		e.no(e.apply(edit("nothing.txt", "", "one", "1")), StatusNotFound)
		e.wantDisk("a.txt", "one\n")
	})
}

func TestSnapshotRestore(t *testing.T) {
	e := newEnv(t)
	e.disk("a.txt", numbered(5))
	e.disk("b.txt", bom8+"one\r\n")
	base := e.read("a.txt", 1, 2)
	e.ed.load("b.txt")
	baseB := e.read("b.txt")
	e.ed.close("b.txt")
	snap := e.s.Snapshot()
	for i := range snap {
		snap[i].Blob = nil // a record may keep contents elsewhere
	}
	e2 := *e
	ws := workspace.New(workspace.Options{Roots: []string{e.dir}})
	g, err := New(Options{Workspace: ws, StateDir: t.TempDir(), disk: plainDisk{}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close(context.Background())
	e2.ws, e2.g, e2.s = ws, g, g.Session("s-1", e.dir)
	e2.s.Unavailable("the record cannot be read")
	e2.no(e2.apply(edit("a.txt", base, "line 2", "2")), StatusGuardUnavailable)
	if r := e2.s.Check(context.Background(), "a.txt"); r == nil || r.Status != StatusGuardUnavailable {
		t.Errorf("%+v", r)
	}
	e2.ok(e2.apply(write("new.txt", "", "x"))) // nothing is there that could be overwritten
	e2.s.Restore(snap)
	e2.seen("a.txt", "[[1 2]] whole=false")
	e2.ok(e2.apply(edit("b.txt", baseB, "one", "1"))) // the buffer's base; its pair is of a former process
	e2.wantDisk("b.txt", bom8+"1\r\n")
	e2.disk("a.txt", "other\n")
	e2.stale(e2.apply(edit("a.txt", base, "line 2", "2")), "before restart")
}

// Cases 4, C02, C03, C05: clocks, inodes and mtimes are no evidence.
func TestSameBytesAreFresh(t *testing.T) {
	both(t, func(t *testing.T, e *env) {
		e.disk("a.txt", "one\n")
		base := e.read("a.txt")
		e.remove("a.txt")
		e.disk("a.txt", "one\n")
		future := time.Now().Add(48 * time.Hour)
		os.Chtimes(e.path("a.txt"), future, future)
		r := e.ok(e.apply(edit("a.txt", base, "one", "two")))
		fi, _ := os.Stat(e.path("a.txt"))
		e.disk("a.txt", "tvo\n") // same size, and the old time put back
		os.Chtimes(e.path("a.txt"), fi.ModTime(), fi.ModTime())
		e.stale(e.apply(edit("a.txt", r.Base, "two", "three")))
		e.wantDisk("a.txt", "tvo\n")
	})
}

// Case 7 and the note of base tokens.
func TestOwnOlderBase(t *testing.T) {
	both(t, func(t *testing.T, e *env) {
		e.disk("a.txt", "one\ntwo\n")
		base := e.read("a.txt")
		e.ok(e.apply(edit("a.txt", base, "one", "1")))
		r := e.stale(e.apply(edit("a.txt", base, "two", "2")), "edit #1 (this session, step 2)")
		if !r.Mine || r.Diff != "@@ -1,2 +1,2 @@\n-one\n+1\n two\n" || r.Expected != base {
			t.Errorf("%+v", r)
		}
		if strings.Contains(r.Message, "Another agent") {
			t.Errorf("blames somebody else: %s", r.Message)
		}
		e.disk("a.txt", "1\ntwo\nthree\n")
		e.stale(e.apply(edit("a.txt", base, "two", "2")))
		newer := e.read("a.txt")
		e.stale(e.apply(edit("a.txt", base, "two", "2")), "edit #1 (this session, step 2)", "outside this editor")
		e.ok(e.apply(edit("a.txt", newer, "two", "2")))
		r = e.stale(e.apply(edit("a.txt", "sha256:none", "two", "2")))
		if !strings.Contains(r.Message, "no result of this session gave it") {
			t.Error(r.Message)
		}
	})
}

// A05 and case 21 within one server.
func TestTwoSessions(t *testing.T) {
	both(t, func(t *testing.T, e *env) {
		other := e.g.Session("s-4f2", e.dir)
		e.disk("x.py", "a = 1\n")
		base := e.read("x.py")
		baseB := e.readBy(other, "x.py", false)
		e.ok(other.Apply(context.Background(), []Origin{{Step: 7}}, false, []Change{edit("x.py", baseB, "1", "2")}))
		e.stale(e.apply(edit("x.py", base, "1", "3")), "session s-4f2")
		e.ok(e.apply(edit("x.py", e.read("x.py"), "2", "3")))
		e.wantDisk("x.py", "a = 3\n")
	})
}

func TestRefusalText(t *testing.T) {
	e := newEnv(t)
	e.disk("src/handler.rs", "fn a() {}\n")
	base := e.read("src/handler.rs")
	e.disk("src/handler.rs", "fn b() {}\n")
	r := e.stale(e.apply(edit("src/handler.rs", base, "a", "c")))
	want := "refusing to write: src/handler.rs changed since you last read it. Another agent (or a person) edited it after you looked, and this call would overwrite their work with a plan formed against content that no longer exists.\n\nRe-read the file and redo the change against what is there now. Your edit is not lost — nothing was written."
	if r.Text() != want {
		t.Errorf("text is\n%s", r.Text())
	}
	if r.Message != strings.ReplaceAll(want, "\n\n", " ") || r.Next != "re-read src/handler.rs before proposing another edit to it" || r.Path != "src/handler.rs" {
		t.Errorf("%+v", r)
	}
	if r.DiffCut == nil || *r.DiffCut != 0 || *r.Actual != workspace.DigestOfString("fn b() {}\n") {
		t.Errorf("%+v", r)
	}
	e.disk("src/handler.rs", numbered(5000))
	r = e.stale(e.apply(edit("src/handler.rs", base, "a", "c")))
	if n := strings.Count(r.Diff, "\n"); n > diffLines || n+*r.DiffCut < 5000 {
		t.Errorf("%d lines shown, %d cut", n, *r.DiffCut)
	}
}
