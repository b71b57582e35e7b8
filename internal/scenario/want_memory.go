package scenario

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the databases below .stella are read as any program could

	"github.com/stella-ls/stella-ls/internal/fakeeditor"
)

// What the memory's scenarios use beside want.go.
//
//	cli CODE ARG...                          runs the binary in the workspace; CODE is its exit code
//	clis N CODE ARG...                       the same N times at once
//	mark NAME                                the time now; %T{NAME} in a later cli is that time
//	rpc METHOD JSON                          a request of the editor; %R is the root
//	stop                                     ends the server properly; start follows
//	await-log TEXT                           waits for a line in window/logMessage
//	want no-message TEXT                     no window/showMessage so far holds TEXT
//	want recalled N                          N updates of the last ask list recalled frames
//	await-rpc METHOD JSON TEXT               asks again until the answer holds TEXT
//	want printed OP TEXT                     by the last cli (stdout and stderr), or the answer of the last rpc
//	want hover PATH LINE:COL OP TEXT         "" when there is none
//	want goto PATH LINE:COL TARGET           the definition is in TARGET
//	want complete PATH LINE:COL OP TEXT      the completion list, as JSON
//	want diagnostics PATH OP TEXT            the newest published ones of PATH, as JSON, now or soon
//	want memory NAME KEY VALUE               a member of NAME's row in stella/memory/list; KEY "absent" for none
//	want system|recall|asked-with OP TEXT    of the newest request of a turn: its system text, its
//	                                         recall block ("" for none), all its bytes
//	want reflection OP TEXT                  the newest request for a reflection, now or soon
//	want one-prefix N                        N requests of the newest session so far, all with the same bytes
//	                                         as tools and system text
//	want appeared TOOL N                     in the newest session TOOL joins the tools with the Nth request, as the
//	                                         last; all other bytes of tools and system text stay
//	want one-recall N                        the newest N requests hold the same bytes as recall block
//	want row DATABASE QUERY TEXT             the first column of the first row, now or soon
func init() {
	commands["cli"] = command{"cli CODE ARG...", 2, true, func(w *world, a []string) error { return clis(w, append([]string{"1"}, a...)) }}
	commands["clis"] = command{"clis N CODE ARG...", 3, true, clis}
	commands["stop"] = command{"stop", 0, false, func(w *world, _ []string) error {
		w.sessions = map[string]*session{}
		return w.stop()
	}}
	commands["await-log"] = command{"await-log TEXT", 1, false, func(w *world, a []string) error {
		return w.awaitMessage(w.runFrom, func(r fakeeditor.Record) bool {
			return r.Method == "window/logMessage" && strings.Contains(string(r.Params), a[0])
		})
	}}
	commands["mark"] = command{"mark NAME", 1, true, mark}
	commands["await-rpc"] = command{"await-rpc METHOD JSON TEXT", 3, false, func(w *world, a []string) error {
		return w.soon(func() error {
			if err := rpc(w, a); err != nil {
				return err
			}
			return compare("the answer", w.printed, "contains", a[2])
		})
	}}
	commands["rpc"] = command{"rpc METHOD JSON", 2, false, rpc}
	for name, check := range map[string]wantCheck{
		"printed":     {2, func(w *world, a []string) error { return compare("what was printed", w.printed, a[0], a[1]) }},
		"no-message":  {1, wantNoMessage},
		"recalled":    {1, wantRecalled},
		"hover":       {4, wantHover},
		"goto":        {3, wantGoto},
		"complete":    {4, wantComplete},
		"diagnostics": {3, wantDiagnostics},
		"memory":      {3, wantMemory},
		"system":      {2, wantSystem},
		"recall":      {2, wantRecall},
		"asked-with":  {2, wantAskedWith},
		"reflection":  {2, wantReflection},
		"one-prefix":  {1, wantOnePrefix},
		"one-recall":  {1, wantOneRecall},
		"appeared":    {2, wantAppeared},
		"row":         {3, wantRow},
	} {
		wants[name] = check
	}
}

// clis runs the built binary as a person does in a terminal, several at once.
func clis(w *world, a []string) error {
	n, err := strconv.Atoi(a[0])
	if err != nil {
		return err
	}
	if w.proc == nil {
		if err := w.configure("script.yaml"); err != nil {
			return err
		}
	}
	args := slices.Clone(a[2:])
	for i := range args {
		for name, at := range w.marks {
			args[i] = strings.ReplaceAll(args[i], "%T{"+name+"}", at)
		}
	}
	type end struct {
		code int
		out  string
		err  error
	}
	ends := make(chan end, n)
	for range n {
		go func() {
			code, out, err := w.runBinary(args)
			ends <- end{code, out, err}
		}()
	}
	w.printed = ""
	var wrong error
	for range n {
		e := <-ends
		w.printed += e.out
		if e.err == nil && fmt.Sprint(e.code) != a[1] {
			e.err = fmt.Errorf("exit code %d: %s", e.code, e.out)
		}
		wrong = errors.Join(wrong, e.err)
	}
	return wrong
}

func (w *world) runBinary(args []string) (code int, out string, err error) {
	ctx, cancel := w.deadline()
	defer cancel()
	c := exec.CommandContext(ctx, w.c.Bin, args...)
	c.Dir, c.Env = w.root, w.env
	b, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || !exit.Exited()) {
		return -1, string(b), fmt.Errorf("%w: %s", err, b)
	}
	return c.ProcessState.ExitCode(), string(b), nil
}

