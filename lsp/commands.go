package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// The server registers commands below commandPrefix; the extensions offer their
// own below clientPrefix (a name registered twice keeps an extension from
// starting). executeCommand takes both.
const (
	commandPrefix = "stella.server."
	clientPrefix  = "stella."
)

// command is one command with its arguments; the first is an object.
type command func(ctx context.Context, arg json.RawMessage) (any, error)

func (s *Server) commandRoutes(t table) {
	type params struct {
		Command   string            `json:"command"`
		Arguments []json.RawMessage `json:"arguments"`
	}
	own := s.commands()
	request(t, protocol.MethodWorkspaceExecuteCommand, long, func(ctx context.Context, p *params) (any, error) {
		name, ok := strings.CutPrefix(p.Command, commandPrefix)
		if !ok {
			if name, ok = strings.CutPrefix(p.Command, clientPrefix); !ok {
				return nil, noCommand(p.Command)
			}
		}
		var arg json.RawMessage
		if len(p.Arguments) > 0 {
			arg = p.Arguments[0]
		}
		if do, ok := own[name]; ok {
			return do(ctx, arg)
		}
		r, ok := t[twinMethod(name)]
		if !ok || r.notification {
			return nil, noCommand(p.Command)
		}
		do, err := r.prepare(jsonrpc2.RawMessage(arg))
		if err != nil {
			return nil, err
		}
		return do(ctx)
	})
}

func noCommand(name string) error {
	return jsonrpc2.NewError(jsonrpc2.InvalidParams, fmt.Sprintf("this server has no command %q", name))
}

// twinMethod is the custom request that a command stands for: every one can be
// run by a client that knows only workspace/executeCommand.
func twinMethod(name string) string { return "stella/" + strings.ReplaceAll(name, ".", "/") }

// commandNames are all commands, with the twins of the custom requests.
func (s *Server) commandNames() []string {
	var names []string
	for name := range s.commands() {
		names = append(names, commandPrefix+name)
	}
	for method, r := range s.dispatch.routes {
		if rest, ok := strings.CutPrefix(method, "stella/"); ok && !r.notification && method != MethodTestRelease {
			names = append(names, commandPrefix+strings.ReplaceAll(rest, "/", "."))
		}
	}
	sort.Strings(names)
	return slices.Compact(names) // a name registered twice keeps VS Code's client from starting
}

func (s *Server) commands() map[string]command {
	return map[string]command{
		"ask":        s.askCommand("ask"),
		"explain":    s.askCommand("explain"),
		"fix":        s.askCommand("fix"),
		"writeTests": s.askCommand("writeTests"),
		"cancel":     s.cancelCommand,
		"resume":     s.resumeCommand,
		"undo":       s.undoCommand,
		"replan":     s.replanCommand,
		"showSeen":   s.showSeenCommand,

		"doctor": s.doctorCommand,

		"memory.save":   s.saveMemoryCommand,
		"graph.reindex": s.reindexCommand,
	}
}

// typed decodes a command's argument like a request's parameters.
func typed[P, R any](arg json.RawMessage, h func(*P) (R, error)) (any, error) {
	p, err := decode[P](jsonrpc2.RawMessage(arg))
	if err != nil {
		return nil, err
	}
	return h(p)
}

// doctorCommand answers like "stella-ls doctor --json", for the first root.
func (s *Server) doctorCommand(ctx context.Context, _ json.RawMessage) (any, error) {
	if _, err := s.sessions(ctx); err != nil {
		return nil, err
	}
	if s.backend.Doctor == nil {
		return nil, jsonrpc2.NewError(codeRequestFailed, "this server has no doctor")
	}
	return rawJSON(s.backend.Doctor(ctx)), nil
}
