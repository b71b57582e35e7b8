package store

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// clock is a clock that a test moves.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.t }

// to moves the clock and returns where it is now.
func (c *clock) to(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
	return c.t
}

func openTest(t testing.TB, c *clock) *Store {
	t.Helper()
	s, err := Open(context.Background(), filepath.Join(t.TempDir(), "context.db"), true, c.now, func(n string) { t.Error(n) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func put(t testing.TB, s *Store, key, content string) {
	t.Helper()
	err := s.Write(context.Background(), "test", func(tx *Tx) error {
		_, err := tx.Put(Node{Kind: "memory", Key: key, Label: key, Content: content, Origin: "user"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, s *Store, id string, w When) string {
	t.Helper()
	n, ok, err := s.Get(context.Background(), id, w)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return "(none)"
	}
	return n.Content
}

func TestTheTwoTimesAreIndependent(t *testing.T) {
	c := newClock()
	s := openTest(t, c)
	id := ID("memory", "a")
	t0 := c.now()
	put(t, s, "a", "port 8080")
	t1 := c.to(time.Hour)
	put(t, s, "a", "port 9090")
	t2 := c.to(time.Hour)
	if err := s.Write(context.Background(), "close", func(tx *Tx) error { _, err := tx.CloseNode(id, time.Time{}, "gone"); return err }); err != nil {
		t.Fatal(err)
	}
	t3 := c.to(time.Hour)

	second := time.Second
	for _, test := range []struct {
		name string
		w    When
		want string
	}{
		{"now", When{}, "(none)"},
		{"true at t0, believed now", When{ValidAt: t0.Add(second)}, "port 8080"},
		{"true at t1, believed now", When{ValidAt: t1.Add(second)}, "port 9090"},
		{"true at t2, believed now", When{ValidAt: t2.Add(second)}, "(none)"},
		{"true now, believed at t0", When{AsOf: t0.Add(second)}, "port 8080"},
		{"true now, believed at t1", When{AsOf: t1.Add(second)}, "port 9090"},
		{"true at t0, believed at t1", When{AsOf: t1.Add(second), ValidAt: t0.Add(second)}, "port 8080"},
		{"true at t1, believed at t0", When{AsOf: t0.Add(second), ValidAt: t1.Add(second)}, "port 8080"},
		{"before anything", When{AsOf: t0.Add(-second)}, "(none)"},
		{"true before it was learned", When{ValidAt: t0.Add(-second)}, "(none)"},
		{"at t3", When{ValidAt: t3}, "(none)"},
	} {
		if got := content(t, s, id, test.w); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestTwoChangesInOneSecondHaveAnOrder(t *testing.T) {
	c := newClock() // it stands still
	s := openTest(t, c)
	id := ID("memory", "a")
	for i := 1; i <= 3; i++ {
		put(t, s, "a", fmt.Sprint("version ", i))
	}
	for i := int64(1); i <= 3; i++ {
		if got, want := content(t, s, id, When{AsOfSeq: i}), fmt.Sprint("version ", i); got != want {
			t.Errorf("after change %d: %q", i, got)
		}
	}
	if got := content(t, s, id, When{AsOf: c.now()}); got != "version 3" {
		t.Errorf("as of that second: %q", got)
	}
	history, err := s.History(context.Background(), id)
	if err != nil || len(history) != 3 {
		t.Fatalf("%d records, %v", len(history), err)
	}
	if history[2].Replaces != history[1].Rec || history[1].Replaces != history[0].Rec {
		t.Error("the records do not link back")
	}
}

func TestEditingKeepsIdentityAndExactlyOneLiveRevision(t *testing.T) {
	c := newClock()
	s := openTest(t, c)
	for i := range 5 {
		put(t, s, "a", fmt.Sprint("text ", i))
		put(t, s, "a", fmt.Sprint("text ", i)) // saying it again changes nothing
		c.to(time.Minute)
	}
	nodes, err := s.Nodes(context.Background(), When{}, true, "memory")
	if err != nil || len(nodes) != 1 || nodes[0].Content != "text 4" || nodes[0].ID != ID("memory", "a") {
		t.Fatalf("%+v, %v", nodes, err)
	}
	history, _ := s.History(context.Background(), nodes[0].ID)
	if len(history) != 9 { // five beliefs, and four of them recorded again as ended
		t.Errorf("%d records", len(history))
	}
}

func TestEdgesCloseWithoutErasingThePast(t *testing.T) {
	c := newClock()
	s := openTest(t, c)
	ctx := context.Background()
	set := func(dsts ...string) {
		var want []Edge
		for _, d := range dsts {
			want = append(want, Edge{Dst: d})
		}
		if err := s.Write(ctx, "edges", func(tx *Tx) error { return tx.SetEdges("n", "anchor", want) }); err != nil {
			t.Fatal(err)
		}
	}
	names := func(w When) (out string) {
		edges, err := s.Edges(ctx, EdgeQuery{Src: "n", Rel: "anchor", When: w})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range edges {
			out += e.Dst + " "
		}
		return out
	}
	t0 := c.now()
	set("a", "b")
	c.to(time.Hour)
	set("b", "c")
	if got := names(When{}); got != "b c " {
		t.Errorf("now: %q", got)
	}
	if got := names(When{ValidAt: t0.Add(time.Minute)}); got != "a b " {
		t.Errorf("true then: %q", got)
	}
	if got := names(When{AsOf: t0.Add(time.Minute)}); got != "a b " {
		t.Errorf("believed then: %q", got)
	}
}

func TestSearchKnowsOnlyWhatIsBelieved(t *testing.T) {
	c := newClock()
	s := openTest(t, c)
	ctx := context.Background()
	put(t, s, "a", "the staging socket hangs")
	c.to(time.Hour)
	put(t, s, "a", "the production proxy drops")
	put(t, s, "b", "a staging bucket")
	before := s.BodiesRead()
	hits, err := s.Match(ctx, []string{"stag"}, When{}, nil, nil, 10)
	if err != nil || len(hits) != 1 || hits[0].Key != "b" {
		t.Fatalf("%+v, %v", hits, err)
	}
	if s.BodiesRead() != before {
		t.Error("a search read bodies")
	}
	hits, _ = s.Match(ctx, []string{"stag"}, When{ValidAt: c.now().Add(-time.Minute)}, nil, nil, 10)
	if len(hits) != 1 || hits[0].Key != "a" {
		t.Errorf("in the past: %+v", hits)
	}
	if hits, _ = s.Match(ctx, []string{"stag"}, When{}, nil, map[string]bool{ID("memory", "b"): true}, 10); len(hits) != 0 {
		t.Errorf("left out, and found: %+v", hits)
	}
	df, err := s.Frequency(ctx, []string{"stag", "nowhere"})
	if err != nil || df["stag"] != 1 || len(df) != 1 {
		t.Errorf("%v, %v", df, err)
	}
}

func TestWritersOfSeveralHandlesTakeTurns(t *testing.T) {
	c := newClock()
	path := filepath.Join(t.TempDir(), "context.db")
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			s, err := Open(context.Background(), path, true, c.now, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for i := range 10 {
				put(t, s, fmt.Sprintf("k%d", i), fmt.Sprintf("by %d", w))
			}
		})
	}
	wg.Wait()
	s, err := Open(context.Background(), path, true, c.now, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	nodes, err := s.Nodes(context.Background(), When{}, false)
	if err != nil || len(nodes) != 10 {
		t.Errorf("%d live nodes, %v", len(nodes), err)
	}
}
