package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

func (b *bench) open(name, text string) {
	b.t.Helper()
	if err := b.ws.DidOpen("file://"+filepath.Join(b.root, name), "text", 1, text); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) change(name string, version int32, text string) {
	b.t.Helper()
	if err := b.ws.DidChange("file://"+filepath.Join(b.root, name), version, []workspace.ContentChange{{Text: text}}); err != nil {
		b.t.Fatal(err)
	}
}

func TestReadWindows(t *testing.T) {
	b := newBench(t)
	var all strings.Builder
	for i := 1; i <= 2500; i++ {
		fmt.Fprintf(&all, "line %d\n", i)
	}
	b.write("long.txt", all.String())
	b.write("empty.txt", "")
	b.write("wide.txt", strings.Repeat("x", 100<<10)+"\nshort\n")
	b.write("crlf.txt", "a\r\nb")
	check := func(input in, lines string, whole bool, parts ...string) string {
		t.Helper()
		r := b.call("read_file", input)
		want(t, r, "ok", parts...)
		o := r.Object.(readObject)
		if o.Lines != lines || o.Whole != whole {
			t.Errorf("%v: lines %q whole %v", input, o.Lines, o.Whole)
		}
		return r.Body
	}
	check(in{"path": "long.txt"}, "1-2000 of 2500", false, "     1\tline 1\n", "  2000\tline 2000\n", "read on with start 2001")
	check(in{"path": "long.txt", "start": 2001}, "2001-2500 of 2500", false, "  2500\tline 2500\n")
	check(in{"path": "long.txt", "start": 10, "end": 11}, "10-11 of 2500", false, "    10\tline 10\n    11\tline 11\n")
	check(in{"path": "long.txt", "start": 2499, "end": 9999}, "2499-2500 of 2500", false)
	check(in{"path": "empty.txt"}, "0-0 of 0", true)
	check(in{"path": "wide.txt"}, "1-1 of 2", false, "too long", "bytes left out")
	check(in{"path": "wide.txt", "start": 2}, "2-2 of 2", false, "short")
	if body := check(in{"path": "crlf.txt"}, "1-2 of 2", true, `\\r\\n`, "no line end"); strings.Contains(body, "\r") {
		t.Errorf("a carriage return is shown: %q", body)
	}
	want(t, b.call("read_file", in{"path": "long.txt", "start": 2501}), "invalid", "2500 lines")
	want(t, b.call("read_file", in{"path": "long.txt", "start": 5, "end": 4}), "invalid")
	want(t, b.call("read_file", in{"path": "gone.txt"}), "not_found", "list_files")
	want(t, b.call("read_file", in{"path": "."}), "unreadable", "directory")
}

// Coverage: a whole write needs the whole file seen; two windows are enough.
func TestWindowsCoverTheFile(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "1\n2\n3\n4\n")
	r := b.call("read_file", in{"path": "a.txt", "start": 1, "end": 2})
	base := string(r.Object.(readObject).Base)
	whole := in{"path": "a.txt", "base": base, "content": "new\n"}
	want(t, b.call("write_file", whole), "unseen")
	b.call("read_file", in{"path": "a.txt", "start": 3})
	want(t, b.call("write_file", whole), "applied")
	want(t, b.call("write_file", in{"path": "a.txt", "content": "again\n"}), "exists")
	want(t, b.call("write_file", in{"path": "deep/er/b.txt", "content": "b\n"}), "applied")
	if b.disk("deep/er/b.txt") != "b\n" {
		t.Error("not created")
	}
}

func TestReadKinds(t *testing.T) {
	b := newBench(t)
	b.write("elf", "\x7fELF\x00\x01")
	b.write("late.bin", strings.Repeat("a", 9000)+"\x00\x00\x00")
	b.write("utf16.txt", "\xFF\xFEh\x00i\x00\n\x00")
	b.write("latin.c", "// caf\xe9\n")
	b.write("bom.txt", "\xEF\xBB\xBFhi\n")
	want(t, b.call("read_file", in{"path": "elf"}), "ok", `"binary":true`, "ELF", `"base":"sha256:`)
	want(t, b.call("read_file", in{"path": "late.bin"}), "ok", `"binary":true`)
	want(t, b.call("read_file", in{"path": "utf16.txt"}), "ok", "\thi\n", "UTF-16LE", `"lines":"1-1 of 1"`)
	want(t, b.call("read_file", in{"path": "latin.c"}), "ok", "caf\uFFFD", "not UTF-8")
	want(t, b.call("read_file", in{"path": "bom.txt"}), "ok", "     1\thi\n", "byte order mark")
	fifo := filepath.Join(b.root, "pipe")
	if err := mkfifo(fifo); err == nil {
		want(t, b.call("read_file", in{"path": "pipe"}), "unreadable", "regular")
	}
	if os.Getuid() != 0 {
		b.write("locked", "x")
		_ = os.Chmod(filepath.Join(b.root, "locked"), 0)
		want(t, b.call("read_file", in{"path": "locked"}), "unreadable")
	}
}

