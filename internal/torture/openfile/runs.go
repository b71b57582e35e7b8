package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stella-ls/stella-ls/internal/fakeeditor"
)

const anchor = "# sessions write below this line\n"

// editsPerTurn bounds a session: a new one begins after that many, so that
// transcripts stay short.
const editsPerTurn = 20

// script lets every turn read and edit editsPerTurn times, each edit with a
// number of its own; turns are enough for any run.
func script(turns int) any {
	var out []any
	for n := range turns * editsPerTurn {
		out = append(out,
			map[string]any{"calls": []any{map[string]any{"tool": "read_file", "input": map[string]any{"path": "a.py", "start": 1, "end": 5}}}},
			map[string]any{"calls": []any{map[string]any{"tool": "edit_file", "input": map[string]any{
				"path": "a.py", "base": "{{base a.py}}", "edits": []any{map[string]string{"old": anchor, "new": anchor + edit(n)}},
			}}}})
		if (n+1)%editsPerTurn == 0 {
			out = append(out, map[string]any{"text": "Done."})
		}
	}
	return map[string]any{"turns": out}
}

func edit(n int) string { return fmt.Sprintf("# session %d.\n", n) }

func withServer(ctx context.Context, c config) (tally, error) {
	dir, err := os.MkdirTemp("", "stella-openfile-")
	if err != nil {
		return tally{}, err
	}
	defer os.RemoveAll(dir)
	path, err := prepare(dir, c)
	if err != nil {
		return tally{}, err
	}
	yes := true
	ed, proc, err := fakeeditor.Launch(fakeeditor.Command{
		Path: c.Server, Args: []string{"serve", "--stdio", "--test-hooks"}, Dir: filepath.Dir(path),
		Env: []string{"HOME=" + dir, "STELLA_HOME=" + filepath.Join(dir, "state"), "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")},
	}, fakeeditor.Options{Kind: fakeeditor.VSCode, Extension: true, Roots: []string{filepath.Dir(path)}, Trusted: &yes})
	if err != nil {
		return tally{}, err
	}
	defer func() { _ = proc.Kill() }()
	if err := ed.Initialize(ctx); err != nil {
		return tally{}, fmt.Errorf("%w\n%s", err, proc.Stderr())
	}
	if err := ed.Open(path); err != nil {
		return tally{}, err
	}
	t, err := duel(ctx, ed, path, c)
	if err != nil {
		return t, fmt.Errorf("%w\n%s", err, proc.Stderr())
	}
	return t, nil
}

func prepare(dir string, c config) (string, error) {
	root, state := filepath.Join(dir, "w"), filepath.Join(dir, "state")
	for _, d := range []string{root, state} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return "", err
		}
	}
	raw, err := json.Marshal(script(c.Changes / 100))
	if err != nil {
		return "", err
	}
	play := filepath.Join(dir, "script.yaml")
	if err := os.WriteFile(play, raw, 0o600); err != nil {
		return "", err
	}
	settings := fmt.Sprintf("[model]\nprovider = \"script\"\nscript = %q\n", play)
	if err := os.WriteFile(filepath.Join(state, "settings.toml"), []byte(settings), 0o600); err != nil {
		return "", err
	}
	path := filepath.Join(root, "a.py")
	return path, os.WriteFile(path, []byte(strings.Repeat("pass\n", kept)+anchor), 0o600)
}

// duel lets the person and the sessions at the buffer until the person is done.
func duel(ctx context.Context, ed *fakeeditor.Editor, path string, c config) (tally, error) {
	var over atomic.Bool
	ended := make(chan error, 1)
	go func() {
		defer close(ended)
		for !over.Load() {
			if err := turn(ctx, ed); err != nil {
				ended <- err
				return
			}
		}
	}()
	t, err := person(ctx, ed, path, c, c.Changes)
	over.Store(true)
	if turnErr := <-ended; err == nil {
		err = turnErr
	}
	if err != nil {
		return t, err
	}
	return t, count(ed, path, &t)
}

func turn(ctx context.Context, ed *fakeeditor.Editor) error {
	var s struct {
		SessionID string `json:"sessionId"`
	}
	raw, err := ed.Call(ctx, "stella/session/start", map[string]string{})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	raw, err = ed.Call(ctx, "stella/session/prompt", map[string]string{"sessionId": s.SessionID, "text": "Go on."})
	if err != nil {
		return err
	}
	var r struct{ Stop, Error string }
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	if r.Stop != "end_turn" {
		return fmt.Errorf("a turn stopped with %s: %s", r.Stop, r.Error)
	}
	return nil
}

// count compares what the sessions were told with the text. Edits are numbered
// in the order in which the script is played.
func count(ed *fakeeditor.Editor, path string, t *tally) error {
	text, _, _, _ := ed.Buffer(path)
	n := 0
	for _, r := range ed.Records() {
		if r.Method != "stella/session/update" {
			continue
		}
		var p struct {
			Update struct{ Kind, Tool, Text string }
		}
		if err := json.Unmarshal(r.Params, &p); err != nil {
			return err
		}
		if p.Update.Kind != "toolResult" || p.Update.Tool != "edit_file" {
			continue
		}
		there := strings.Count(text, edit(n))
		switch status := status(p.Update.Text); status {
		case "applied":
			t.Applied++
			if there != 1 {
				t.Missing++
			}
		case "stale_base":
			t.Refused++
			if there != 0 {
				t.Phantoms++
			}
		default:
			return fmt.Errorf("an edit ended as %q: %s", status, p.Update.Text)
		}
		n++
	}
	if n == 0 {
		return errors.New("no session edited anything")
	}
	return nil
}

func status(result string) string {
	_, rest, _ := strings.Cut(result, "\n")
	second, _, _ := strings.Cut(rest, "\n")
	var o struct{ Status string }
	_ = json.Unmarshal([]byte(second), &o)
	return o.Status
}

// withControl plays the same against an agent without a guard, in the same
// editor; the server takes no part, so none is started.
func withControl(ctx context.Context, c config) (tally, error) {
	dir, err := os.MkdirTemp("", "stella-openfile-")
	if err != nil {
		return tally{}, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "a.py")
	if err := os.WriteFile(path, []byte(strings.Repeat("pass\n", kept)+anchor), 0o600); err != nil {
		return tally{}, err
	}
	ed := fakeeditor.Offline(fakeeditor.Options{})
	if err := ed.Open(path); err != nil {
		return tally{}, err
	}
	done := make(chan int)
	stop := make(chan struct{})
	go func() {
		n := 0
		for ; ; n++ {
			text, _, _, _ := ed.Buffer(path)
			select {
			case <-time.After(c.Think):
			case <-stop:
				done <- n
				return
			}
			if ed.SetText(path, strings.Replace(text, anchor, anchor+edit(n), 1)) != nil {
				done <- n
				return
			}
		}
	}()
	t, err := person(ctx, ed, path, c, c.Control)
	close(stop)
	t.Applied = <-done
	return t, err
}
