package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type fixture struct {
	*testing.T
	dir string
	w   *Workspace
}

func newFixture(t *testing.T) *fixture {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{t, dir, New(Options{Roots: []string{dir}})}
}

func (f *fixture) write(name, text string) string {
	f.Helper()
	p := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		f.Fatal(err)
	}
	return p
}

func (f *fixture) name(spelled string) Name {
	f.Helper()
	n, err := f.w.Resolve("", spelled)
	if err != nil {
		f.Fatal(err)
	}
	return n
}

func (f *fixture) view(spelled string) File {
	f.Helper()
	file, err := f.w.View(context.Background(), f.name(spelled))
	if err != nil {
		f.Fatal(err)
	}
	return file
}

func (f *fixture) open(name, text string) string {
	f.Helper()
	uri := uriOfPath(filepath.Join(f.dir, name))
	if err := f.w.DidOpen(uri, "", 1, text); err != nil {
		f.Fatal(err)
	}
	return uri
}

func TestOneFileManySpellings(t *testing.T) {
	f := newFixture(t)
	f.write("real/a b.go", "x")
	if err := os.Symlink("real", filepath.Join(f.dir, "dirlink")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("dirlink/a b.go", filepath.Join(f.dir, "link")); err != nil {
		t.Fatal(err)
	}
	f.write("caf\u00e9.go", "nfc")
	want := f.name("real/a b.go").Path
	for _, s := range []string{"./real/a b.go", "real//a b.go", "dirlink/a b.go", "link", "real/a%20b.go", f.dir + "/real/../link", "file://" + f.dir + "/real/a%20b.go"} {
		if got := f.name(s).Path; got != want {
			t.Errorf("%q is %q, want %q", s, got, want)
		}
	}
	if n := f.name("link"); n.Link != filepath.Join(f.dir, "link") || n.Display != "link" {
		t.Errorf("a link's own entry: %+v", n)
	}
	if a, b := f.name("caf\u00e9.go"), f.name("cafe\u0301.go"); a.Path != b.Path {
		t.Errorf("NFC and NFD of one file: %q, %q", a.Path, b.Path)
	}
	f.write("cafe\u0301.go", "nfd") // now both exist, as two files
	if a, b := f.name("caf\u00e9.go"), f.name("cafe\u0301.go"); a.Path == b.Path {
		t.Error("two files became one")
	}
	for _, s := range []string{"a#b.go", "50%.go", "\u00e9.go", "a+b.go", "q?.go", "(x) [y].go"} {
		p := f.write("odd/"+s, "x")
		n, err := f.w.ResolveURI(uriOfPath(p))
		if err != nil || string(n.Path) != p || n.Display != "odd/"+s {
			t.Errorf("%q by its URI %s: %+v %v", s, uriOfPath(p), n, err)
		}
	}
	if _, err := f.w.Resolve("", "a\x00b"); !errors.Is(err, ErrBadPath) {
		t.Errorf("NUL in a path: %v", err)
	}
}

func TestContainment(t *testing.T) {
	f := newFixture(t)
	f.write("app/x", "")
	f.write("app2/x", "")
	f.w.SetRoots([]string{filepath.Join(f.dir, "app")})
	if f.name(f.dir+"/app2/x").Inside() || f.name("../app2/x").Inside() {
		t.Error("a prefix of the name is not containment")
	}
	if err := os.Symlink("../app2", filepath.Join(f.dir, "app", "out")); err != nil {
		t.Fatal(err)
	}
	if n := f.name("out/x"); n.Inside() {
		t.Errorf("a link that leads out: %+v", n)
	}
	if err := os.Symlink("loop", filepath.Join(f.dir, "app", "loop")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.w.Resolve("", "loop"); err == nil {
		t.Error("a link to itself resolved")
	}
}

func TestTwoRoots(t *testing.T) {
	f := newFixture(t)
	f.write("one/src/a.go", "1")
	f.write("two/src/a.go", "2")
	f.write("two/only.go", "2")
	f.w.SetRoots([]string{filepath.Join(f.dir, "one"), filepath.Join(f.dir, "two")})
	_, err := f.w.Resolve("", "src/a.go")
	if !errors.Is(err, ErrAmbiguous) || !strings.Contains(err.Error(), "one/src/a.go") || !strings.Contains(err.Error(), "two/src/a.go") {
		t.Errorf("ambiguity: %v", err)
	}
	for _, s := range []string{"one/src/a.go", "two/src/a.go", "two/only.go", "two/new.go"} {
		if n := f.name(s); n.Display != s {
			t.Errorf("%q is shown as %q", s, n.Display)
		}
	}
	if n := f.name("only.go"); n.Display != "two/only.go" {
		t.Errorf("the only root that has it: %+v", n)
	}
	if n, _ := f.w.Resolve(f.w.Roots()[1], "fresh.go"); n.Display != "two/fresh.go" {
		t.Errorf("a new file goes to the session's root: %+v", n)
	}
}

func TestPairs(t *testing.T) {
	for _, c := range []struct {
		name, disk, text string
		dirty, different bool
	}{
		{"same", "a\n", "a\n", false, false},
		{"BOM stripped", "\xEF\xBB\xBFa\n", "a\n", false, false},
		{"UTF-16LE", "\xFF\xFEa\x00\n\x00", "a\n", false, false},
		{"Latin-1", "caf\xe9\n", "café\n", false, false},
		{"no final newline", "a", "a", false, false},
		{"mixed line ends unified", "a\r\nb\nc\r\n", "a\r\nb\r\nc\r\n", false, true},
		{"lossy decoding", "caf\xe9\n", "caf\uFFFD\n", false, true},
		{"hot exit text", "a\n", "a\nmine\n", true, false},
		{"empty", "", "", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.write("x", c.disk)
			f.open("x", c.text)
			b := f.view("x").Buffer
			if b.Dirty != c.dirty || b.Different != c.different {
				t.Errorf("dirty %v, different %v", b.Dirty, b.Different)
			}
			hasPair := b.Pair != Pair{}
			if hasPair != (!c.dirty && !c.different) {
				t.Errorf("pair %v", b.Pair)
			}
		})
	}
}

func causes(f *fixture, p Path, from, to State, since uint64) string {
	var s []string
	for _, c := range f.w.Causes(p, from, to, since) {
		s = append(s, string(c.Kind))
	}
	return strings.Join(s, ",")
}

func TestTypingSaveAndUndoAsCauses(t *testing.T) {
	f := newFixture(t)
	path := f.write("x", "a\n")
	uri := f.open("x", "a\n")
	seen := f.view("x")
	from := State{Text: seen.Base(), Disk: seen.Disk.Digest}
	typed := func(v int32, text string) {
		if err := f.w.DidChange(uri, v, []ContentChange{{Text: text}}); err != nil {
			t.Fatal(err)
		}
	}
	now := func() State {
		v := f.view("x")
		return State{Text: v.Base(), Disk: v.Disk.Digest}
	}
	typed(2, "ab\n")
	typed(3, "abc\n")
	if got := causes(f, seen.Name.Path, from, now(), seen.Seq); got != "typing" {
		t.Errorf("typed: %s", got)
	}
	typed(4, "a\n")
	if got := causes(f, seen.Name.Path, from, now(), seen.Seq); got != "" {
		t.Errorf("typed and undone: %s", got)
	}
	typed(5, "saved\n")
	os.WriteFile(path, []byte("saved\n"), 0o644)
	f.view("x") // sees the disk before the didSave arrives
	if err := f.w.DidSave(uri, nil); err != nil {
		t.Fatal(err)
	}
	if got := causes(f, seen.Name.Path, from, now(), seen.Seq); got != "save" {
		t.Errorf("typed and saved: %s", got)
	}
	if b := f.view("x").Buffer; b.Dirty || b.Pair.Disk != DigestOfString("saved\n") {
		t.Errorf("after the save: %+v", b)
	}
	os.WriteFile(path, []byte("theirs\n"), 0o644)
	if got := causes(f, seen.Name.Path, from, now(), seen.Seq); got != "save,outside" {
		t.Errorf("saved, then written outside: %s", got)
	}
}

func TestABeliefInTheMiddleOfTyping(t *testing.T) {
	f := newFixture(t)
	f.write("x", "a\n")
	uri := f.open("x", "a\n")
	f.w.DidChange(uri, 2, []ContentChange{{Text: "ab\n"}})
	seen := f.view("x")
	f.w.DidChange(uri, 3, []ContentChange{{Text: "abc\n"}})
	now := f.view("x")
	if got := causes(f, seen.Name.Path, State{Text: seen.Base()}, State{Text: now.Base()}, seen.Seq); got != "typing" {
		t.Errorf("%s", got)
	}
}

func TestOwnEditKeepsCleanAndIsAttributed(t *testing.T) {
	f := newFixture(t)
	f.write("x", "a\n")
	uri := f.open("x", "a\n")
	seen := f.view("x")
	p := seen.Name.Path
	cancel := f.w.ExpectOwn(p, seen.Base(), DigestOfString("ab\n"), Cause{Kind: SessionEdit, Session: "s", Edit: 1})
	defer cancel()
	done := make(chan error)
	go func() {
		done <- f.w.Await(context.Background(), p, func(b Buffer, open bool) bool { return b.Digest == DigestOfString("ab\n") })
	}()
	for f.waiting(p) == 0 {
		time.Sleep(0) // yields until the waiter stands
	}
	// Our edit and the person's typing in one notification.
	f.w.DidChange(uri, 2, []ContentChange{
		{Range: &Range{Position{0, 1}, Position{0, 1}}, Text: "b"},
		{Range: &Range{Position{0, 2}, Position{0, 2}}, Text: "!"},
	})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := causes(f, p, State{Text: seen.Base()}, State{Text: f.view("x").Base()}, seen.Seq); got != "session,typing" {
		t.Errorf("%s", got)
	}
	if b := f.view("x").Buffer; !b.Dirty {
		t.Error("the person's character is not dirty")
	}
	f.w.DidChange(uri, 3, []ContentChange{{Range: &Range{Position{0, 2}, Position{0, 3}}, Text: ""}})
	if b := f.view("x").Buffer; b.Dirty || !b.OwnUnsaved {
		t.Errorf("back at our own text: %+v", b)
	}
}

func (f *fixture) waiting(p Path) int {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	return len(f.w.waiters[p])
}

func TestUnsure(t *testing.T) {
	f := newFixture(t)
	f.write("x", "a\n")
	uri := f.open("x", "a\n")
	if err := f.w.DidChange(uri, 1, []ContentChange{{Range: &Range{}, Text: "z"}}); err == nil {
		t.Error("an old version was taken")
	}
	if b := f.view("x").Buffer; b.Unsure == "" || b.Text != "a\n" {
		t.Errorf("%+v", b)
	}
	if err := f.w.DidChange(uri, 2, []ContentChange{{Text: "whole\n"}}); err != nil {
		t.Fatal(err)
	}
	if b := f.view("x").Buffer; b.Unsure != "" {
		t.Errorf("a full text did not clear it: %+v", b)
	}
	if err := f.w.DidChange(uri, 9, []ContentChange{{Range: &Range{Position{1_000_000, 0}, Position{1_000_000, 1_000_000}}, Text: "z"}}); err == nil {
		t.Error("a range outside the text was taken")
	}
	if f.view("x").Buffer.Unsure == "" {
		t.Error("not unsure")
	}
	text := "saved\n"
	f.write("x", text)
	f.w.DidSave(uri, &text)
	if b := f.view("x").Buffer; b.Unsure != "" || b.Dirty {
		t.Errorf("after a save with text: %+v", b)
	}
}

func TestNeovimAddsAFinalNewlineOnSave(t *testing.T) {
	f := newFixture(t)
	path := f.write("x", "a")
	uri := f.open("x", "a")
	os.WriteFile(path, []byte("a\n"), 0o644)
	f.w.DidSave(uri, nil)
	b := f.view("x").Buffer
	if b.Dirty || b.Pair != (Pair{DigestOfString("a"), DigestOfString("a\n")}) {
		t.Errorf("%+v", b)
	}
	if !f.w.ImageOf(f.name("x").Path, DigestOfString("a"), DigestOfString("a\n")) {
		t.Error("not an image")
	}
}

func TestUnreadableIsNotAbsent(t *testing.T) {
	f := newFixture(t)
	os.Mkdir(filepath.Join(f.dir, "d"), 0o755)
	_, err := f.w.View(context.Background(), f.name("d"))
	if !errors.Is(err, ErrDirectory) {
		t.Errorf("directory: %v", err)
	}
	f.write("file", "x")
	if v := f.view("file/below"); v.Exists() {
		t.Error("something lies below a file")
	}
	if v := f.view("none"); v.Exists() || v.Base() != "" {
		t.Errorf("absent: %+v", v)
	}
	f.w.DidOpen("untitled:Untitled-1", "go", 1, "draft")
	if n, _ := f.w.ResolveURI("untitled:Untitled-1"); n.Inside() {
		t.Error("untitled is inside")
	} else if v, err := f.w.View(context.Background(), n); err != nil || string(v.Truth()) != "draft" {
		t.Errorf("untitled: %+v %v", v, err)
	}
}

func TestOpenUnderTwoNames(t *testing.T) {
	f := newFixture(t)
	f.write("real", "a\n")
	os.Symlink("real", filepath.Join(f.dir, "link"))
	f.open("real", "a\n")
	link := f.open("link", "a\n")
	if b := f.view("real").Buffer; b.Unsure != "" {
		t.Errorf("equal buffers: %s", b.Unsure)
	}
	f.w.DidChange(link, 2, []ContentChange{{Text: "b\n"}})
	if b := f.view("real").Buffer; b.Unsure == "" || b.Text != "b\n" {
		t.Errorf("two texts for one file: %+v", b)
	}
}

func TestSameBytesAreNoChange(t *testing.T) {
	f := newFixture(t)
	path := f.write("x", "a\n")
	seen := f.view("x")
	os.Rename(f.write("tmp", "a\n"), path)
	f.w.DiskEvent(seen.Name.Path, Cause{Kind: Outside})
	now := f.view("x")
	if got := causes(f, seen.Name.Path, State{Disk: seen.Disk.Digest}, State{Disk: now.Disk.Digest}, seen.Seq); got != "" {
		t.Errorf("%s", got)
	}
	os.WriteFile(path, []byte("b\n"), 0o644)
	f.view("x")
	f.w.RecordDisk(seen.Name.Path, seen.Disk.Digest, DigestOfString("b\n"), Cause{Kind: SessionEdit, Session: "s", Edit: 2})
	if got := causes(f, seen.Name.Path, State{Disk: seen.Disk.Digest}, State{Disk: DigestOfString("b\n")}, seen.Seq); got != "session" {
		t.Errorf("re-attributed: %s", got)
	}
}