func TestReadBuffer(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "disk\n")
	b.open("a.txt", "disk\n")
	r := b.call("read_file", in{"path": "a.txt"})
	want(t, r, "ok", `"source":"buffer"`, `"dirty":false`)
	if strings.Contains(r.Text(), "disk_diff") {
		t.Errorf("a difference where there is none: %s", r.Text())
	}
	b.change("a.txt", 2, "typed\n")
	want(t, b.call("read_file", in{"path": "a.txt"}), "ok", "\ttyped\n", `"dirty":true`, `"disk_diff":"`, `-typed\n+disk\n`, "unsaved")
	if err := os.Remove(filepath.Join(b.root, "a.txt")); err != nil {
		t.Fatal(err)
	}
	want(t, b.call("read_file", in{"path": "a.txt"}), "ok", `"disk":"absent"`, "\ttyped\n")
	b.open("new.txt", "only in the editor\n")
	want(t, b.call("write_file", in{"path": "new.txt", "content": "x\n"}), "exists")
	want(t, b.call("search_text", in{"pattern": "only in"}), "ok", "new.txt:1: only in the editor")
	want(t, b.call("list_files", in{}), "ok", "new.txt")
}

func TestSearch(t *testing.T) {
	b := newBench(t)
	b.write("a.go", "package a\nfunc Alpha() {}\nfunc beta() {}\n")
	b.write("sub/b.go", "func Alpha2() {}\r\n")
	b.write("sub/c.txt", "func in text\n")
	b.write("bin.go", "func\x00")
	b.write("node_modules/x.go", "func Hidden() {}\n")
	b.write(".gitignore", "ignored/\n*.log\n!keep.log\n")
	b.write("ignored/d.go", "func Hidden() {}\n")
	b.write("x.log", "func Hidden() {}\n")
	b.write("keep.log", "func Kept() {}\n")
	r := b.call("search_text", in{"pattern": `func [A-Z]\w+`})
	want(t, r, "ok", "a.go:2: func Alpha() {}\n", "sub/b.go:1: func Alpha2() {}\n", "keep.log:1:")
	for _, not := range []string{"Hidden", "beta", "text", "\r"} {
		if strings.Contains(r.Body, not) {
			t.Errorf("%q in %s", not, r.Body)
		}
	}
	want(t, b.call("search_text", in{"pattern": "FUNC a", "ignore_case": true, "glob": "*.go"}), "ok", "a.go:2:", `"hits":2`)
	want(t, b.call("search_text", in{"pattern": "Alpha()", "literal": true}), "ok", `"hits":1`)
	want(t, b.call("search_text", in{"pattern": "func", "path": "sub"}), "ok", `"hits":2`, "sub/b.go:1:")
	want(t, b.call("search_text", in{"pattern": "func", "path": "a.go"}), "ok", `"hits":2`)
	want(t, b.call("search_text", in{"pattern": "func", "path": "node_modules"}), "ok", "node_modules/x.go:1:")
	want(t, b.call("search_text", in{"pattern": "func", "limit": 1}), "ok", `"hits":1`, `"more":4`, "4 more matching lines")
	want(t, b.call("search_text", in{"pattern": "x", "path": "gone"}), "not_found")
	want(t, b.call("search_text", in{"pattern": "x", "glob": "[a"}), "invalid")

	// What a search showed is believed, in ranges: a later change makes it stale.
	b.write("a.go", "package a\nfunc Alpha() {}\n\nfunc beta() {}\n")
	if stale := b.guard.Stale(t.Context()); len(stale) != 1 || stale[0].Display != "a.go" {
		t.Errorf("stale: %+v", stale)
	}
}

