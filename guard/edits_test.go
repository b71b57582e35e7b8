package guard

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Group D: every byte that was not named stays.
func TestEditsAreByteExact(t *testing.T) {
	utf16 := func(s string) string { return string(textForm{bom: "\xFE\xFF", order: binary.BigEndian}.encode(s)) }
	for _, c := range []struct{ name, before, old, new, after string }{
		{"D01 mixed line ends", "a\r\nb\nc\rd\n", "b", "B", "a\r\nB\nc\rd\n"},
		{"mixed, over lines", "a\r\nb\nc\r\nd\n", "a\nb\nc", "a\nB\nc", "a\r\nB\nc\r\nd\n"},
		{"crlf, model writes lf", "a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", "a\r\nx\r\ny\r\nc\r\n"},
		{"crlf, inserted in one line", "a\r\nb\r\n", "b", "b\nc\nd", "a\r\nb\r\nc\r\nd\r\n"},
		{"crlf, model writes crlf", "a\r\nb\r\n", "a\r\nb", "A\r\nB", "A\r\nB\r\n"},
		{"lf, model writes crlf in old", "a\nb\n", "a\r\nb", "x", "x\n"},
		{"old begins at a line end", "a\r\nb\r\n", "\nb", "\nc", "a\r\nc\r\n"},
		{"old ends before a line end", "a\r\nb\r\n", "a", "", "\r\nb\r\n"},
		{"lf part of a mixed file", "a\r\nb\r\nc\r\n\n\n\nx\ny\nz\nv\nw\nq\nq1\nq2\nq3\nq4\n", "y", "y\ny2", "a\r\nb\r\nc\r\n\n\n\nx\ny\ny2\nz\nv\nw\nq\nq1\nq2\nq3\nq4\n"},
		{"D04 no mark is added", "a\n", "a", "b", "b\n"},
		{"mark stays", bom8 + "a\n", "a", "b", bom8 + "b\n"},
		{"mark stays, model repeats it", bom8 + "a\n", bomRune + "a", bomRune + "b", bom8 + "b\n"},
		{"D06 latin-1", "x = 1\n// caf\xe9\n", "1", "2", "x = 2\n// caf\xe9\n"},
		{"D09 no newline at the end", `{"a":1}`, "1", "2", `{"a":2}`},
		{"newline at the end goes only when asked", "a\nb\n", "b\n", "b", "a\nb"},
		{"NULs", "a\x00\x00\x00b\n", "b", "c", "a\x00\x00\x00c\n"},
		{"utf-16", utf16("grün\r\nblau"), "blau", "rot\nweiß", utf16("grün\r\nrot\r\nweiß")},
		{"empty file", "", "", "x", "x"},
		{"unicode", "a😀b\n", "😀", "🚀", "a🚀b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEnv(t)
			e.disk("f", c.before)
			r := e.ok(e.apply(edit("f", e.read("f"), c.old, c.new)))
			e.wantDisk("f", c.after)
			if r.Base != workspace.DigestOfString(c.after) {
				t.Error("the base does not name what was written")
			}
		})
	}
}

func TestEditsThatCannotBeExact(t *testing.T) {
	for _, c := range []struct {
		name, before, old, new string
		want                   Status
		text                   string
	}{
		{"latin-1 gets UTF-8", "caf\xe9\nx\n", "x", "é", StatusDenied, "not valid UTF-8"},
		{"latin-1 old text", "caf\xe9\nx\n", "caf\uFFFD", "cafe", StatusNoMatch, "not valid UTF-8"},
		{"utf-16 of odd length", "\xFF\xFEa\x00b", "a", "b", StatusDenied, "UTF-16"},
		{"utf-16 with a lone surrogate", "\xFF\xFEa\x00\x00\xD8", "a", "b", StatusDenied, "UTF-16"},
		{"not there", "one\ntwo\n", "three", "3", StatusNoMatch, "not in the file"},
		{"white space", "\tfunction one() {\n", "  function one() {\n}", "x", StatusNoMatch, "at line 1"},
		{"twice", "a\nb\na\n", "a", "c", StatusAmbiguous, "2 times (lines 1, 3)"},
		{"twice over line ends", "a\r\nb\r\na\nb\n", "a\nb", "c", StatusAmbiguous, "2 times"},
		{"empty old", "a\n", "", "b", StatusInvalid, "empty"},
		{"same", "a\n", "a", "a", StatusInvalid, "the same"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEnv(t)
			e.disk("f", c.before)
			r := e.no(e.apply(edit("f", e.read("f"), c.old, c.new)), c.want)
			if !strings.Contains(r.Message, c.text) {
				t.Errorf("message %q lacks %q", r.Message, c.text)
			}
			e.wantDisk("f", c.before)
		})
	}
}

