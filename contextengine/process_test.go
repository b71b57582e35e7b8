package contextengine

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/internal/config"
)

// The test binary itself plays the other processes.
func TestMain(m *testing.M) {
	if root := os.Getenv("STELLA_TEST_PROCESS"); root != "" {
		os.Exit(playProcess(root, os.Getenv("STELLA_TEST_NAME")))
	}
	os.Exit(m.Run())
}

// playProcess runs a few turns in the workspace, as one server or one-shot
// command would, and prints how many were controls.
func playProcess(root, name string) int {
	var turns int
	_, _ = fmt.Sscan(os.Getenv("STELLA_TEST_TURNS"), &turns)
	settings := config.Default().Recall
	e := New(Options{Root: root, Settings: func() config.Recall { return settings }, Report: func(s string) { fmt.Fprintln(os.Stderr, s) }})
	defer e.Close()
	controls := 0
	for i := 1; i <= turns; i++ {
		r, err := e.Recall(ctx, Query{Session: name, Turn: i, Prompt: "which shipment does the warehouse archive by the carrier number"})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if r.Control {
			controls++
		}
		_, err = e.TurnEnded(ctx, Turn{Session: name, Turn: i, Prompt: "p", Stop: "end_turn", ToolCalls: 1, Started: time.Now(), Ended: time.Now()}, nil)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	fmt.Println(controls)
	return 0
}

// processes starts n processes at once and returns the sum of their controls.
func processes(t *testing.T, root string, n, turns int) (controls int) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range n {
		wg.Go(func() {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), "STELLA_TEST_PROCESS="+root, fmt.Sprint("STELLA_TEST_NAME=p", i), fmt.Sprint("STELLA_TEST_TURNS=", turns))
			var out, errs bytes.Buffer
			c.Stdout, c.Stderr = &out, &errs
			if err := c.Run(); err != nil || strings.TrimSpace(errs.String()) != "" {
				t.Errorf("process %d: %v\n%s", i, err, errs.String())
				return
			}
			var k int
			_, _ = fmt.Sscan(out.String(), &k)
			mu.Lock()
			controls += k
			mu.Unlock()
		})
	}
	wg.Wait()
	return controls
}

// N01: twenty processes at once on one fresh workspace.
func TestTwentyProcessesAtOnceLoseNothing(t *testing.T) {
	p := newProject(t)
	for i := range 10 {
		p.memory(fmt.Sprint("m", i), filler(i))
	}
	if controls := processes(t, p.root, 20, 5); controls != 10 {
		t.Errorf("%d control turns of 100", controls)
	}
	e := p.open()
	s, err := e.openStore(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	episodes, err := s.Nodes(ctx, whenEver, false, kindEpisode)
	if err != nil || len(episodes) != 100 {
		t.Errorf("%d of 100 episodes, %v", len(episodes), err)
	}
	measures, err := e.Lift(ctx)
	if err != nil || measures[0].RecallN != 90 || measures[0].ControlN != 10 {
		t.Errorf("%+v, %v", measures[0], err)
	}
}
