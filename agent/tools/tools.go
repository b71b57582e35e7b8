// Package tools holds the Registry, the one gate in front of every tool
// (built-in, MCP, custom), and the built-in tools themselves.
//
// A call goes: schema check, permission, pre-hooks, guard, run, post-hooks,
// observation. A tool cannot opt out, because the only way to run one is
// Registry.Execute.
package tools

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Effect is what a tool may do, as far as the gate must know.
type Effect int

const (
	// Reads: changes nothing; runs in parallel with other reads.
	Reads Effect = iota
	// Mutates: changes files only through guard.Session.Apply.
	Mutates
	// Opaque: may change anything behind our back (commands, MCP, custom
	// tools). Believed paths and open buffers are digested before and after.
	Opaque
	// Talks: neither reads nor writes the workspace (ask_user, cite_memory).
	Talks
)

// Permission is which setting decides about a call.
type Permission string

const (
	PermitNothing Permission = ""
	PermitWrite   Permission = "write"
	PermitCommand Permission = "command"
	PermitNetwork Permission = "network"
	PermitMCP     Permission = "mcp"
)

// Spec describes a tool to the model and to the gate.
type Spec struct {
	Name        string
	Description string          // the text that the model reads
	Schema      json.RawMessage // JSON Schema of an object
	// Lenient accepts a schema that cannot be compiled: its inputs are then only
	// checked by whoever runs the tool (an MCP server).
	Lenient    bool
	Effect     Effect
	Permission Permission
	// PathKeys are input members that name files the call would change; for
	// Opaque tools they are checked against the beliefs before the call.
	PathKeys []string
}

// Call is one tool call of a model message.
type Call struct {
	ID    string
	Tool  string
	Input json.RawMessage
	// BadInput is why Input could not be read; such a call is never run.
	BadInput string
	Turn     int
	Step     int
}

// Result is what goes back to the model; Text gives its wire form.
type Result struct {
	// Head is line 1, for people. Object is line 2 (any JSON object with a
	// status member). Body follows after an empty line.
	Head   string
	Object any
	Body   string
	// IsError marks the result as an error for the model.
	IsError bool
	// Status is Object's status.
	Status string
	// Refusal is set when the guard refused.
	Refusal *guard.Result
	// Observed becomes belief once the result is in the transcript.
	Observed []guard.Observation
	// Derived is true when the text came from somewhere that is not a file of
	// the workspace (command, MCP, network): what is remembered after it is
	// "derived".
	Derived bool
	// Took is how long the tool itself ran, without the wait for a person; 0
	// when it never ran. It is for figures and is not shown to the model.
	Took time.Duration
}

// Tool is one thing a model can call.
type Tool interface {
	Spec() Spec
	// Run executes a call that passed the gate. Its error is for broken
	// machinery only; everything the model can act on is a Result.
	Run(ctx context.Context, env Env, call Call) (Result, error)
}

// Mutator is a tool that changes files. It only says which changes its call
// asks for; the Registry carries them out through guard.Session.Apply, in one
// transaction for adjacent calls that may be joined. Run is never called on one.
type Mutator interface {
	Tool
	// Changes reads the call. A Result that is not nil ends the call instead.
	Changes(ctx context.Context, env Env, call Call) ([]guard.Change, *Result)
	// Joins reports whether adjacent calls on one path with one base are one batch.
	Joins() bool
}

// Afterer is a Mutator that has something to do once its changes were applied or
// refused; it may say more in res.
type Afterer interface {
	After(ctx context.Context, env Env, call Call, res *Result)
}

// Needer is a tool whose permission depends on the call.
type Needer interface {
	Need(ctx context.Context, env Env, call Call) Need
}

// Env is what a running tool may use of its session.
type Env struct {
	Session string
	Guard   *guard.Session
	Ask     Asker
	// Root is the directory that relative paths and commands start from.
	Root string
	// Chosen is true when the session was started in Root: then relative paths are
	// there, even where another folder of the workspace has the same.
	Chosen bool
	// Derived is true when an earlier result of this turn was Derived. The
	// Registry sets it for each call, from DerivedNow if that is not nil.
	Derived    bool
	DerivedNow func() bool
	// Notice tells the human something at once; nil drops it.
	Notice func(text string)
}

func (e Env) notice(text string) {
	if e.Notice != nil {
		e.Notice(text)
	}
}

// resolve reads a path as the model spells it.
func (e Env) resolve(ws *workspace.Workspace, spelled string) (workspace.Name, error) {
	if e.Chosen {
		return ws.ResolveIn(e.Root, spelled)
	}
	return ws.Resolve(e.Root, spelled)
}

// Question is something only the human can answer.
type Question struct {
	Kind    string // "command", "write", "network", "mcp", "trust", "question"
	Title   string
	Detail  string
	Command string
	Cwd     string
	Diff    string
	Options []Option
	// Free is true when an answer in own words is possible.
	Free bool
}

// Option is one possible answer.
type Option struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Answer is what the human chose.
type Answer struct {
	Choice string // an option's id; empty when nobody can be asked
	Text   string
}

// Asker puts questions to the human. lsp implements it; headless runs answer
// with an empty Choice at once.
type Asker interface {
	Ask(ctx context.Context, session string, q Question) (Answer, error)
}
