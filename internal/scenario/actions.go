package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
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
		Edit json.RawMessage `json:"edit"`
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
		if strings.Contains(o.Title, a[2]) && len(o.Edit) > 0 {
			return w.ed.Apply(o.Edit)
		}
		if strings.Contains(o.Title, a[2]) && o.Command != nil {
			return w.call("workspace/executeCommand", map[string]any{"command": o.Command.Command, "arguments": o.Command.Arguments}, nil)
		}
	}
	return fmt.Errorf("no action %q with a command or an edit among %q", a[2], titles)
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

// pieces are what a flood types: every width of a character and every line end.
var pieces = []string{"a", "é", "漢", "😀", "\n", "\r\n", " ", "long enough to be cut", "x\ny\nz", ""}

// flood changes a buffer at random, some changes with several ranges.
func flood(w *world, a []string) error {
	n, err := strconv.Atoi(a[1])
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(a[2], 10, 64)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		if err := w.ed.Splice(w.path(a[0]), 1+r.IntN(3), r.IntN, pieces); err != nil {
			return err
		}
	}
	return nil
}

// wantSeen compares the base of the last read with the editor's own text: the
// server's copy is exact, or it is not.
func wantSeen(w *world, a []string) error {
	text, _, _, open := w.ed.Buffer(w.path(a[0]))
	if !open {
		return fmt.Errorf("%s is not open", a[0])
	}
	h := sha256.Sum256([]byte(text))
	reads := w.named("read_file")
	if len(reads) == 0 {
		return errors.New("nothing was read")
	}
	got := fmt.Sprint(reads[len(reads)-1].object["base"])
	return compare("the base of "+a[0], got, "is", "sha256:"+hex.EncodeToString(h[:]))
}
