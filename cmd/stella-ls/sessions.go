package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/internal/server"
)

// sessionsUsage is the help of the command.
const sessionsUsage = `list | show ID | resume ID | undo ID [--turn T] [--edit E]   [--root DIR] [--json]

  list    the recorded sessions of the workspace, newest first
  show    what was said in one, also in one that is open elsewhere
  resume  goes on with the turn that was interrupted, to its end
  undo    takes back what its last turn changed, or the turn or edit that is named; what somebody changed since stays

exit codes: 0 done, 1 failed or not everything undone, 2 wrong usage or no such session, 3 model error, 4 budget or step limit
`

// sessionsCommand looks at recorded sessions of a workspace, goes on with one,
// or takes back what one changed.
func sessionsCommand(ctx context.Context, e env) int {
	fs := flags(e, "sessions", sessionsUsage)
	root := fs.String("root", ".", "the workspace; a `dir`")
	asJSON := fs.Bool("json", false, "print JSON")
	turn := fs.String("turn", "", "undo this `turn` (t3); without it the last one that changed anything")
	edit := fs.String("edit", "", "undo this `edit` (e2)")
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
	if why := sessionsFault(verb, id, len(words), *turn, *edit); why != "" {
		fmt.Fprintln(e.stderr, "stella-ls sessions:", why)
		fs.Usage()
		return exitUsage
	}
	c := &console{e: e, quiet: *asJSON}
	h, code := headless(ctx, e, "sessions", *root, c, server.Options{Trust: *trust, LookOnly: verb != "resume"})
	if h == nil {
		return code
	}
	defer closeSoon(h, e.stderr)
	switch verb {
	case "list":
		return listSessions(e, h, *asJSON)
	case "show":
		return showSession(ctx, e, h, id, *asJSON)
	case "resume":
		return resumeSession(ctx, e, h, c, id)
	case "undo":
		return undoSession(ctx, e, h, id, *turn, *edit, *asJSON)
	}
	fs.Usage()
	return exitUsage
}

// sessionsFault is what is wrong with the words of a command; "" when nothing is.
func sessionsFault(verb, id string, words int, turn, edit string) string {
	known := verb == "list" || verb == "show" || verb == "resume" || verb == "undo"
	switch {
	case words == 0:
		return "say what to do"
	case words > 2:
		return "one session at a time"
	case !known:
		return "no such command: " + verb
	case verb == "list" && id != "":
		return "list takes no session; to see one: sessions show " + id
	case verb != "list" && id == "":
		return verb + " needs the session's id; sessions list has them"
	case verb != "undo" && (turn != "" || edit != ""):
		return "--turn and --edit are for undo"
	case turn != "" && edit != "":
		return "either a turn or an edit can be undone"
	}
	return ""
}

// failed says an error and gives its exit code: what was named wrongly is usage.
func failed(e env, err error) int {
	fmt.Fprintln(e.stderr, "stella-ls sessions:", err)
	if errors.Is(err, agent.ErrNoSession) || errors.Is(err, agent.ErrTurn) {
		return exitUsage
	}
	return exitFail
}

func listSessions(e env, h *server.Headless, asJSON bool) int {
	list := h.ListAll()
	if asJSON {
		rows := []map[string]any{}
		for _, i := range list {
			rows = append(rows, map[string]any{
				"sessionId": i.ID, "title": i.Title, "state": i.State, "updatedAt": i.UpdatedAt.UTC().Format(time.RFC3339),
				"turns": i.Turns, "guarded": i.Guarded, "elsewhere": i.Elsewhere,
			})
		}
		printJSON(e.stdout, rows)
		return exitOK
	}
	if len(list) == 0 {
		fmt.Fprintln(e.stdout, "no sessions in this workspace")
	}
	for _, i := range list {
		title := i.Title
		if i.Elsewhere {
			title += "  (open in another process)"
		}
		fmt.Fprintf(e.stdout, "%-12s  %s  %-11s  %9s  %9s  %s\n", i.ID, i.UpdatedAt.Local().Format(time.DateTime), i.State, counted(i.Turns, "turn"), counted(i.Guarded, "file"), title)
	}
	return exitOK
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// showSession prints what can be read; of a damaged record that is a part, and
// the exit code says so.
func showSession(ctx context.Context, e env, h *server.Headless, id string, asJSON bool) int {
	t, err := h.Look(ctx, id)
	if errors.Is(err, agent.ErrNoSession) {
		return failed(e, err)
	}
	if asJSON {
		messages := t.Messages
		if messages == nil {
			messages = []model.Message{}
		}
		printJSON(e.stdout, map[string]any{"sessionId": t.Info.ID, "title": t.Info.Title, "state": t.Info.State, "messages": messages, "usage": t.Usage})
	} else {
		fmt.Fprint(e.stdout, server.Markdown(t))
	}
	if err != nil {
		return failed(e, err)
	}
	return exitOK
}

// resumeSession goes on with the turn that was interrupted, to its end.
func resumeSession(ctx context.Context, e env, h *server.Headless, c *console, id string) int {
	out, was, err := h.Continue(ctx, id)
	if err != nil {
		return failed(e, err)
	}
	if !was {
		if c.quiet {
			printJSON(e.stdout, map[string]any{"sessionId": id, "interrupted": false})
		} else {
			fmt.Fprintln(e.stdout, "nothing was interrupted; go on with: stella-ls ask TEXT --session", id)
		}
		return exitOK
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
			fmt.Fprintf(e.stdout, "not undone: %s\n%s\n%s", u.Path, u.Result.Message, u.Result.Diff)
			if d := u.Result.Diff; d == "" || d[len(d)-1] != '\n' {
				fmt.Fprintln(e.stdout)
			}
		}
	}
	if asJSON {
		printJSON(e.stdout, rows)
	}
	return code
}
