//go:build linux

package commit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

const testPark = 60 * time.Millisecond

// bench is one engine on one temporary directory.
type bench struct {
	*Engine
	t    *testing.T
	dir  string
	race chan Race
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), race: make(chan Race, 16)}
	e, err := newEngine(Options{StateDir: t.TempDir(), OnRace: func(r Race) { b.race <- r }}, testPark)
	if err != nil {
		t.Fatal(err)
	}
	b.Engine = e
	t.Cleanup(b.finish)
	return b
}

// finish waits for the parked files; nothing of ours may be left then.
func (b *bench) finish() {
	if err := b.Close(bg); err != nil {
		b.t.Error(err)
	}
	filepath.WalkDir(b.dir, func(p string, _ os.DirEntry, _ error) error {
		if IsTemporary(p) {
			b.t.Errorf("a temporary is left: %s", p)
		}
		return nil
	})
	if left, _ := os.ReadDir(b.intents.parent); len(left) > 0 {
		b.t.Errorf("intents are left: %v", left)
	}
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) write(name, content string) string {
	b.t.Helper()
	if err := os.WriteFile(b.path(name), []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return b.path(name)
}

func (b *bench) want(name, content string) {
	b.t.Helper()
	got, err := os.ReadFile(b.path(name))
	if err != nil || string(got) != content {
		b.t.Errorf("%s holds %q (%v), want %q", name, got, err, content)
	}
}

func (b *bench) replace(name, from, to string) (Result, error) {
	return b.Replace(context.Background(), Request{Path: b.path(name), Root: b.dir, Expect: digest(from), Candidate: []byte(to)})
}

// stored reports whether the displaced store holds content for the file.
func (b *bench) stored(name, content string) bool {
	b.t.Helper()
	all, err := b.store.List()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range all {
		if _, c, err := b.store.Get(e.ID); err == nil && string(c) == content && e.Path == b.path(name) {
			return true
		}
	}
	return false
}

func digest(s string) Digest { return workspace.DigestOfString(s) }

func TestReplace(t *testing.T) {
	b := newBench(t)
	b.write("a.go", "one\n")
	res, err := b.replace("a.go", "one\n", "two\n")
	if err != nil || res.Mode != ModeLease || res.Digest != digest("two\n") {
		t.Fatalf("got %+v, %v", res, err)
	}
	b.want("a.go", "two\n")
}

func TestReplaceStale(t *testing.T) {
	b := newBench(t)
	b.write("a.go", "theirs\n")
	_, err := b.replace("a.go", "one\n", "two\n")
	var stale *StaleError
	if !errors.As(err, &stale) || stale.Now != digest("theirs\n") || string(stale.Bytes) != "theirs\n" {
		t.Fatalf("got %v", err)
	}
	b.want("a.go", "theirs\n")
	if _, err = b.replace("gone.go", "one\n", "two\n"); !errors.As(err, &stale) || stale.Now != "" {
		t.Fatalf("a file that is gone: got %v", err)
	}
}

func TestReplaceBusy(t *testing.T) {
	b := newBench(t)
	f, err := os.OpenFile(b.write("a.log", "one\n"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	start := time.Now()
	if _, err := b.replace("a.log", "one\n", "two\n"); !errors.Is(err, ErrBusy) {
		t.Fatalf("got %v, want busy", err)
	}
	if d := time.Since(start); d < leaseWait || d > 10*leaseWait {
		t.Errorf("gave up after %v", d)
	}
	b.want("a.log", "one\n")
}

func TestCreateDeleteMove(t *testing.T) {
	b := newBench(t)
	ctx := context.Background()
	res, err := b.Create(ctx, Request{Path: b.path("x/y/n.go"), Root: b.dir, Candidate: []byte("new\n")})
	if err != nil || strings.Join(res.CreatedDirs, " ") != b.path("x")+" "+b.path("x/y") {
		t.Fatalf("got %+v, %v", res, err)
	}
	b.want("x/y/n.go", "new\n")
	if _, err := b.Create(ctx, Request{Path: b.path("x/y/n.go"), Root: b.dir}); !errors.Is(err, ErrExists) {
		t.Fatalf("got %v, want exists", err)
	}
	res, err = b.Move(ctx, Request{Path: b.path("x/y/n.go"), To: b.path("z/m.go"), Root: b.dir, Expect: digest("new\n")})
	if err != nil || strings.Join(res.CreatedDirs, " ") != b.path("z") {
		t.Fatalf("got %+v, %v", res, err)
	}
	b.want("z/m.go", "new\n")
	var stale *StaleError
	if _, err := b.Delete(ctx, Request{Path: b.path("z/m.go"), Root: b.dir, Expect: digest("other")}); !errors.As(err, &stale) {
		t.Fatalf("got %v, want stale", err)
	}
	if _, err := b.Delete(ctx, Request{Path: b.path("z/m.go"), Root: b.dir, Expect: digest("new\n")}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.path("z/m.go")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}
