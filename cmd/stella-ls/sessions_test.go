package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/internal/record"
)

// homeOf is the state directory of a command.
func homeOf(cmd *exec.Cmd) string {
	home := ""
	for _, e := range cmd.Env {
		if h, ok := strings.CutPrefix(e, "STELLA_HOME="); ok {
			home = h
		}
	}
	return home
}

// raised runs the scripted session of scripted and returns its id.
func raised(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	r := runMain(t, cmd)
	var got struct{ SessionID, Stop string }
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != 0 || got.Stop != "end_turn" {
		t.Fatalf("exit %d %v\n%s\n%s", r.code, err, r.out, r.stderr)
	}
	return got.SessionID
}

// What a person types wrongly is said in words, with the usage, and is exit 2.
func TestSessionsUsage(t *testing.T) {
	cmd := scripted(t, "ask", "--json", "raise it")
	id := raised(t, cmd)
	for _, x := range []struct {
		args string
		code int
		says string
	}{
		{"sessions --help", 0, "takes back what its last turn changed"},
		{"sessions", 2, "say what to do"},
		{"sessions dance", 2, "no such command: dance"},
		{"sessions list " + id, 2, "to see one: sessions show " + id},
		{"sessions show", 2, "show needs the session's id"},
		{"sessions undo", 2, "undo needs the session's id"},
		{"sessions show a b", 2, "one session at a time"},
		{"sessions show s-none", 2, "no such session"},
		{"sessions show ../x", 2, "no such session"},
		{"sessions resume s-none", 2, "no such session"},
		{"sessions undo s-none", 2, "no such session"},
		{"sessions show --turn t1 " + id, 2, "--turn and --edit are for undo"},
		{"sessions undo --turn t1 --edit e1 " + id, 2, "either a turn or an edit"},
		{"sessions undo --turn last " + id, 2, "turns are called t1"},
		{"sessions undo --turn t9 " + id, 1, "nothing to undo"},
		{"sessions undo --edit e9 " + id, 1, "nothing to undo"},
		{"sessions list --root /no/such/dir", 2, "no such file"},
		{"sessions list", 0, "1 turn     1 file"},
		{"sessions show " + id, 0, "# raise it"},
		{"sessions show " + id, 0, "- `edit_file` a.txt"},
		{"sessions resume " + id, 0, "nothing was interrupted"},
		{"sessions resume --json " + id, 0, `"interrupted":false`},
		{"sessions undo --edit e1 --json " + id, 0, `"status":"applied"`},
		{"sessions undo " + id, 1, "nothing to undo"},
	} {
		r := in(t, cmd, strings.Fields(x.args)...)
		if r.code != x.code || !strings.Contains(r.out+r.stderr, x.says) {
			t.Errorf("stella-ls %s: exit %d, want %d\n%s%s", x.args, r.code, x.code, r.out, r.stderr)
		}
		if x.code == 2 && r.out != "" {
			t.Errorf("stella-ls %s prints a fault to stdout: %s", x.args, r.out)
		}
	}
	holds(t, cmd, "1\n")
}

// Undo that is refused shows the difference, leaves the file alone, and is exit 1.
func TestSessionsUndoRefused(t *testing.T) {
	cmd := scripted(t, "ask", "--json", "raise it")
	id := raised(t, cmd)
	write(t, filepath.Join(cmd.Dir, "a.txt"), "2 and more\n")
	r := in(t, cmd, "sessions", "undo", id)
	if r.code != 1 || !strings.Contains(r.out, "not undone: ") || !strings.Contains(r.out, "+2 and more") {
		t.Errorf("%+v", r)
	}
	holds(t, cmd, "2 and more\n")
}

