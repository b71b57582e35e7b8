//go:build linux

package commit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// TestEscape is F06, F08 and F09: no verb leaves the root, whatever a directory
// is swapped for during the call.
func TestEscape(t *testing.T) {
	outside := t.TempDir()
	verbs := map[string]func(b *bench, path string) error{
		"replace": func(b *bench, path string) error {
			_, err := b.Replace(bg, Request{Path: path, Root: b.dir, Expect: digest("one\n"), Candidate: []byte("evil\n")})
			return err
		},
		"create": func(b *bench, path string) error {
			_, err := b.Create(bg, Request{Path: path + ".new", Root: b.dir, Candidate: []byte("evil\n")})
			return err
		},
		"delete": func(b *bench, path string) error {
			_, err := b.Delete(bg, Request{Path: path, Root: b.dir, Expect: digest("one\n")})
			return err
		},
		"move": func(b *bench, path string) error {
			_, err := b.Move(bg, Request{Path: path, To: path + ".moved", Root: b.dir, Expect: digest("one\n")})
			return err
		},
		"move to": func(b *bench, path string) error {
			src := b.write("src.go", "one\n")
			_, err := b.Move(bg, Request{Path: src, To: path + ".moved", Root: b.dir, Expect: digest("one\n")})
			return err
		},
	}
	for verb, do := range verbs {
		reset := func() {
			os.RemoveAll(outside)
			os.Mkdir(outside, 0o755)
			os.WriteFile(outside+"/f.go", []byte("one\n"), 0o644)
		}
		untouched := func(t *testing.T) {
			t.Helper()
			all, _ := os.ReadDir(outside)
			content, _ := os.ReadFile(outside + "/f.go")
			if len(all) != 1 || string(content) != "one\n" {
				t.Errorf("the outside was touched: %v, f.go holds %q", all, content)
			}
		}
		t.Run(verb+"/link", func(t *testing.T) {
			reset()
			b := newBench(t)
			os.Symlink(outside, b.path("sub"))
			if err := do(b, b.path("sub/f.go")); !errors.Is(err, ErrSwapped) {
				t.Errorf("got %v", err)
			}
			untouched(t)
		})
		t.Run(verb+"/swapped", func(t *testing.T) {
			reset()
			b := newBench(t)
			os.Mkdir(b.path("sub"), 0o755)
			b.write("sub/f.go", "one\n")
			var done atomic.Bool
			b.hook = func(p string) {
				if (p == "intent-ready" || p == "compared" || p == "create-ready") && !done.Swap(true) {
					os.Rename(b.path("sub"), b.path("sub.real"))
					os.Symlink(outside, b.path("sub"))
				}
			}
			do(b, b.path("sub/f.go"))
			b.Close(bg)
			if !done.Load() {
				t.Error("nothing was swapped")
			}
			untouched(t)
		})
		t.Run(verb+"/dots", func(t *testing.T) {
			reset()
			b := newBench(t)
			rel, _ := filepath.Rel(b.dir, outside)
			if err := do(b, b.dir+"/"+rel+"/f.go"); !errors.Is(err, ErrOutside) {
				t.Errorf("got %v", err)
			}
			untouched(t)
		})
	}
}

// TestPathAlwaysExists is G08: polled without pause during 1,000 edits.
func TestPathAlwaysExists(t *testing.T) {
	b := newBench(t)
	path := b.write("a.go", "0")
	ctx, cancel := context.WithCancel(bg)
	bad := make(chan string, 1)
	samples := 0
	go func() {
		defer close(bad)
		for ctx.Err() == nil {
			content, err := os.ReadFile(path)
			if err != nil || len(content) == 0 {
				bad <- fmt.Sprintf("%q, %v", content, err)
				return
			}
			samples++
			time.Sleep(100 * time.Microsecond) // the sampling rate, ten times the asked one
		}
	}()
	for i := range 1000 {
		if _, err := b.replace("a.go", fmt.Sprint(i), fmt.Sprint(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if got, ok := <-bad; ok {
		t.Errorf("a sample saw %s", got)
	}
	if samples < 1000 {
		t.Errorf("only %d samples", samples)
	}
}

// TestParkedAreBounded: with room for two, a third commit waits for a place and none is cut short.
func TestParkedAreBounded(t *testing.T) {
	dir := t.TempDir()
	e, err := newEngine(Options{StateDir: t.TempDir(), MaxParked: 2}, testPark)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(bg)
	most := 0
	for i := range 6 {
		p := filepath.Join(dir, "a.go")
		os.WriteFile(p, []byte("one\n"), 0o644)
		if _, err := e.Replace(bg, Request{Path: p, Expect: digest("one\n"), Candidate: []byte("two\n")}); err != nil {
			t.Fatal(i, err)
		}
		most = max(most, len(e.slots))
	}
	if most > 2 {
		t.Errorf("%d parked at once", most)
	}
	ctx, cancel := context.WithTimeout(bg, time.Millisecond)
	defer cancel()
	p := filepath.Join(dir, "a.go")
	if _, err := e.Replace(ctx, Request{Path: p, Expect: digest("two\n"), Candidate: []byte("three\n")}); !errors.Is(err, context.DeadlineExceeded) && err != nil {
		t.Errorf("got %v", err)
	}
}