func TestReplaceAll(t *testing.T) {
	e := newEnv(t)
	e.disk("f", "a b a\r\na\n")
	c := edit("f", e.read("f"), "a", "xx")
	c.Edits[0].All = true
	r := e.ok(e.apply(c))
	e.wantDisk("f", "xx b xx\r\nxx\n")
	if *r.ChangedLines != [2]int{1, 2} {
		t.Errorf("changed lines %v", *r.ChangedLines)
	}
}

func TestWholeWriteKeepsTheForm(t *testing.T) {
	utf16 := func(s string) string { return string(textForm{bom: "\xFF\xFE", order: binary.LittleEndian}.encode(s)) }
	for _, c := range []struct{ name, before, content, after string }{
		{"crlf", "a\r\nb\r\n", "a\nx\nb\n", "a\r\nx\r\nb\r\n"},
		{"mixed", "a\r\nb\nc\r\n", "a\nb\nd\n", "a\r\nb\nd\r\n"},
		{"crlf said to be crlf", "a\nb\n", "a\r\nb\r\n", "a\r\nb\r\n"},
		{"mark", bom8 + "a\n", "b\n", bom8 + "b\n"},
		{"utf-16", utf16("a\n"), "ö\n", utf16("ö\n")},
		{"no newline", "a\n", "b", "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEnv(t)
			e.disk("f", c.before)
			e.ok(e.apply(write("f", e.read("f"), c.content)))
			e.wantDisk("f", c.after)
		})
	}
	e := newEnv(t)
	e.disk("f", "caf\xe9\n")
	e.no(e.apply(write("f", e.read("f"), "café\n")), StatusDenied)
	r := e.ok(e.apply(write("same", "", "x\n")))
	again := e.ok(e.apply(write("same", r.Base, "x\n")))
	if again.EditID != "" || again.Base != r.Base {
		t.Errorf("a write of the same content counts as an edit: %+v", again)
	}
}

// C07: adjacent calls on one path with one base.
func TestBatch(t *testing.T) {
	both(t, func(t *testing.T, e *env) {
		e.disk("f", numbered(9))
		base := e.read("f")
		o := []Origin{{Step: 1, CallID: "a"}, {Step: 1, CallID: "b"}, {Step: 1, CallID: "c"}}
		rs := e.s.Apply(context.Background(), o, false, []Change{
			edit("f", base, "line 7\n", "sieben\nund\n"), edit("f", base, "line 2", "zwei"), edit("f", base, "line 9", "neun"),
		})
		e.ok(rs)
		want := strings.NewReplacer("line 7", "sieben\nund", "line 2", "zwei", "line 9", "neun").Replace(numbered(9))
		e.wantDisk("f", want)
		if rs[0].Base != rs[2].Base || rs[0].EditID != "e1" || rs[2].EditID != "e3" {
			t.Errorf("%+v", rs)
		}
		if *rs[0].ChangedLines != [2]int{7, 8} || *rs[1].ChangedLines != [2]int{2, 2} || *rs[2].ChangedLines != [2]int{10, 10} {
			t.Errorf("changed lines %v %v %v", *rs[0].ChangedLines, *rs[1].ChangedLines, *rs[2].ChangedLines)
		}
		edits := e.s.Edits()
		for i, rec := range edits {
			if rec.CallID != o[i].CallID || i > 0 && string(rec.Before) != string(edits[i-1].After) {
				t.Errorf("record %d: %q, before %q", i, rec.CallID, rec.Before)
			}
		}
		if before, after, ok := e.s.Content("e2"); !ok || !strings.Contains(string(before), "line 2") || !strings.Contains(string(after), "zwei") || !strings.Contains(string(after), "line 9") {
			t.Error("the second edit's images are not its own")
		}
		// Overlapping: all are invalid, nothing is written.
		base = rs[2].Base
		e.no(e.apply(edit("f", base, "sieben\nund", "7"), edit("f", base, "und\n", ""), edit("f", base, "zwei", "2")), StatusInvalid)
		e.wantDisk("f", want)
		// One that does not fit is refused alone.
		rs = e.apply(edit("f", base, "nowhere", "x"), edit("f", base, "zwei", "2"))
		if rs[0].Status != StatusNoMatch || !rs[1].OK() {
			t.Errorf("%+v", rs)
		}
		// In two messages, the second base is stale.
		e.stale(e.apply(edit("f", base, "neun", "9")))
	})
}