// A session that another process has open is listed and shown, and not taken.
func TestSessionsElsewhere(t *testing.T) {
	cmd := scripted(t, "ask", "--json", "raise it")
	id := raised(t, cmd)
	store, err := record.Open(record.Options{Home: homeOf(cmd), Root: cmd.Dir})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, _, err := store.Resume(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if r := in(t, cmd, "sessions", "list"); r.code != 0 || !strings.Contains(r.out, "open in another process") {
		t.Errorf("%+v", r)
	}
	if r := in(t, cmd, "sessions", "show", id); r.code != 0 || !strings.Contains(r.out, "Raised.") {
		t.Errorf("%+v", r)
	}
	for _, words := range [][]string{{"sessions", "undo", id}, {"sessions", "resume", id}, {"ask", "more", "--session", id}} {
		if r := in(t, cmd, words...); r.code != 1 || !strings.Contains(r.stderr, "open in another process") {
			t.Errorf("%s: %+v", words, r)
		}
	}
	holds(t, cmd, "2\n")
}

// A damaged record: listed with the reason, shown as far as it can be read, and
// the session can go on with every file unread.
func TestSessionsDamaged(t *testing.T) {
	cmd := scripted(t, "ask", "--json", "raise it")
	id := raised(t, cmd)
	refs, err := filepath.Glob(filepath.Join(homeOf(cmd), "work", "*.git", "refs", "stella", "sessions", id))
	if err != nil || len(refs) != 1 {
		t.Fatal(refs, err)
	}
	write(t, refs[0], "0123")
	if r := in(t, cmd, "sessions", "list"); r.code != 0 || !strings.Contains(r.out, id) || !strings.Contains(r.out, "cannot be read: ") {
		t.Errorf("%+v", r)
	}
	if r := in(t, cmd, "sessions", "show", id); r.code != 1 || !strings.Contains(r.stderr, "damaged") {
		t.Errorf("%+v", r)
	}
	if r := in(t, cmd, "sessions", "undo", id); r.code != 1 || !strings.Contains(r.stderr, "cannot be read") {
		t.Errorf("%+v", r)
	}
	write(t, filepath.Join(cmd.Dir, "a.txt"), "1\n")
	if r := in(t, cmd, "ask", "again", "--session", id); r.code != 0 || !strings.Contains(r.stderr, "cannot be read") || !strings.Contains(r.stderr, "Edited a.txt") {
		t.Errorf("%+v", r)
	}
	holds(t, cmd, "2\n")
	if r := in(t, cmd, "sessions", "undo", id+".2"); r.code != 0 {
		t.Errorf("what followed is not recorded: %+v", r)
	}
	holds(t, cmd, "1\n")
}

// A workspace that is moved keeps its sessions, a copy has none of them.
func TestWorkspaceMovesAndSplits(t *testing.T) {
	cmd := scripted(t, "ask", "--json", "raise it")
	id := raised(t, cmd)
	moved, copied := cmd.Dir+"-moved", cmd.Dir+"-copied"
	if out, err := exec.Command("cp", "-a", cmd.Dir, copied).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	t.Cleanup(func() { _, _ = os.RemoveAll(moved), os.RemoveAll(copied) })
	if r := in(t, cmd, "sessions", "list", "--root", copied); r.code != 0 || !strings.Contains(r.out, "no sessions") {
		t.Errorf("the copy: %+v", r)
	}
	if err := os.Rename(cmd.Dir, moved); err != nil {
		t.Fatal(err)
	}
	cmd.Dir = moved
	if r := in(t, cmd, "sessions", "list", "--root", "."); r.code != 0 || !strings.Contains(r.out, id) {
		t.Errorf("moved: %+v", r)
	}
	r := in(t, cmd, "sessions", "show", id)
	if r.code != 0 || !strings.Contains(r.out, "Raised.") {
		t.Errorf("moved: %+v", r)
	}
	if r := in(t, cmd, "sessions", "undo", id); r.code != 0 {
		t.Errorf("undo after the move: %+v", r)
	}
	holds(t, cmd, "1\n")
	if b, _ := os.ReadFile(filepath.Join(copied, "a.txt")); string(b) != "2\n" {
		t.Errorf("the copy was touched: %q", b)
	}
}

// A server that starts removes what is older than record.keep_days and says so;
// what is young, or open in a process, stays.
func TestOldSessionsGo(t *testing.T) {
	cmd := scripted(t, "serve", "--log-level", "INFO")
	settings := filepath.Join(homeOf(cmd), "settings.toml")
	was, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	write(t, settings, string(was)+"\n[record]\nkeep_days = 30\n")
	var running *record.Store
	for id, age := range map[string]int{"s-old": 31, "s-young": 29, "s-running": 400} {
		store, err := record.Open(record.Options{Home: homeOf(cmd), Root: cmd.Dir, Now: func() time.Time { return time.Now().AddDate(0, 0, -age) }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Create(t.Context(), record.Header{Session: id}); err != nil {
			t.Fatal(err)
		}
		if id == "s-running" {
			running = store
			defer running.Close()
		} else if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var said lockedBuffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	send := func(body string) {
		if _, err := fmt.Fprintf(in, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
			t.Fatal(err)
		}
	}
	send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":"file://%s","capabilities":{}}}`, cmd.Dir))
	send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
	send(`{"jsonrpc":"2.0","id":2,"method":"stella/session/list"}`)
	deadline := time.Now().Add(60 * time.Second)
	for !strings.Contains(said.String(), "old sessions were removed") {
		if time.Now().After(deadline) {
			t.Fatalf("nothing was removed: %s", said.String())
		}
		time.Sleep(20 * time.Millisecond) // another process's log
	}
	if log := said.String(); !strings.Contains(log, "s-old") || strings.Contains(log, "s-young") || strings.Contains(log, "s-running") {
		t.Errorf("it says %s", log)
	}
	infos, err := running.Sessions(t.Context())
	if err != nil || len(infos) != 2 {
		t.Errorf("left: %+v %v", infos, err)
	}
}

// lockedBuffer takes a process's output while it is read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
