package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/process"
)

// Hooks are the user's own commands around tool calls and sessions. They get
// {event, session, tool?, input?, path?} as JSON on stdin. A nil *Hooks has none.
type Hooks struct {
	// Settings is asked at each event.
	Settings func() []config.Hook
	// Trusted: without trust no hook runs.
	Trusted func() bool
	// Root is the directory that hooks start in.
	Root string
}

const hookTimeout = 60 * time.Second

// verdict is a pre_tool hook's answer; the zero value allows.
type verdict struct {
	Decision string `json:"decision"` // allow, deny, ask
	Reason   string `json:"reason"`
}

type hookInput struct {
	Event   string          `json:"event"`
	Session string          `json:"session"`
	Tool    string          `json:"tool,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Path    string          `json:"path,omitempty"`
}

// matching are the hooks of an event whose glob fits the tool.
func (h *Hooks) matching(event, tool string) []config.Hook {
	if h == nil || h.Settings == nil || h.Trusted == nil || !h.Trusted() {
		return nil
	}
	var out []config.Hook
	for _, hook := range h.Settings() {
		if hook.Event != event || len(hook.Command) == 0 {
			continue
		}
		if ok, err := path.Match(hook.Tool, tool); hook.Tool != "" && tool != "" && (err != nil || !ok) {
			continue
		}
		out = append(out, hook)
	}
	return out
}

func (h *Hooks) none(event, tool string) bool { return len(h.matching(event, tool)) == 0 }

func (h *Hooks) start(ctx context.Context, hook config.Hook, in hookInput) (process.Result, error) {
	input, err := json.Marshal(in)
	if err != nil {
		return process.Result{}, err
	}
	timeout := hook.Timeout.Duration
	if timeout <= 0 {
		timeout = hookTimeout
	}
	return process.Run(ctx, process.Command{Argv: hook.Command, Dir: h.Root, Stdin: input, Timeout: timeout, Split: true})
}

// preTool asks the pre_tool hooks in order; the first that does not allow wins.
// A hook that exits non-zero, never ends or answers nonsense denies.
func (h *Hooks) preTool(ctx context.Context, env Env, call Call, paths []string) verdict {
	for _, hook := range h.matching("pre_tool", call.Tool) {
		in := hookInput{Event: "pre_tool", Session: env.Session, Tool: call.Tool, Input: call.Input}
		if len(paths) > 0 {
			in.Path = paths[0]
		}
		out, err := h.start(ctx, hook, in)
		name := strings.Join(hook.Command, " ")
		switch {
		case err != nil:
			return verdict{"deny", fmt.Sprintf("%s could not be run: %v", name, err)}
		case out.TimedOut:
			return verdict{"deny", name + " did not end in time"}
		case out.Exit != 0:
			return verdict{"deny", fmt.Sprintf("%s ended with exit %d: %s", name, out.Exit, bounded(strings.TrimSpace(out.Stderr+out.Output), 500))}
		}
		v := verdict{Decision: "allow"}
		if text := strings.TrimSpace(out.Output); text != "" {
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				return verdict{"deny", name + " answered something that is not {\"decision\", \"reason\"}"}
			}
		}
		switch v.Decision {
		case "allow", "":
		case "ask", "deny":
			return v
		default:
			return verdict{"deny", name + " answered the unknown decision " + v.Decision}
		}
	}
	return verdict{}
}

// postWrite runs the post_write hooks for every file that a call wrote. What
// they change is treated like the doing of a tool.
func (h *Hooks) postWrite(ctx context.Context, env Env, call Call, own []guard.Result, res *Result) {
	hooks := h.matching("post_write", call.Tool)
	for _, hook := range hooks {
		for _, r := range own {
			if !r.OK() {
				continue
			}
			name := strings.Join(hook.Command, " ")
			after := env.Guard.Bracket(ctx, "post_write hook: "+name)
			out, err := h.start(ctx, hook, hookInput{Event: "post_write", Session: env.Session, Tool: call.Tool, Path: r.Path})
			*res = withChanged(*res, after(context.WithoutCancel(ctx)))
			if err != nil || out.Exit != 0 || out.TimedOut {
				why := bounded(strings.TrimSpace(out.Stderr+out.Output), 500)
				switch {
				case err != nil:
					why = err.Error()
				case out.TimedOut:
					why = strings.TrimSuffix("it did not end in time and was ended: "+why, ": ")
				case why == "":
					why = fmt.Sprintf("it ended with exit %d", out.Exit)
				}
				res.Body = strings.TrimSpace(res.Body + "\n\nThe post_write hook " + name + " failed; the change stays: " + why)
				noteHookError(res, name+": "+why)
			}
		}
	}
}

// noteHookError puts the failure where the object has its place for it.
func noteHookError(res *Result, why string) {
	if r, ok := res.Object.(guard.Result); ok && r.HookError == "" {
		r.HookError = why
		res.Object = r
	}
}

// Session runs the session_start or stop hooks; their failures are for the log.
func (h *Hooks) Session(ctx context.Context, event, session string) error {
	for _, hook := range h.matching(event, "") {
		out, err := h.start(ctx, hook, hookInput{Event: event, Session: session})
		if err != nil {
			return fmt.Errorf("%s hook %s: %w", event, strings.Join(hook.Command, " "), err)
		}
		switch {
		case out.TimedOut:
			return fmt.Errorf("%s hook %s did not end in time and was ended", event, strings.Join(hook.Command, " "))
		case out.Exit != 0:
			return fmt.Errorf("%s hook %s failed (exit %d)", event, strings.Join(hook.Command, " "), out.Exit)
		}
	}
	return nil
}
