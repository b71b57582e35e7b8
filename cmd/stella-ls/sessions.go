package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/internal/server"
)

// sessionsCommand looks at recorded sessions of a workspace, goes on with one,
// or takes back what one changed.
func sessionsCommand(ctx context.Context, e env) int {
	fs := flags(e, "sessions", "list | show ID | resume ID | undo ID [--turn T] [--edit E]")
	root := fs.String("root", ".", "the workspace")
	asJSON := fs.Bool("json", false, "print JSON")
	turn := fs.String("turn", "", "undo this turn (t3); default: the last one that changed anything")
	edit := fs.String("edit", "", "undo this edit (e2)")
	trust := fs.Bool("trust", false, "trust the workspace for this run")
	words, code, done := parseMixed(fs, e.args)
	if done {
		return code
	}
	verb, id := "", ""
	switch len(words) {
	case 1:
		verb = words[0]
	case 2:
		verb, id = words[0], words[1]
	}
	if verb == "" || (verb == "list") != (id == "") {
		fs.Usage()
		return exitUsage
	}
	dir, err := directory(*root)
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls sessions:", err)
		return exitUsage
	}
	o, err := options(e, slog.LevelWarn)
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls sessions:", err)
		return exitFail
	}
	o.Trust, o.LookOnly = *trust, verb != "resume"
	c := &console{e: e, quiet: *asJSON}
	h, err := server.OpenHeadless(ctx, o, dir, c, func(m string) { fmt.Fprintln(e.stderr, m) })
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls sessions:", err)
		return exitFail
	}
	defer closeSoon(h, e.stderr)
	switch verb {
	case "list":
		return listSessions(e, h, *asJSON)
	case "show":
		return showSession(e, h, id, *asJSON)
	case "resume":
		return resumeSession(ctx, e, h, c, id)
	case "undo":
		return undoSession(ctx, e, h, id, *turn, *edit, *asJSON)
	}
	fs.Usage()
	return exitUsage
}

// failed says an error and gives its exit code: what was named wrongly is usage.
func failed(e env, err error) int {
	fmt.Fprintln(e.stderr, "stella-ls sessions:", err)
	if errors.Is(err, agent.ErrNoSession) {
		return exitUsage
	}
	return exitFail
}

func listSessions(e env, h *server.Headless, asJSON bool) int {
	list := h.List()
	if asJSON {
		rows := []map[string]any{}
		for _, i := range list {
			rows = append(rows, map[string]any{
				"sessionId": i.ID, "title": i.Title, "state": i.State, "updatedAt": i.UpdatedAt.UTC().Format(time.RFC3339),
				"turns": i.Turns, "guarded": i.Guarded,
			})
		}
		printJSON(e.stdout, rows)
		return exitOK
	}
	if len(list) == 0 {
		fmt.Fprintln(e.stdout, "no sessions in this workspace")
	}
	for _, i := range list {
		fmt.Fprintf(e.stdout, "%s  %s  %-11s  %2d turns  %3d files  %s\n", i.ID, i.UpdatedAt.Local().Format(time.DateTime), i.State, i.Turns, i.Guarded, i.Title)
	}
	return exitOK
}

func showSession(e env, h *server.Headless, id string, asJSON bool) int {
	t, err := h.Get(id)
	if err != nil {
		return failed(e, err)
	}
	if asJSON {
		printJSON(e.stdout, map[string]any{"sessionId": t.Info.ID, "title": t.Info.Title, "state": t.Info.State, "messages": t.Messages, "usage": t.Usage})
		return exitOK
	}
	fmt.Fprint(e.stdout, server.Markdown(t))
	return exitOK
}

// resumeSession goes on with the turn that was interrupted, to its end.
func resumeSession(ctx context.Context, e env, h *server.Headless, c *console, id string) int {
	was, err := h.Resume(ctx, id, false)
	if err != nil {
		return failed(e, err)
	}
	if !was {
		fmt.Fprintln(e.stdout, "nothing was interrupted; go on with: stella-ls ask TEXT --session", id)
		return exitOK
	}
	out, err := h.Prompt(ctx, agent.Prompt{Session: id, Text: "Go on with the request that was interrupted. Look at the files again first."})
	if err != nil {
		return failed(e, err)
	}
	c.end(id, out)
	return stopCode(out.Stop)
}

func undoSession(ctx context.Context, e env, h *server.Headless, id, turn, edit string, asJSON bool) int {
	undone, err := h.Undo(ctx, id, turn, edit)
	if err != nil {
		return failed(e, err)
	}
	code := exitOK
	rows := []map[string]any{}
	for _, u := range undone {
		rows = append(rows, map[string]any{"path": u.Path, "edits": u.Edits, "result": u.Result})
		if !u.Result.OK() {
			code = exitFail
		}
		if asJSON {
			continue
		}
		if u.Result.OK() {
			fmt.Fprintf(e.stdout, "undone: %s\n", u.Path)
		} else {
			fmt.Fprintf(e.stdout, "not undone: %s\n%s\n%s\n", u.Path, u.Result.Message, u.Result.Diff)
		}
	}
	if asJSON {
		printJSON(e.stdout, rows)
	}
	return code
}
