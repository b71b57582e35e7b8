package ledger

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

var ctx = context.Background()

func openTest(t *testing.T) (*Ledger, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	l, err := Open(ctx, path, true, nil, func(n string) { t.Error(n) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, path
}

func TestStreakQuarantineAndLifting(t *testing.T) {
	l, _ := openTest(t)
	turn := 0
	cite := func(score int, truthful bool) Record {
		turn++
		if _, err := l.Cite(ctx, Citation{Memory: "nod_a", Session: "s", Turn: turn, Score: score, Truthful: truthful, Remark: "r"}); err != nil {
			t.Fatal(err)
		}
		r, err := l.Record(ctx, "nod_a")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for i := 1; i <= 10; i++ {
		if r := cite(3, true); r.Streak != i || r.Eligible() {
			t.Fatalf("after %d: %+v", i, r)
		}
	}
	if r := cite(5, true); !r.Eligible() {
		t.Fatalf("eleven in a row: %+v", r)
	}
	if r := cite(2, true); r.Streak != 0 || r.Eligible() || r.Quarantined {
		t.Fatalf("a low score ends the streak and nothing else: %+v", r)
	}
	cite(5, false)
	if r := cite(1, false); !r.Quarantined {
		t.Fatalf("two untruthful: %+v", r)
	}
	if q, err := l.Quarantined(ctx); err != nil || !q["nod_a"] {
		t.Fatalf("%v, %v", q, err)
	}
	if err := l.Lift(ctx, "nod_a", "checked by hand"); err != nil {
		t.Fatal(err)
	}
	if r := cite(1, false); r.Quarantined {
		t.Fatal("the lifted ones count again")
	}
	if r := cite(1, false); !r.Quarantined {
		t.Fatal("a second quarantine never comes")
	}
	if r := cite(4, true); r.Citations != 17 || r.TruthfulRate() != 13.0/17 {
		t.Errorf("%+v", r)
	}
}

func TestTwoCitationsInOneTurnCountOnce(t *testing.T) {
	l, _ := openTest(t)
	c := Citation{Memory: "nod_a", Session: "s", Turn: 1, Score: 5, Truthful: true, Remark: "r"}
	if added, err := l.Cite(ctx, c); err != nil || !added {
		t.Fatal(added, err)
	}
	if added, err := l.Cite(ctx, c); err != nil || added {
		t.Fatal(added, err)
	}
	if r, _ := l.Record(ctx, "nod_a"); r.Citations != 1 {
		t.Errorf("%+v", r)
	}
}

func TestOneControlInTenAcrossHandles(t *testing.T) {
	_, path := openTest(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	controls := map[string]int{}
	for p := range 10 {
		wg.Go(func() {
			l, err := Open(ctx, path, true, nil, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Close()
			for turn := range 10 {
				control, err := l.Begin(ctx, fmt.Sprint("s", p), turn, 10, "seed")
				again, err2 := l.Begin(ctx, fmt.Sprint("s", p), turn, 10, "seed")
				if err != nil || err2 != nil || again != control {
					t.Error(err, err2, "armed twice")
				}
				mu.Lock()
				if control {
					controls["n"]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if controls["n"] != 10 {
		t.Errorf("%d controls in 100 turns", controls["n"])
	}
}

func TestControlPositionsDoNotAlias(t *testing.T) {
	at := map[int64]int{}
	for block := range int64(1000) {
		n := 0
		for i := range int64(10) {
			if isControl(block*10+i, 10, "w") {
				at[i]++
				n++
			}
		}
		if n != 1 {
			t.Fatalf("block %d has %d controls", block, n)
		}
	}
	for i := range int64(10) {
		if at[i] < 60 || at[i] > 140 {
			t.Errorf("position %d was chosen %d times of 1000", i, at[i])
		}
	}
}

func TestCompareNeedsDataAndFindsADifference(t *testing.T) {
	l, _ := openTest(t)
	end := func(i, steps int, control bool) {
		rate := 0
		seed := "x"
		if control {
			rate = 2
			for j := 0; !isControl(int64(i), rate, seed); j++ {
				seed = fmt.Sprint("x", j)
			}
		}
		if _, err := l.Begin(ctx, "s", i, rate, seed); err != nil {
			t.Fatal(err)
		}
		if err := l.End(ctx, TurnEnd{Session: "s", Turn: i, Outcome: "end_turn", Steps: steps, Duration: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		end(i, 4+i%2, false)
	}
	got, err := l.Compare(ctx)
	if err != nil || got[1].EnoughData {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range 10 {
		end(10+i, 9+i%2, true)
	}
	got, _ = l.Compare(ctx)
	steps := got[1]
	if !steps.EnoughData || steps.Difference != -5 || steps.High >= 0 {
		t.Errorf("%+v", steps)
	}
	if tokens := got[2]; tokens.RecallN != 0 || tokens.EnoughData {
		t.Errorf("tokens were not reported: %+v", tokens)
	}
}

func TestStudent(t *testing.T) {
	for df, want := range map[float64]float64{8: 2.306, 20: 2.086, 100: 1.984} {
		if got := studentT975(df); math.Abs(got-want) > 0.003 {
			t.Errorf("t(%v) = %v, want %v", df, got, want)
		}
	}
}

func TestToolCallsBelongToABegunTurn(t *testing.T) {
	l, _ := openTest(t)
	if _, err := l.Begin(ctx, "s", 1, 10, "seed"); err != nil {
		t.Fatal(err)
	}
	made := []ToolCall{{Step: 3, Tool: "read_file", Status: "ok", Took: 12 * time.Millisecond}, {Step: 4, Tool: "edit_file", Status: "stale_base"}}
	for _, turn := range []int{1, 2} { // the second was never begun
		if err := l.End(ctx, TurnEnd{Session: "s", Turn: turn, Outcome: "end_turn", Tools: 2, Calls: made}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := l.ToolCalls(ctx, "s", 1); err != nil || !slices.Equal(got, made) {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := l.ToolCalls(ctx, "s", 2); err != nil || len(got) != 0 {
		t.Errorf("a turn that never began: %+v %v", got, err)
	}
}
