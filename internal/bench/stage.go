package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stella-ls/stella-ls/internal/fakeeditor"
)

// stage is a temporary workspace with a script for the model.
type stage struct{ dir, root, state string }

func newStage(script any) (s stage, err error) {
	dir, err := os.MkdirTemp("", "stella-bench-")
	if err != nil {
		return s, err
	}
	s = stage{dir, filepath.Join(dir, "w"), filepath.Join(dir, "state")}
	for _, d := range []string{s.root, s.state} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return s, err
		}
	}
	raw, err := json.Marshal(script) // JSON is YAML
	if err != nil {
		return s, err
	}
	path := filepath.Join(dir, "script.yaml")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return s, err
	}
	settings := fmt.Sprintf("[model]\nprovider = \"script\"\nscript = %q\n\n[permissions]\ncommand = \"allow\"\n", path)
	return s, os.WriteFile(filepath.Join(s.state, "settings.toml"), []byte(settings), 0o600)
}

func (s stage) remove() { _ = os.RemoveAll(s.dir) }

func (s stage) command(server string) fakeeditor.Command {
	return fakeeditor.Command{
		Path: server, Args: []string{"serve", "--stdio", "--test-hooks"}, Dir: s.root,
		Env: []string{"HOME=" + s.dir, "STELLA_HOME=" + s.state, "TMPDIR=" + s.dir, "PATH=" + os.Getenv("PATH")},
	}
}

func (s stage) options() fakeeditor.Options {
	yes := true
	return fakeeditor.Options{Kind: fakeeditor.VSCode, Extension: true, Roots: []string{s.root}, Trusted: &yes}
}

// launch starts a server and does the handshake.
func (s stage) launch(ctx context.Context, server string) (*fakeeditor.Editor, *fakeeditor.Process, error) {
	ed, proc, err := fakeeditor.Launch(s.command(server), s.options())
	if err != nil {
		return nil, nil, err
	}
	if err := ed.Initialize(ctx); err != nil {
		_ = proc.Kill()
		return nil, nil, fmt.Errorf("%w\n%s", err, proc.Stderr())
	}
	return ed, proc, nil
}

func call(ctx context.Context, ed *fakeeditor.Editor, method string, params, result any) error {
	raw, err := ed.Call(ctx, method, params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(raw, result)
}

// session starts one and returns its id.
func session(ctx context.Context, ed *fakeeditor.Editor) (string, error) {
	var r struct {
		SessionID string `json:"sessionId"`
	}
	err := call(ctx, ed, "stella/session/start", map[string]string{}, &r)
	return r.SessionID, err
}
