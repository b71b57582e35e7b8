package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/internal/fakeeditor"
)

// startToInitialize runs from the fork to the answer of initialize. Its control
// is the same binary printing its version: what loading it costs by itself.
func startToInitialize(ctx context.Context, server string) (figure, error) {
	f := figure{
		what: "start to `initialize` answered", control: "`stella-ls version`, start to end",
		bar: "median below 20 ms", met: below(0.5, 20*time.Millisecond),
	}
	s, err := newStage(map[string]any{})
	defer s.remove()
	if err != nil {
		return f, err
	}
	for range 40 {
		begin := time.Now()
		if err := exec.Command(server, "version").Run(); err != nil {
			return f, err
		}
		f.against = append(f.against, time.Since(begin))
		begin = time.Now()
		ed, proc, err := s.launch(ctx, server)
		if err != nil {
			return f, err
		}
		f.samples = append(f.samples, time.Since(begin))
		if err := ed.Shutdown(ctx); err != nil {
			return f, err
		}
		if err := proc.Wait(ctx); err != nil {
			return f, err
		}
	}
	return f, nil
}

// cancelOfATurn runs from the request to the answer of the prompt, while a
// command with children of its own runs; a process that is left fails it.
func cancelOfATurn(ctx context.Context, server string) (figure, error) {
	f := figure{
		what: "cancel of a turn that runs a command with three processes",
		bar:  "max below 200 ms, no process left", met: below(1, 200*time.Millisecond),
	}
	const marker = "36071.5" // no other sleep has this length
	command := "echo up > started; sleep " + marker + " & (sleep " + marker + " & sleep " + marker + ")"
	var turns []any
	for range 20 {
		turns = append(turns, map[string]any{"calls": []any{map[string]any{"tool": "run_command", "input": map[string]string{"command": command}}}})
	}
	s, err := newStage(map[string]any{"turns": turns})
	defer s.remove()
	if err != nil {
		return f, err
	}
	ed, proc, err := s.launch(ctx, server)
	if err != nil {
		return f, err
	}
	defer func() { _ = proc.Kill() }()
	id, err := session(ctx, ed)
	if err != nil {
		return f, err
	}
	for range len(turns) {
		took, err := cancelOnce(ctx, ed, s, id)
		if err != nil {
			return f, err
		}
		f.samples = append(f.samples, took)
		if left, err := processes(marker); err != nil || len(left) > 0 {
			return f, fmt.Errorf("processes left after the cancel: %v %w", left, err)
		}
	}
	return f, nil
}

func cancelOnce(ctx context.Context, ed *fakeeditor.Editor, s stage, id string) (time.Duration, error) {
	started := filepath.Join(s.root, "started")
	if err := os.RemoveAll(started); err != nil {
		return 0, err
	}
	_, answer := ed.Start("stella/session/prompt", map[string]string{"sessionId": id, "text": "Run it."})
	for {
		if _, err := os.Stat(started); err == nil {
			break
		}
		if ctx.Err() != nil {
			return 0, errors.New("the command never started")
		}
		time.Sleep(time.Millisecond)
	}
	begin := time.Now()
	if err := call(ctx, ed, "stella/session/cancel", map[string]string{"sessionId": id}, nil); err != nil {
		return 0, err
	}
	raw, err := ed.Wait(ctx, answer)
	took := time.Since(begin)
	if err != nil {
		return 0, err
	}
	var r struct {
		Stop string `json:"stop"`
	}
	if err := json.Unmarshal(raw, &r); err != nil || r.Stop != "cancelled" {
		return 0, fmt.Errorf("the prompt ended with %s %v", raw, err)
	}
	return took, nil
}

// processes are the ids of those whose command line holds marker.
func processes(marker string) ([]string, error) {
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, path := range found {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		if line := strings.ReplaceAll(string(raw), "\x00", " "); strings.HasPrefix(line, "sleep "+marker) {
			out = append(out, filepath.Base(filepath.Dir(path)))
		}
	}
	return out, nil
}

// keystrokeToStatus runs from a keystroke in a guarded file to the notification
// that says what it did to the file's state.
func keystrokeToStatus(ctx context.Context, server string) (figure, error) {
	f := figure{what: "keystroke in a guarded file to `stella/guard/status`", bar: "p99 below 10 ms", met: below(0.99, 10*time.Millisecond)}
	s, err := newStage(map[string]any{"turns": []any{
		map[string]any{"calls": []any{map[string]any{"tool": "read_file", "input": map[string]string{"path": "a.py"}}}},
		map[string]any{"text": "Read."},
	}})
	defer s.remove()
	if err != nil {
		return f, err
	}
	path := filepath.Join(s.root, "a.py")
	if err := os.WriteFile(path, []byte(strings.Repeat("rate = 1\n", 4500)), 0o600); err != nil {
		return f, err
	}
	ed, proc, err := s.launch(ctx, server)
	if err != nil {
		return f, err
	}
	defer func() { _ = proc.Kill() }()
	if err := ed.Open(path); err != nil {
		return f, err
	}
	id, err := session(ctx, ed)
	if err != nil {
		return f, err
	}
	if err := call(ctx, ed, "stella/session/prompt", map[string]string{"sessionId": id, "text": "Read it."}, nil); err != nil {
		return f, err
	}
	at := len(ed.Records())
	for i := range 400 {
		want, act := `"state":"stale"`, func() error { return ed.Insert(path, 10, 1, "x") }
		if i%2 == 1 {
			want, act = `"state":"fresh"`, func() error { return ed.Undo(path) }
		}
		begin := time.Now()
		if err := act(); err != nil {
			return f, err
		}
		_, next, err := ed.Await(ctx, at, func(r fakeeditor.Record) bool {
			return r.Method == "stella/guard/status" && strings.Contains(string(r.Params), want)
		})
		if err != nil {
			return f, err
		}
		at = next
		f.samples = append(f.samples, time.Since(begin))
	}
	return f, nil
}
