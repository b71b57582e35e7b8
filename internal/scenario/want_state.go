package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/internal/fakeeditor"
)

func wantCalls(w *world, a []string) error {
	if w.last == nil {
		return errors.New("nothing was asked")
	}
	return compare("the number of announced calls", fmt.Sprint(w.last.calls), "is", a[0])
}

func awaitNotice(w *world, a []string) error {
	if w.running == nil {
		return errors.New("no ask& is running")
	}
	return w.awaitMessage(w.running.from, func(r fakeeditor.Record) bool {
		u, ok, err := update(r)
		return err == nil && ok && u.Update.Kind == "notice" && strings.Contains(u.Update.Text, a[0])
	})
}

func wantNotices(w *world, a []string) error {
	if w.last == nil {
		return errors.New("nothing was asked")
	}
	if got := fmt.Sprint(len(w.last.notices)); got != a[0] {
		return fmt.Errorf("%s notices: %q", got, w.last.notices)
	}
	return nil
}

func wantUsage(w *world, a []string) error {
	if w.last == nil {
		return errors.New("nothing was asked")
	}
	got := "none"
	if v, ok := w.last.usage[a[0]]; ok {
		raw, err := json.Marshal(v)
		if err != nil {
			return err
		}
		got = string(raw)
	}
	return compare("usage."+a[0], got, "is", a[1])
}

func (w *world) transcript() (json.RawMessage, error) {
	s := w.sessions[w.current]
	if s == nil {
		return nil, errors.New("no session")
	}
	var r json.RawMessage
	err := w.call("stella/session/get", map[string]string{"sessionId": s.id}, &r)
	return r, err
}

func wantTranscript(w *world, a []string) error {
	r, err := w.transcript()
	if err != nil {
		return err
	}
	return compare("the transcript", string(r), a[0], a[1])
}

func wantTranscriptCount(w *world, a []string) error {
	raw, err := w.transcript()
	if err != nil {
		return err
	}
	var r struct {
		Transcript []struct {
			ToolCall   json.RawMessage `json:"toolCall"`
			ToolResult json.RawMessage `json:"toolResult"`
		} `json:"transcript"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	n := 0
	for _, e := range r.Transcript {
		if a[0] == "calls" && e.ToolCall != nil || a[0] == "results" && e.ToolResult != nil {
			n++
		}
	}
	return compare("the number of "+a[0]+" in the transcript", fmt.Sprint(n), "is", a[1])
}

// wantDead waits, as a killed process may take a moment to be gone.
func wantDead(w *world, a []string) error {
	raw, err := os.ReadFile(w.path(a[0]))
	if err != nil {
		return err
	}
	pids := strings.Fields(string(raw))
	if len(pids) == 0 {
		return fmt.Errorf("%s names no process", a[0])
	}
	ctx, cancel := w.deadline()
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for _, pid := range pids {
		for alive(pid) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("process %s still lives", pid)
			}
		}
	}
	return nil
}

// alive reports whether a process runs; a zombie does not.
func alive(pid string) bool {
	raw, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(raw, []byte(") "))
	return !bytes.HasPrefix(rest, []byte("Z")) && !bytes.HasPrefix(rest, []byte("X"))
}

// wantNowhere searches everything that the server leaves behind or says.
func wantNowhere(w *world, a []string) error {
	needle := []byte(a[0])
	for _, r := range w.ed.Records() {
		if r.Dir == fakeeditor.Received && bytes.Contains(r.Params, needle) {
			return fmt.Errorf("a message of the server holds it: %s %s", r.Method, r.Params)
		}
	}
	if w.proc != nil && strings.Contains(w.proc.Stderr(), a[0]) {
		return errors.New("the log holds it")
	}
	return filepath.WalkDir(w.state, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasSuffix(path, ".git"):
			return searchRecord(path, needle)
		case !d.Type().IsRegular():
			return nil
		}
		raw, err := os.ReadFile(path)
		if err == nil && bytes.Contains(raw, needle) {
			return fmt.Errorf("%s holds it", path)
		}
		return err
	})
}

// searchRecord looks into every object of a git store, whose files are packed.
func searchRecord(dir string, needle []byte) error {
	out, err := exec.Command("git", "--git-dir="+dir, "cat-file", "--batch-all-objects", "--batch").Output()
	if err != nil {
		return fmt.Errorf("the record cannot be read: %w", err)
	}
	if len(out) == 0 {
		return fmt.Errorf("the record %s is empty, so the search proves nothing", dir)
	}
	if bytes.Contains(out, needle) {
		return fmt.Errorf("the record %s holds it", dir)
	}
	return nil
}

// wantPrivate looks at every mode below the state directory, sockets included.
func wantPrivate(w *world, _ []string) error {
	seen := 0
	err := filepath.WalkDir(w.state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		seen++
		if info.Mode().Perm()&0o077 != 0 {
			return fmt.Errorf("%s is %v: others can use it", path, info.Mode())
		}
		return nil
	})
	if err == nil && seen < 5 {
		return fmt.Errorf("only %d things are in the state directory, so this proves nothing", seen)
	}
	return err
}

func (w *world) sent(method string) []fakeeditor.Record {
	from := w.runFrom
	if w.last != nil {
		from = w.last.from
	}
	var out []fakeeditor.Record
	for _, r := range w.ed.Records()[from:] {
		if r.Dir == fakeeditor.Received && r.Method == method {
			out = append(out, r)
		}
	}
	return out
}

func wantSent(w *world, a []string) error {
	return compare("the number of "+a[0], fmt.Sprint(len(w.sent(a[0]))), "is", a[1])
}

func wantRequest(w *world, a []string) error {
	sent := w.sent(a[0])
	if len(sent) == 0 {
		return fmt.Errorf("the server sent no %s", a[0])
	}
	return compare("the last "+a[0], string(sent[len(sent)-1].Params), a[1], a[2])
}