func TestSearchSeesUnsavedText(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "on disk\n")
	b.open("a.txt", "on disk\n")
	b.change("a.txt", 2, "in the editor\n")
	want(t, b.call("search_text", in{"pattern": "disk"}), "ok", `"hits":0`)
	want(t, b.call("search_text", in{"pattern": "editor"}), "ok", "a.txt:1: in the editor")
}

func TestList(t *testing.T) {
	b := newBench(t)
	b.write("a.go", "")
	b.write("src/b.go", "")
	b.write("src/deep/c.ts", "")
	b.write("src/.gitignore", "deep/*.tmp\n")
	b.write("src/deep/x.tmp", "")
	b.write("target/out", "")
	b.write(".git/info/exclude", "secret-plans\n")
	b.write("secret-plans", "")
	r := b.call("list_files", in{})
	want(t, r, "ok", "a.go\n", "src/b.go\n", "src/deep/c.ts\n")
	for _, not := range []string{"x.tmp", "target", "secret-plans", ".git/"} {
		if strings.Contains(r.Body, not) {
			t.Errorf("%q in %s", not, r.Body)
		}
	}
	if r := b.call("list_files", in{"glob": "*.go"}); r.Body != "a.go\nsrc/b.go\n" {
		t.Errorf("*.go: %q", r.Body)
	}
	if r := b.call("list_files", in{"glob": "src/**/*.ts"}); r.Body != "src/deep/c.ts\n" {
		t.Errorf("src/**: %q", r.Body)
	}
	if r := b.call("list_files", in{"path": "src", "glob": "**/*.ts"}); r.Body != "src/deep/c.ts\n" {
		t.Errorf("in src: %q", r.Body)
	}
	want(t, b.call("list_files", in{"path": "target"}), "ok", "target/out")
	want(t, b.call("list_files", in{"limit": 1}), "ok", `"count":1`, "more; narrow")
	want(t, b.call("list_files", in{"path": "nope"}), "not_found")
	want(t, b.call("list_files", in{"path": "/"}), "outside_workspace")
}

// F06, F08, F09: every verb refuses a path that leads out, by links too.
func TestNothingLeavesTheWorkspace(t *testing.T) {
	b := newBench(t)
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "x.txt"), []byte("outside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(b.root, "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(out, "x.txt"), filepath.Join(b.root, "link.txt")); err != nil {
		t.Fatal(err)
	}
	b.write("a.txt", "a\n")
	base := b.read("a.txt")
	for _, path := range []string{"out/x.txt", "../x.txt", filepath.Join(out, "x.txt"), b.root + "2/x.txt"} {
		for _, c := range []Call{
			b.mk("read_file", in{"path": path}),
			b.mk("edit_file", in{"path": path, "base": base, "edits": []in{{"old": "outside", "new": "x"}}}),
			b.mk("edit_files", in{"files": []in{{"path": path, "base": base, "edits": []in{{"old": "outside", "new": "x"}}}}}),
			b.mk("write_file", in{"path": path, "content": "x"}),
			b.mk("delete_file", in{"path": path, "base": base}),
			b.mk("move_file", in{"path": path, "to": "b.txt", "base": base}),
			b.mk("move_file", in{"path": "a.txt", "to": path + "2", "base": base}),
			b.mk("search_text", in{"pattern": "outside", "path": path}),
			b.mk("list_files", in{"path": path}),
		} {
			r := b.message(c)[0]
			if r.Status != "outside_workspace" || strings.Contains(r.Body, "outside\n") {
				t.Errorf("%s %s: %s", c.Tool, c.Input, r.Text())
			}
		}
	}
	if r := b.call("search_text", in{"pattern": "outside"}); strings.Contains(r.Body, "x.txt") || strings.Contains(r.Body, "link.txt") {
		t.Errorf("the search followed the link: %s", r.Body)
	}
	if r := b.call("list_files", in{}); strings.Contains(r.Body, out) || !strings.Contains(r.Body, "2 links not shown") {
		t.Errorf("the list has what is outside: %s", r.Body)
	}
	if got, _ := os.ReadFile(filepath.Join(out, "x.txt")); string(got) != "outside\n" || b.disk("a.txt") != "a\n" {
		t.Error("something was written")
	}
}