// Case 15, A02: all or none.
func TestAllOrNone(t *testing.T) {
	both(t, func(t *testing.T, e *env) {
		all := func(changes ...Change) []Result {
			return e.s.Apply(context.Background(), []Origin{e.origin("edit_files")}, true, changes)
		}
		for _, f := range []string{"a", "b", "c"} {
			e.disk(f, f+" one\n")
		}
		a, b, c := e.read("a"), e.read("b"), e.read("c")
		e.disk("b", "b two\n")
		e.disk("c", "c two\n")
		rs := all(edit("a", a, "one", "1"), edit("b", b, "one", "1"), edit("c", c, "one", "1"))
		if rs[0].Status != StatusCancelled || rs[1].Status != StatusStale || rs[2].Status != StatusStale {
			t.Fatalf("%+v", rs)
		}
		e.wantDisk("a", "a one\n")
		// A bad path names the stale ones too.
		rs = all(edit("a", a, "one", "1"), edit("../b", b, "one", "1"), edit("c", c, "one", "1"))
		if rs[0].Status != StatusCancelled || rs[1].Status != StatusOutsideWorkspace || rs[2].Status != StatusStale {
			t.Fatalf("%+v", rs)
		}
		b, c = e.read("b"), e.read("c")
		rs = all(edit("a", a, "one", "1"), edit("b", b, "two", "2"), edit("c", c, "nowhere", "2"))
		if rs[2].Status != StatusNoMatch || rs[0].Status != StatusCancelled {
			t.Fatalf("%+v", rs)
		}
		e.wantDisk("a", "a one\n")
		e.ok(all(edit("a", a, "one", "1"), edit("b", b, "two", "2"), edit("c", c, "two", "2")))
		e.wantDisk("c", "c 2\n")
		rs = all(edit("a", e.read("a"), "1", "2"), write("a", e.read("a"), "x"))
		e.no(rs, StatusInvalid)
	})
}

