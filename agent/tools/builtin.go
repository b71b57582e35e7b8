package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// BuiltinOptions are what the built-in tools work with.
type BuiltinOptions struct {
	Workspace *workspace.Workspace
	// Diagnostics is what the editor shows now; ok is false when nobody can tell.
	Diagnostics func(ctx context.Context, path string) (items []Diagnostic, ok bool)
}

// Builtin returns the built-in tools but for graph_query, which appears when
// the graph is ready.
func Builtin(o BuiltinOptions) []Tool {
	f := files{o.Workspace}
	return []Tool{
		readFile{f},
		editFile{f}, editFiles{f}, writeFile{f}, deleteFile{f}, moveFile{f},
		listFiles{f}, searchText{f},
		runCommand{f},
		diagnostics{f, o.Diagnostics},
		askUser{},
	}
}

// schemaOf is a literal JSON Schema; Add refuses it when it is none.
func schemaOf(s string) json.RawMessage { return json.RawMessage(s) }

// files is what every file tool shares: one resolver and one way to read.
type files struct{ ws *workspace.Workspace }

// resolve turns a spelled path into a file inside the workspace.
func (f files) resolve(env Env, spelled string) (workspace.Name, *Result) {
	name, err := env.resolve(f.ws, spelled)
	if err != nil {
		return name, pathFault(spelled, err)
	}
	if !name.Inside() {
		return name, outside(spelled)
	}
	return name, nil
}

func outside(spelled string) *Result {
	r := Failed(guard.StatusOutsideWorkspace, spelled, spelled+" is outside the workspace", "use a path inside the workspace")
	return &r
}

// view reads what a path holds now; a directory, a special file or one that
// cannot be read ends the call.
func (f files) view(ctx context.Context, env Env, spelled string) (workspace.File, *Result) {
	name, res := f.resolve(env, spelled)
	if res != nil {
		return workspace.File{Name: name}, res
	}
	file, err := f.ws.View(ctx, name)
	if err != nil {
		if ctx.Err() != nil {
			r := Cancelled("reading " + spelled)
			return file, &r
		}
		return file, pathFault(name.Display, err)
	}
	return file, nil
}

// pathFault is the result for a path that could not be resolved or read.
func pathFault(shown string, err error) *Result {
	status, next := guard.StatusUnreadable, "check the path with list_files"
	switch {
	case errors.Is(err, workspace.ErrOutside):
		return outside(shown)
	case errors.Is(err, workspace.ErrAmbiguous):
		status = guard.StatusInvalid
	case errors.Is(err, fs.ErrNotExist):
		status = guard.StatusNotFound
	}
	var pe *workspace.PathError
	if errors.As(err, &pe) && pe.Hint != "" {
		next = pe.Hint
	}
	r := Failed(status, shown, fmt.Sprintf("%s cannot be used: %v", shown, err), next)
	return &r
}

func origin(c Call) guard.Origin {
	return guard.Origin{Turn: c.Turn, Step: c.Step, Tool: c.Tool, CallID: c.ID}
}
