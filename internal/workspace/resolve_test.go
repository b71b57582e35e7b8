package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Names keep their meaning when the folder that holds the workspace moves and
// a link takes its place, and change it when another directory does.
func TestRootThatIsReplaced(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, root := filepath.Join(top, "home"), filepath.Join(top, "home", "repo")
	other := filepath.Join(top, "other", "repo")
	for _, d := range []string{root, other} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "a.txt"), []byte(d), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w := New(Options{Roots: []string{root}})
	want := Path(filepath.Join(root, "a.txt"))
	at := func(when string, want Path) {
		t.Helper()
		n, err := w.Resolve("", "a.txt")
		if err != nil || n.Path != want {
			t.Fatalf("%s: %q, %v; want %q", when, n.Path, err, want)
		}
	}
	at("at first", want)

	replace := func(target string) {
		t.Helper()
		if err := os.Symlink(target, home); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(home, home+"2"); err != nil {
		t.Fatal(err)
	}
	replace(home + "2")
	at("moved, with a link in its place", want)

	if err := os.Remove(home); err != nil {
		t.Fatal(err)
	}
	replace(filepath.Join(top, "other"))
	at("another directory behind the link", Path(filepath.Join(other, "a.txt")))
}

func TestLinkThatPointsToItself(t *testing.T) {
	f := newFixture(t)
	if err := os.Symlink("loop", filepath.Join(f.dir, "loop")); err != nil {
		t.Fatal(err)
	}
	var pe *PathError
	if _, err := f.w.Resolve("", "loop/a.txt"); !errors.As(err, &pe) {
		t.Fatalf("got %v", err)
	}
}

// A session that chose one of several folders reads bare paths there, and what
// Display shows everywhere.
func TestResolveIn(t *testing.T) {
	top := t.TempDir()
	if d, err := filepath.EvalSymlinks(top); err == nil {
		top = d
	}
	for _, f := range []string{"one/src/a.go", "two/src/a.go", "one/only.go", "two/a b.go"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, f)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, f), []byte(f), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one, two := filepath.Join(top, "one"), filepath.Join(top, "two")
	w := New(Options{Roots: []string{one, two}})
	if _, err := w.Resolve(two, "src/a.go"); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("without a choice: %v", err)
	}
	for spelled, want := range map[string]string{
		"src/a.go": "two/src/a.go", "./src/a.go": "two/src/a.go", "src/new.go": "two/src/new.go", "only.go": "two/only.go",
		"a%20b.go": "two/a b.go", "one/src/a.go": "one/src/a.go", "two/src/a.go": "two/src/a.go", filepath.Join(one, "only.go"): "one/only.go",
		"file://" + filepath.ToSlash(one) + "/only.go": "one/only.go", "one/new.go": "one/new.go", "three/new.go": "two/three/new.go", "../one/only.go": "one/only.go",
	} {
		if n, err := w.ResolveIn(two, spelled); err != nil || n.Display != want {
			t.Errorf("%s is %s, %v; want %s", spelled, n.Display, err, want)
		}
	}
	for _, bad := range []string{"", "a\x00b"} {
		if _, err := w.ResolveIn(two, bad); !errors.Is(err, ErrBadPath) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// One file under many spellings on a volume that folds case, such as macOS's and
// Windows's, or exFAT. Elsewhere STELLA_TEST_FOLDING_DIR names a directory on one.
func TestFoldingVolume(t *testing.T) {
	dir := os.Getenv("STELLA_TEST_FOLDING_DIR")
	if dir == "" {
		dir = t.TempDir()
	}
	dir, err := os.MkdirTemp(dir, "Folding")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	f := &fixture{t, dir, New(Options{Roots: []string{dir}})}
	f.write("Src/Main.go", "package main\n")
	if _, err := os.Lstat(filepath.Join(dir, "src/main.go")); err != nil {
		t.Skip("this volume keeps spellings apart")
	}
	want := f.name("Src/Main.go")
	for _, spelled := range []string{"src/main.go", "SRC/MAIN.GO", filepath.Join(dir, "sRC", "Main.go"), uriOfPath(filepath.Join(dir, "src/Main.go"))} {
		if n := f.name(spelled); n != want {
			t.Errorf("%s is %+v, want %+v", spelled, n, want)
		}
	}
	f.open("src/main.go", "package main // typed\n")
	if v := f.view("Src/Main.go"); v.Buffer == nil || v.Buffer.Text != "package main // typed\n" {
		t.Errorf("the buffer opened under the other spelling is not seen: %+v", v.Buffer)
	}
	if n := f.name("src/New.go"); n.Display != "Src/New.go" {
		t.Errorf("a new file is shown as %s", n.Display)
	}
}
