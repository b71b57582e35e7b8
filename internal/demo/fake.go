package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/stella-ls/stella-ls/internal/fakeeditor"
)

// holdText ends the model's text before it waits for the person to type.
const holdText = "against the new text."

// playFake plays the story in the built-in editor.
func playFake(ctx context.Context, o Options, s stage, tell func(event)) (ending, error) {
	yes := true
	ed, proc, err := fakeeditor.Launch(
		fakeeditor.Command{Path: o.Server, Args: serverArgs, Env: s.env(), Dir: s.root},
		fakeeditor.Options{Kind: fakeeditor.VSCode, Extension: true, Roots: []string{s.root}, Trusted: &yes},
	)
	if err != nil {
		return ending{}, err
	}
	defer func() {
		if proc.Wait(ctx) != nil {
			_ = proc.Kill()
		}
	}()
	end, err := converse(ctx, ed, s, tell)
	if err != nil {
		_ = proc.Kill()
		return end, fmt.Errorf("%w\n%s", err, proc.Stderr())
	}
	return end, ed.Shutdown(ctx)
}

func converse(ctx context.Context, ed *fakeeditor.Editor, s stage, tell func(event)) (end ending, err error) {
	if err := ed.Initialize(ctx); err != nil {
		return end, err
	}
	if err := ed.Open(s.path()); err != nil {
		return end, err
	}
	tell(event{Person: "opens " + file + " in the editor"})
	var started struct {
		SessionID string `json:"sessionId"`
	}
	if err := call(ctx, ed, "stella/session/start", map[string]string{"title": "demo"}, &started); err != nil {
		return end, err
	}
	tell(event{Person: "asks: " + request})
	_, answer := ed.Start("stella/session/prompt", map[string]string{"sessionId": started.SessionID, "text": request})
	if err := follow(ctx, ed, s, tell); err != nil {
		return end, err
	}
	raw, err := ed.Wait(ctx, answer)
	if err != nil {
		return end, err
	}
	if err := json.Unmarshal(raw, &end); err != nil {
		return end, err
	}
	end.Buffer, _, end.Dirty, _ = ed.Buffer(s.path())
	disk, err := os.ReadFile(s.path())
	end.Disk = string(disk)
	return end, err
}

// follow reports the session's updates until the turn is over, and types when
// the model has begun to plan.
func follow(ctx context.Context, ed *fakeeditor.Editor, s stage, tell func(event)) error {
	said, typed := "", false
	for at := 0; ; {
		r, next, err := ed.Await(ctx, at, func(r fakeeditor.Record) bool {
			return r.Dir == fakeeditor.Received && (r.Method == "stella/session/update" || strings.Contains(string(r.Params), `"stop"`) && r.Method == "")
		})
		if err != nil {
			return err
		}
		if at = next; r.Method == "" {
			return nil
		}
		var p struct {
			Update *update `json:"update"`
		}
		if err := json.Unmarshal(r.Params, &p); err != nil {
			return err
		}
		tell(event{Update: p.Update})
		if p.Update.Kind == "text" {
			said += p.Update.Text
		}
		if typed || !strings.Contains(said, holdText) {
			continue
		}
		typed = true
		if err := ed.Append(s.path(), "\n\n"+personLine+"\n"); err != nil {
			return err
		}
		tell(event{Person: "types at the end of " + file + ", without saving: " + personLine})
		if err := call(ctx, ed, "stella/test/release", map[string]string{"name": "person"}, nil); err != nil {
			return err
		}
	}
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
