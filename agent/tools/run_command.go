package tools

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/internal/process"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

//go:embed run_command.md
var runCommandText string

const (
	commandTimeout    = 120 * time.Second
	commandTimeoutMax = 600 * time.Second
)

type runCommand struct{ files }

type commandInput struct {
	Command  string `json:"command"`
	TimeoutS int    `json:"timeout_s"`
}

type commandObject struct {
	Status  string   `json:"status"` // ok, timed_out, cancelled
	Exit    int      `json:"exit"`
	Cut     int      `json:"cut"`               // bytes left out of the output
	Ended   int      `json:"ended,omitempty"`   // processes it left running
	Unsaved []string `json:"unsaved,omitempty"` // files whose editor text the disk does not have
}

func (runCommand) Spec() Spec {
	return Spec{
		Name: "run_command", Description: runCommandText, Effect: Opaque, Permission: PermitCommand, PathKeys: []string{},
		Schema: schemaOf(`{"type":"object","required":["command"],"additionalProperties":false,"properties":{
			"command":{"type":"string","minLength":1},"timeout_s":{"type":"integer","minimum":1,"maximum":600}}}`),
	}
}

func (runCommand) Need(_ context.Context, env Env, call Call) Need {
	var in commandInput
	_ = decode(call.Input, &in)
	return Need{
		Permission: PermitCommand, Rule: "command:" + in.Command, Trust: true,
		Question: Question{Kind: "command", Title: "Run a command?", Command: in.Command, Cwd: env.Root},
	}
}

func (runCommand) Detail(call Call) string {
	var in commandInput
	_ = decode(call.Input, &in)
	return "run_command: " + in.Command
}

func (t runCommand) Run(ctx context.Context, env Env, call Call) (Result, error) {
	var in commandInput
	if res := decode(call.Input, &in); res != nil {
		return *res, nil
	}
	timeout := commandTimeout
	if in.TimeoutS > 0 {
		timeout = min(time.Duration(in.TimeoutS)*time.Second, commandTimeoutMax)
	}
	unsaved := t.unsaved(env)
	out, err := process.Run(ctx, process.Command{Argv: append(shell(), in.Command), Dir: env.Root, Timeout: timeout})
	o := commandObject{Status: "ok", Exit: out.Exit, Cut: out.Cut, Ended: out.Left, Unsaved: unsaved}
	r := Result{Body: strings.TrimRight(out.Output, "\n"), Derived: true}
	switch {
	case ctx.Err() != nil:
		o.Status, r.Head = "cancelled", "the command was cancelled and ended"
	case err != nil:
		return Failed("error", "", "the command could not be started: "+err.Error(), "check the command and the directory"), nil
	case out.TimedOut:
		o.Status, r.Head = "timed_out", fmt.Sprintf("the command was ended after %s", timeout)
	case out.Exit < 0:
		r.Head = "the command was ended by a signal"
	default:
		r.Head = fmt.Sprintf("exit %d", out.Exit)
	}
	if out.Left > 0 {
		r.Head += fmt.Sprintf("; %s that it left running ended", plural(out.Left, "process"))
	}
	if len(unsaved) > 0 {
		r.Head += "; programs saw the disk, which does not have the editor's text of " + listed(unsaved)
	}
	r.Object, r.Status, r.IsError = o, o.Status, o.Status != "ok" || out.Exit != 0
	return r, nil
}

// unsaved are the documents of the session's root, as people see them named,
// whose text the disk does not have.
func (t runCommand) unsaved(env Env) []string {
	var out []string
	for _, d := range t.ws.Documents() {
		b := d.Buffer
		if _, inside := workspace.Below(env.Root, string(d.Name.Path)); inside && (b.Dirty || b.OwnUnsaved) {
			out = append(out, d.Name.Display)
		}
	}
	return out
}

// listed names the first of many.
func listed(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// shell is the argv in front of a command line.
func shell() []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/C"}
	}
	if path, err := exec.LookPath("bash"); err == nil {
		return []string{path, "-c"}
	}
	return []string{"/bin/sh", "-c"}
}