// Case 25: what was committed before a failure is taken back, if it is still ours.
func TestRollBack(t *testing.T) {
	for _, theirs := range []bool{false, true} {
		e := newEnv(t)
		e.disk("a", "one\n")
		e.disk("b", "one\n")
		e.disk("c", "one\n")
		e.ed.load("b")
		e.ed.load("c")
		a, b, c := e.read("a"), e.read("b"), e.read("c")
		n := 0
		e.ed.refusals = 1
		e.ed.before = func() { // at the write of b
			e.ed.before = func() { // at the write of c
				n++
				e.ed.refuse = "readonly"
				if theirs {
					e.disk("a", "theirs\n")
				}
			}
		}
		rs := e.s.Apply(context.Background(), nil, true, []Change{edit("a", a, "one", "1"), edit("b", b, "one", "1"), edit("c", c, "one", "1")})
		if n != 1 || rs[2].Status != StatusDenied {
			t.Fatalf("%+v", rs)
		}
		e.ed.wantText("b", "one\n")
		e.wantDisk("b", "one\n")
		e.wantDisk("c", "one\n")
		if theirs {
			e.wantDisk("a", "theirs\n")
			if rs[0].Status != StatusApplied || !strings.Contains(rs[0].Note, "stays applied") {
				t.Errorf("%+v", rs[0])
			}
			e.stale(e.apply(edit("a", rs[0].Base, "theirs", "x")))
			continue
		}
		e.wantDisk("a", "one\n")
		if rs[0].Status != StatusCancelled || len(e.s.Edits()) != 0 {
			t.Errorf("%+v, %d edits", rs[0], len(e.s.Edits()))
		}
		e.ok(e.s.Apply(context.Background(), nil, true, []Change{edit("a", a, "one", "1"), edit("b", b, "one", "1"), edit("c", c, "one", "1")}))
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "fmt.sh")
	if err := os.WriteFile(p, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

// Case 6: formatters run on the candidate.
func TestFormatters(t *testing.T) {
	for _, open := range []bool{false, true} {
		e := newEnv(t)
		e.disk("src/a.go", "a\nb\n")
		e.disk("src/a.txt", "a\nb\n")
		if open {
			e.ed.load("src/a.go")
		}
		onFile := script(t, `test "$STELLA_TARGET" = "`+e.path("src/a.go")+`" || exit 3
case "$1" in "`+e.path("src")+`"/.*.go) ;; *) exit 4 ;; esac
test "$1" != "$STELLA_TARGET" || exit 5
sed -i 's/ *$//' "$1"
`)
		e.set.PostWrite = []config.Formatter{
			{Glob: "**/*.go", Command: []string{onFile, "{path}"}},
			{Glob: "*.go", Command: []string{"sed", "s/x x/x  x/"}},
		}
		r := e.ok(e.apply(edit("src/a.go", e.read("src/a.go"), "b", "x x   ")))
		e.wantDisk("src/a.go", "a\nx  x\n")
		if !strings.Contains(r.HookDiff, "+x  x") || r.HookError != "" || *r.ChangedLines != [2]int{2, 2} {
			t.Errorf("open=%v: %+v", open, r)
		}
		e.seen("src/a.go", "[[1 2]] whole=true")
		r = e.ok(e.apply(edit("src/a.go", r.Base, "a", "A")))
		if r.HookDiff != "" {
			t.Errorf("hook_diff %q", r.HookDiff)
		}
		r = e.ok(e.apply(edit("src/a.txt", e.read("src/a.txt"), "b", "x x")))
		e.wantDisk("src/a.txt", "a\nx x\n")
		list, _ := os.ReadDir(e.path("src"))
		if len(list) != 2 {
			t.Errorf("left behind: %v", list)
		}
	}
}

func TestFormatterThatFails(t *testing.T) {
	e := newEnv(t)
	e.disk("a.go", "a\n")
	e.set.PostWrite = []config.Formatter{{Glob: "*.go", Command: []string{script(t, "cat >/dev/null; echo 'line 1: no' >&2; exit 1\n")}}}
	r := e.ok(e.apply(edit("a.go", e.read("a.go"), "a", "b")))
	if !strings.Contains(r.HookError, "line 1: no") || r.HookDiff != "" {
		t.Errorf("%+v", r)
	}
	e.wantDisk("a.go", "b\n")
	e.set.PostWrite = []config.Formatter{{Glob: "*.go", Command: []string{"no-such-formatter-here"}}, {Glob: "*.go", Command: []string{"true"}}}
	r = e.ok(e.apply(edit("a.go", r.Base, "b", "c")))
	if !strings.Contains(r.HookError, "no-such-formatter-here") || !strings.Contains(r.HookError, "left nothing") {
		t.Errorf("%q", r.HookError)
	}
	e.wantDisk("a.go", "c\n")
}

// What a formatter changed and the result did not show leaves coverage.
func TestFormatterChangesTooMuchToShow(t *testing.T) {
	e := newEnv(t)
	e.disk("a.go", numbered(1000))
	e.set.PostWrite = []config.Formatter{{Glob: "*", Command: []string{"sed", "s/line/LINE/"}}}
	r := e.ok(e.apply(edit("a.go", e.read("a.go"), "line 5\n", "LINE fünf\n")))
	e.seen("a.go", "[[5 5]] whole=false")
	e.no(e.apply(write("a.go", r.Base, "x")), StatusUnseen)
}

type fakeSyntax struct{}

func (fakeSyntax) Broken(_ workspace.Path, before, after []byte) string {
	if strings.Contains(string(after), "{{") {
		return "1:1 unexpected {"
	}
	return ""
}

func (fakeSyntax) SymbolRange(_ workspace.Path, text []byte, name string) (out [][2]int) {
	for at := 0; ; {
		i := strings.Index(string(text[at:]), "def "+name+"\n")
		if i < 0 {
			return out
		}
		start := at + i
		end := start + strings.Index(string(text[start:])+"end\n", "end\n") + 4
		out = append(out, [2]int{start, min(end, len(text))})
		at = start + 4
	}
}

func TestSyntaxAndSymbols(t *testing.T) {
	e := newEnv(t, func(o *Options) { o.Syntax = fakeSyntax{} })
	e.disk("a.py", "def one\n x\nend\ndef two\n x\nend\n")
	base := e.read("a.py")
	c := edit("a.py", base, "x", "y")
	e.no(e.apply(c), StatusAmbiguous)
	c.Symbol = "three"
	e.no(e.apply(c), StatusOutsideSymbol)
	c.Symbol = "two"
	r := e.ok(e.apply(c))
	e.wantDisk("a.py", "def one\n x\nend\ndef two\n y\nend\n")
	c = edit("a.py", r.Base, "y", "z")
	c.Symbol = "one"
	e.no(e.apply(c), StatusOutsideSymbol)
	r = e.ok(e.apply(edit("a.py", r.Base, "y", "{{")))
	if r.Syntax == "" {
		t.Error("broken syntax is not reported")
	}
	e.set.Syntax = "refuse"
	e.no(e.apply(edit("a.py", r.Base, "{{", "{{{")), StatusInvalid)
	e.ok(e.apply(edit("a.py", r.Base, "{{", "y")))
}

// A failing record refuses the write; where nothing can be recorded at all, what
// a replacement takes away goes to the displaced store as without a recorder.
func TestRecorderFails(t *testing.T) {
	e := newEnv(t)
	e.disk("a", "one\n")
	rec := &fakeRecorder{disk: func() string { return "" }, fail: errors.New("no space left on device")}
	e.g.o.Recorder = rec
	r := e.apply(write("a", e.read("a"), "two\n"))
	e.no(r, StatusGuardUnavailable)
	e.wantDisk("a", "one\n")
	rec.fail = fmt.Errorf("work record: %w", ErrNoRecord)
	e.ok(e.apply(write("a", e.read("a"), "two\n")))
	e.wantDisk("a", "two\n")
	e.undo(StatusApplied, "e2")
	e.wantDisk("a", "one\n")
}

type fakeRecorder struct {
	log  []string
	fail error
	disk func() string
}

func (f *fakeRecorder) PreImage(_ context.Context, e EditRecord) error {
	f.log = append(f.log, "pre "+e.ID+" "+string(e.Before)+" disk "+f.disk())
	return f.fail
}

func (f *fakeRecorder) Images(context.Context, string, string) (EditRecord, error) {
	return EditRecord{}, errors.New("not kept")
}

func (f *fakeRecorder) Applied(_ context.Context, e EditRecord) error {
	f.log = append(f.log, "applied "+e.ID+" "+string(e.After)+" disk "+f.disk())
	return nil
}

func (f *fakeRecorder) Abandoned(_ context.Context, session, id string) error {
	f.log = append(f.log, "abandoned "+id)
	return nil
}

func TestRecorder(t *testing.T) {
	rec := &fakeRecorder{}
	e := newEnv(t, func(o *Options) { o.Recorder = rec })
	rec.disk = func() string { b, _ := os.ReadFile(e.path("a")); return string(b) }
	e.disk("a", "one")
	r := e.ok(e.apply(edit("a", e.read("a"), "one", "two")))
	want := "[pre e1 one disk one applied e1 two disk two]"
	if got := "[" + strings.Join(rec.log, " ") + "]"; got != want {
		t.Errorf("log %s", got)
	}
	rec.log, rec.fail = nil, errors.New("disk full")
	e.no(e.apply(edit("a", r.Base, "two", "three")), StatusGuardUnavailable)
	e.wantDisk("a", "two")
}

func TestPathsAndPermissions(t *testing.T) {
	both(t, func(t *testing.T, e *env) {
		out := t.TempDir()
		if err := os.WriteFile(filepath.Join(out, "x"), []byte("x\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		os.Symlink(out, e.path("out"))
		e.no(e.apply(write("out/y", "", "y")), StatusOutsideWorkspace)
		e.no(e.apply(edit("out/x", "sha256:1", "x", "y")), StatusOutsideWorkspace)
		e.no(e.apply(write(filepath.Join(out, "y"), "", "y")), StatusOutsideWorkspace)
		e.no(e.apply(write("../y", "", "y")), StatusOutsideWorkspace)
		e.no(e.apply(Change{Kind: ChangeMove, Path: "a", To: "../y"}), StatusOutsideWorkspace)
		e.disk("dir/a", "one\n")
		e.no(e.apply(write("dir", "", "y")), StatusInvalid)
		e.no(e.apply(write("", "", "y")), StatusInvalid)
		e.no(e.apply(Change{Kind: "twist", Path: "dir/a"}), StatusInvalid)
		base := e.read("./dir/../dir/a")
		e.ok(e.apply(edit("dir/a", base, "one", "two"))) // two spellings, one belief
		e.stale(e.apply(edit(e.path("dir/a"), base, "two", "three")))
		os.Chmod(e.path("dir/a"), 0o444)
		e.no(e.apply(edit("dir/a", e.read("dir/a"), "two", "three")), StatusDenied)
		e.no(e.apply(Change{Kind: ChangeDelete, Path: "dir/a", Base: e.read("dir/a")}), StatusDenied)
		if fi, _ := os.Stat(e.path("dir/a")); fi.Mode().Perm() != 0o444 {
			t.Errorf("mode is %v", fi.Mode())
		}
		os.Chmod(e.path("dir/a"), 0o755)
		e.ok(e.apply(edit("dir/a", e.read("dir/a"), "two", "three")))
		if fi, _ := os.Stat(e.path("dir/a")); fi.Mode().Perm() != 0o755 {
			t.Errorf("mode is %v", fi.Mode())
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		e.no(e.s.Apply(ctx, nil, false, []Change{edit("dir/a", e.read("dir/a"), "three", "x")}), StatusCancelled)
		e.no(e.apply(Change{Kind: ChangeEdit, Path: "dir/a", Base: e.read("dir/a")}), StatusInvalid)
	})
}
