//go:build linux

package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/internal/fakeeditor"
)

// crowdFiles are shared by everybody; open.txt is open in the first editor.
var crowdFiles = []string{"a.txt", "b.txt", "c.txt"}

// crowdScript is a model that reads a file and inserts a line of its own before
// the word END, again and again, whatever becomes of it.
func crowdScript(t *testing.T, who string, prompts int, files []string) string {
	t.Helper()
	var turns []entry
	for i := range prompts {
		f := files[i%len(files)]
		turns = append(turns,
			entry{Calls: []call{{"read_file", map[string]any{"path": f}}}},
			entry{Calls: []call{{"edit_file", map[string]any{"path": f, "base": "{{base " + f + "}}", "edits": []map[string]any{{"old": "END", "new": fmt.Sprintf("%s%d\nEND", who, i)}}}}}},
			entry{Text: "Done."})
	}
	raw, err := json.Marshal(map[string]any{"turns": turns})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// crowd is one server with its editor, and what it did.
type crowd struct {
	*world
	applied []string // lines of edits that were applied, with their files
	refused int
	slowest time.Duration
	prompts int
	problem error
	name    string
}

// work prompts until the time is over; on a slow machine until something was
// applied, which it is at the latest when the others have ended.
func (c *crowd) work(until time.Time, most int, files []string) {
	for i := 0; i < most && (time.Now().Before(until) || len(c.applied) == 0); i++ {
		began := time.Now()
		a, err := c.begin("Please go on.")
		if err == nil {
			err = c.join(a)
		}
		if err == nil && a.stop != "end_turn" {
			err = fmt.Errorf("the turn stopped with %s: %s", a.stop, a.problem)
		}
		if err != nil {
			c.problem = fmt.Errorf("%s, prompt %d: %w", c.name, i, err)
			return
		}
		c.prompts++
		c.slowest = max(c.slowest, time.Since(began))
		for _, r := range a.results {
			switch {
			case r.tool != "edit_file":
			case r.ok:
				c.applied = append(c.applied, fmt.Sprintf("%s %s%d", files[i%len(files)], c.name, i))
			default:
				c.refused++
			}
		}
	}
}

// TestCrowd lets two servers, a person and another program work on one tree and
// one state directory: nothing that anybody wrote is lost, and nobody waits for
// long. STELLA_CROWD is for how long, five seconds by default.
func TestCrowd(t *testing.T) {
	length := 5 * time.Second
	if s := os.Getenv("STELLA_CROWD"); s != "" {
		var err error
		if length, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	most := 20 + int(length/time.Second)*30
	archive := "Many at once.\n-- script --\n# below\n-- script.yaml --\n" + crowdScript(t, "A", most, append(slices.Clone(crowdFiles), "open.txt")) + "\n"
	for _, f := range append(slices.Clone(crowdFiles), "open.txt") {
		archive += "-- " + f + " --\nBEGIN\nEND\n"
	}
	parsed, err := Parse(archive)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorld(context.Background(), config(t, "vscode"), parsed, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := &crowd{world: w, name: "A"}
	if err := first.start("script.yaml"); err != nil {
		t.Fatal(err)
	}
	defer first.close()
	second := secondServer(t, first, most)
	defer second.close()
	if err := first.ed.Open(first.path("open.txt")); err != nil {
		t.Fatal(err)
	}

	until := time.Now().Add(length)
	var servers, others sync.WaitGroup
	servers.Go(func() { first.work(until, most, append(slices.Clone(crowdFiles), "open.txt")) })
	servers.Go(func() { second.work(until, most, crowdFiles) })
	over := make(chan struct{})
	var appended []string
	var slowest time.Duration
	others.Go(func() { appended, slowest = appendLines(t, first.root, over) })
	typed := 0
	others.Go(func() {
		for every(over, 40*time.Millisecond) { // a person's pace is part of the load
			if err := first.ed.Insert(first.path("open.txt"), 1, 1, fmt.Sprintf("P%d\n", typed)); err != nil {
				t.Error(err)
			}
			typed++
		}
	})
	time.AfterFunc(length, func() { close(over) })
	servers.Wait()
	others.Wait()
	for _, c := range []*crowd{first, second} {
		if c.problem != nil {
			t.Fatal(c.report(c.problem))
		}
	}
	lost := first.missing(t, append(first.applied, append(second.applied, appended...)...))
	text, _, _, _ := first.ed.Buffer(first.path("open.txt"))
	for i := range typed {
		if !strings.Contains(text, fmt.Sprintf("P%d\n", i)) {
			lost = append(lost, fmt.Sprintf("open.txt P%d", i))
		}
	}
	for _, c := range []*crowd{first, second} {
		if err := c.stop(); err != nil {
			t.Error(c.report(err))
		}
	}
	if err := first.leftovers(); err != nil {
		t.Error(err)
	}
	first.recordSound(t)
	if len(lost) > 0 {
		t.Errorf("lost: %v", lost)
	}
	t.Logf("%v: server A %d prompts, %d applied, %d refused, slowest turn %v; server B %d, %d, %d, %v; another program %d lines, slowest %v; a person %d lines typed; 0 lost",
		length, first.prompts, len(first.applied), first.refused, first.slowest.Round(time.Millisecond),
		second.prompts, len(second.applied), second.refused, second.slowest.Round(time.Millisecond), len(appended), slowest.Round(time.Millisecond), typed)
	if first.prompts < 2 || second.prompts < 2 || len(appended) < 10 || len(first.applied) == 0 || len(second.applied) == 0 {
		t.Error("somebody was blocked")
	}
	if worst := max(first.slowest, second.slowest, slowest); worst > 30*time.Second {
		t.Errorf("somebody waited for %v", worst)
	}
}

// secondServer is another server on the same tree and state directory, with an
// editor of its own.
func secondServer(t *testing.T, first *crowd, prompts int) *crowd {
	t.Helper()
	script := filepath.Join(filepath.Dir(first.root), "second.yaml")
	if err := os.WriteFile(script, []byte(crowdScript(t, "B", prompts, crowdFiles)), 0o644); err != nil {
		t.Fatal(err)
	}
	settings, err := json.Marshal(map[string]any{"model": map[string]string{"provider": "script", "script": script}})
	if err != nil {
		t.Fatal(err)
	}
	o := first.options
	o.Roots, o.Settings = first.roots, settings
	w := &world{ctx: first.ctx, c: first.c, a: &Archive{}, root: first.root, sessions: map[string]*session{}, current: "second"}
	w.ed, w.proc, err = fakeeditor.Launch(fakeeditor.Command{Path: first.c.Bin, Args: first.args, Env: first.env, Dir: first.root}, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := w.deadline()
	defer cancel()
	if err := w.ed.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	return &crowd{world: w, name: "B"}
}

// appendLines is the other program: it appends a line at a time to each file.
func appendLines(t *testing.T, root string, over <-chan struct{}) (lines []string, slowest time.Duration) {
	for i := 0; every(over, 60*time.Millisecond); i++ {
		f := crowdFiles[i%len(crowdFiles)]
		began := time.Now()
		if err := writeInPlace(filepath.Join(root, f), os.O_APPEND, fmt.Sprintf("X%d\n", i)); err != nil {
			t.Error(err)
			return lines, slowest
		}
		slowest = max(slowest, time.Since(began))
		lines = append(lines, fmt.Sprintf("%s X%d", f, i))
	}
	return lines, slowest
}

// every waits for its turn; false ends the loop.
func every(over <-chan struct{}, pause time.Duration) bool {
	select {
	case <-over:
		return false
	case <-time.After(pause):
		return true
	}
}

// missing are the lines that are neither in their file, or buffer, nor in the
// displaced store.
func (c *crowd) missing(t *testing.T, lines []string) (lost []string) {
	t.Helper()
	found := map[string]bool{}
	look := func(f, text string) {
		for l := range strings.Lines(text) {
			found[f+" "+strings.TrimSpace(l)] = true
		}
	}
	for _, f := range crowdFiles {
		raw, err := os.ReadFile(c.path(f))
		if err != nil {
			t.Fatal(err)
		}
		look(f, string(raw))
	}
	text, _, _, _ := c.ed.Buffer(c.path("open.txt"))
	look("open.txt", text)
	_ = filepath.WalkDir(filepath.Join(c.state, "displaced"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if raw, err := os.ReadFile(path); err == nil {
				for _, f := range crowdFiles {
					look(f, string(raw))
				}
			}
		}
		return nil
	})
	for _, l := range lines {
		if !found[l] {
			lost = append(lost, l)
		}
	}
	return lost
}

// recordSound looks at the one store that both servers wrote.
func (c *crowd) recordSound(t *testing.T) {
	t.Helper()
	stores, err := filepath.Glob(filepath.Join(c.state, "work", "*.git"))
	if err != nil || len(stores) != 1 {
		t.Fatalf("%v %v", stores, err)
	}
	refs, err := os.ReadDir(filepath.Join(stores[0], "refs", "stella", "sessions"))
	if err != nil || len(refs) != 2 {
		t.Errorf("%d sessions, %v", len(refs), err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		return
	}
	out, err := exec.Command("git", "--git-dir", stores[0], "fsck", "--strict", "--full", "--no-dangling").CombinedOutput()
	text := strings.NewReplacer("notice: HEAD points to an unborn branch (none)", "", "notice: No default references", "").Replace(string(out))
	if err != nil || strings.TrimSpace(text) != "" {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
}
