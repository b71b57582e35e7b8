package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

var when = time.UnixMilli(1_700_000_000_000)

func fill(t *testing.T, s *Store, n int) int64 {
	t.Helper()
	ctx := context.Background()
	id, _, err := s.Workspace(ctx, "/w", when)
	if err != nil {
		t.Fatal(err)
	}
	var b Batch
	for i := range n {
		k := Key{byte(i), byte(i >> 8), 1}
		b.Facts = append(b.Facts, Facts{Key: k, Head: Head{Names: []uint32{1, uint32(i)}, Defs: []uint32{uint32(i)}}, Blob: bytes.Repeat([]byte{byte(i)}, 300)})
		b.Rows = append(b.Rows, Row{Path: fmt.Sprintf("f%d.go", i), Key: k, Sig: Sig{Size: int64(i)}})
	}
	if err := s.Write(ctx, id, b); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	s, aside, err := Open(ctx, dir, "x")
	if err != nil || aside != "" {
		t.Fatal(err, aside)
	}
	id := fill(t, s, 50)
	if err := s.Write(ctx, id, Batch{Removed: []string{"f3.go"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Passed(ctx, id, when); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s, aside, err = Open(ctx, dir, "x")
	if err != nil || aside != "" {
		t.Fatal(err, aside)
	}
	defer s.Close()
	_, passed, _ := s.Workspace(ctx, "/w", when)
	n := 0
	if err := s.Load(ctx, id, func(r Row, h Head) { n++ }); err != nil || n != 49 || !passed.Equal(when) {
		t.Errorf("%d rows, passed %v, %v", n, passed, err)
	}
	blob, ok, err := s.Blob(ctx, Key{7, 0, 1})
	if err != nil || !ok || len(blob) != 300 || blob[0] != 7 {
		t.Errorf("blob %v %v %v", len(blob), ok, err)
	}
	if _, ok, err := s.Blob(ctx, Key{9, 9, 9}); ok || err != nil {
		t.Errorf("unknown key: %v %v", ok, err)
	}
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
}

// TestCutAnywhere: whatever is left of the file, opening and using it either
// works or says that it is damaged, and the next open starts afresh; a file that
// is cut says so at once. STELLA_GRAPH_CUTS=N tries every Nth byte.
func TestCutAnywhere(t *testing.T) {
	ctx := context.Background()
	src := t.TempDir()
	s, _, err := Open(ctx, src, "x")
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, 400)
	path := s.path
	s.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	cuts := []int{0, 1, 15, 16, 50, 99, 100, 511, 4095, 4096, 4097, len(whole) - 1}
	for range 25 {
		cuts = append(cuts, rng.IntN(len(whole)))
	}
	mixed := len(cuts)
	if s := os.Getenv("STELLA_GRAPH_CUTS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("STELLA_GRAPH_CUTS=%s", s)
		}
		for at := 0; at < len(whole); at += n {
			cuts = append(cuts, at)
		}
	}
	for i, cut := range cuts {
		data := append([]byte(nil), whole[:cut]...)
		isCut := true
		if i%3 == 2 && i < mixed && cut > 4200 {
			isCut = false // damage in the middle instead
			data = append([]byte(nil), whole...)
			for j := cut; j < min(cut+4096, len(data)); j++ {
				data[j] = byte(rng.Uint32())
			}
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o600); err != nil {
			t.Fatal(err)
		}
		tryDamaged(t, ctx, dir, cut, isCut && cut > 0)
	}
	t.Logf("%d damages of %d bytes", len(cuts), len(whole))
}

func tryDamaged(t *testing.T, ctx context.Context, dir string, cut int, isCut bool) {
	t.Helper()
	s, aside, err := Open(ctx, dir, "x")
	if err != nil {
		t.Errorf("cut at %d: %v", cut, err)
		return
	}
	if isCut && aside == "" {
		t.Errorf("cut at %d: opened as if nothing were missing", cut)
	}
	defer func() { s.Close() }()
	use := func() error {
		id, _, err := s.Workspace(ctx, "/w", when)
		if err != nil {
			return err
		}
		if err := s.Load(ctx, id, func(Row, Head) {}); err != nil {
			return err
		}
		for i := range 400 {
			if _, _, err := s.Blob(ctx, Key{byte(i), byte(i >> 8), 1}); err != nil {
				return err
			}
		}
		return errors.Join(s.Write(ctx, id, Batch{Rows: []Row{{Path: "new.go"}}}), s.Check(ctx))
	}
	if err := use(); err != nil {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("cut at %d: error does not say damaged: %v", cut, err)
		}
		if err := s.SetAside(); err != nil {
			t.Fatal(err)
		}
		if s, _, err = Open(ctx, dir, "x"); err != nil {
			t.Fatalf("cut at %d: no fresh start: %v", cut, err)
		}
		if err := use(); err != nil {
			t.Errorf("cut at %d: after a fresh start: %v", cut, err)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s, _, err := Open(ctx, dir, "x")
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			id, _, err := s.Workspace(ctx, "/w", when)
			if err != nil {
				t.Error(err)
				return
			}
			k := Key{byte(i), 2}
			err = s.Write(ctx, id, Batch{Facts: []Facts{{Key: k, Blob: []byte{1}}}, Rows: []Row{{Path: fmt.Sprint(i), Key: k}}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s, aside, err := Open(ctx, dir, "x")
	if err != nil || aside != "" {
		t.Fatal(err, aside)
	}
	defer s.Close()
	n := 0
	id, _, _ := s.Workspace(ctx, "/w", when)
	if err := s.Load(ctx, id, func(Row, Head) { n++ }); err != nil || n != 20 {
		t.Errorf("%d rows of 20, %v", n, err)
	}
}