// mark keeps the time.
func mark(w *world, a []string) error {
	if w.marks == nil {
		w.marks = map[string]string{}
	}
	w.marks[a[0]] = time.Now().UTC().Format(time.RFC3339Nano)
	return nil
}

func wantNoMessage(w *world, a []string) error {
	for _, r := range w.ed.Records() {
		if r.Dir == fakeeditor.Received && r.Method == "window/showMessage" && strings.Contains(string(r.Params), a[0]) {
			return fmt.Errorf("the person was told: %s", r.Params)
		}
	}
	return nil
}

func wantRecalled(w *world, a []string) error {
	n := 0
	for _, r := range w.sent("stella/session/update") {
		if u, ok, err := update(r); err != nil {
			return err
		} else if ok && u.Update.Kind == "recall" {
			n++
		}
	}
	return compare("the number of recalls", fmt.Sprint(n), "is", a[0])
}

func rpc(w *world, a []string) error {
	var raw json.RawMessage
	if err := w.call(a[0], json.RawMessage(w.uri(a[1])), &raw); err != nil {
		return err
	}
	w.printed = string(raw)
	return nil
}

// at is a place as LSP spells it.
func (w *world) placed(path, at string) (map[string]any, error) {
	var line, col int
	if _, err := fmt.Sscanf(at, "%d:%d", &line, &col); err != nil {
		return nil, fmt.Errorf("LINE:COL: %q", at)
	}
	return map[string]any{
		"textDocument": map[string]string{"uri": w.ed.URI(w.path(path))},
		"position":     map[string]int{"line": line - 1, "character": col - 1},
	}, nil
}

func wantHover(w *world, a []string) error {
	params, err := w.placed(a[0], a[1])
	if err != nil {
		return err
	}
	var r struct {
		Contents struct {
			Value string `json:"value"`
		} `json:"contents"`
	}
	if err := w.call("textDocument/hover", params, &r); err != nil {
		return err
	}
	return compare("the hover", r.Contents.Value, a[2], a[3])
}

func wantGoto(w *world, a []string) error {
	params, err := w.placed(a[0], a[1])
	if err != nil {
		return err
	}
	var r []struct {
		URI string `json:"uri"`
	}
	if err := w.call("textDocument/definition", params, &r); err != nil {
		return err
	}
	if len(r) != 1 {
		return fmt.Errorf("%d definitions", len(r))
	}
	return compare("the definition", r[0].URI, "is", w.ed.URI(w.path(a[2])))
}

func wantComplete(w *world, a []string) error {
	params, err := w.placed(a[0], a[1])
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := w.call("textDocument/completion", params, &raw); err != nil {
		return err
	}
	return compare("the completion list", string(raw), a[2], a[3])
}

// wantDiagnostics waits until the newest diagnostics of a file are as wanted.
func wantDiagnostics(w *world, a []string) error {
	uri := w.ed.URI(w.path(a[0]))
	ctx, cancel := w.deadline()
	defer cancel()
	newest := func() (string, error) {
		got := ""
		for _, r := range w.ed.Records()[w.runFrom:] {
			if r.Dir != fakeeditor.Received || r.Method != "textDocument/publishDiagnostics" {
				continue
			}
			var p struct {
				URI         string          `json:"uri"`
				Diagnostics json.RawMessage `json:"diagnostics"`
			}
			if err := json.Unmarshal(r.Params, &p); err != nil {
				return "", err
			}
			if p.URI == uri {
				got = string(p.Diagnostics)
			}
		}
		return got, nil
	}
	for {
		from := len(w.ed.Records())
		got, err := newest()
		if err != nil {
			return err
		}
		wrong := compare("the diagnostics of "+a[0], got, a[1], a[2])
		if got == "" {
			wrong = fmt.Errorf("no diagnostics of %s were published", a[0])
		}
		if wrong == nil {
			return nil
		}
		if _, _, err := w.ed.Await(ctx, from, func(r fakeeditor.Record) bool { return r.Method == "textDocument/publishDiagnostics" }); err != nil {
			return errors.Join(wrong, err)
		}
	}
}

func wantMemory(w *world, a []string) error {
	var rows []map[string]any
	if err := w.call("stella/memory/list", map[string]any{}, &rows); err != nil {
		return err
	}
	for _, row := range rows {
		source, _ := row["source"].(string)
		if row["id"] != a[0] && source != ".stella/memories/"+a[0]+".md" {
			continue
		}
		if a[1] == "absent" {
			return fmt.Errorf("%s is listed: %v", a[0], row)
		}
		return compare(a[1]+" of "+a[0], fmt.Sprint(row[a[1]]), "is", a[2])
	}
	if a[1] == "absent" {
		return nil
	}
	return fmt.Errorf("%s is not listed: %v", a[0], rows)
}

func wantRow(w *world, a []string) error {
	return w.soon(func() error {
		db, err := sql.Open("sqlite", "file:"+w.path(".stella/"+a[0])+"?mode=ro&_pragma=busy_timeout(5000)")
		if err != nil {
			return err
		}
		defer db.Close()
		ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
		defer cancel()
		var got sql.NullString
		if err := db.QueryRowContext(ctx, a[1]).Scan(&got); err != nil {
			return fmt.Errorf("%s: %w", a[1], err)
		}
		return compare(a[1], got.String, "is", a[2])
	})
}

// soon looks again and again, for what happens behind an answer's back.
func (w *world) soon(check func() error) error {
	ctx, cancel := w.deadline()
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}
