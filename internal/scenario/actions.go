package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// awaitFile waits for something that a command started by the model writes;
// only the file system can tell, so it is looked at again and again.
func awaitFile(w *world, a []string) error {
	ctx, cancel := w.deadline()
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(w.path(a[0])); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s never appeared", a[0])
		}
	}
}

// action asks for the code actions at a place and runs one by its title.
func action(w *world, a []string) error {
	var line, col int
	if _, err := fmt.Sscanf(a[1], "%d:%d", &line, &col); err != nil {
		return fmt.Errorf("LINE:COL: %q", a[1])
	}
	at := map[string]int{"line": line - 1, "character": col - 1}
	var offered []struct {
		Title   string `json:"title"`
		Command *struct {
			Command   string            `json:"command"`
			Arguments []json.RawMessage `json:"arguments"`
		} `json:"command"`
	}
	err := w.call("textDocument/codeAction", map[string]any{
		"textDocument": map[string]string{"uri": w.ed.URI(w.path(a[0]))},
		"range":        map[string]any{"start": at, "end": at},
		"context":      map[string]any{"diagnostics": []any{}},
	}, &offered)
	if err != nil {
		return err
	}
	var titles []string
	for _, o := range offered {
		titles = append(titles, o.Title)
		if strings.Contains(o.Title, a[2]) && o.Command != nil {
			return w.call("workspace/executeCommand", map[string]any{"command": o.Command.Command, "arguments": o.Command.Arguments}, nil)
		}
	}
	return fmt.Errorf("no action %q with a command among %q", a[2], titles)
}

// second sends another prompt to the session that is running a turn.
func second(w *world, a []string) error {
	if w.running == nil {
		return errors.New("no ask& is running")
	}
	var r struct {
		Stop string `json:"stop"`
	}
	err := w.call("stella/session/prompt", map[string]any{
		"sessionId": w.running.session, "text": "and another thing", "steer": a[0] == "steer",
	}, &r)
	if err != nil {
		if a[1] == "busy" && strings.Contains(err.Error(), "busy") {
			return nil
		}
		return err
	}
	return compare("stop", r.Stop, "is", a[1])
}
