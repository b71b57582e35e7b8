package tools

import (
	"context"
	_ "embed"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

//go:embed delete_file.md
var deleteFileText string

//go:embed move_file.md
var moveFileText string

type deleteFile struct{ files }

func (deleteFile) Spec() Spec {
	return Spec{
		Name: "delete_file", Description: deleteFileText, Effect: Mutates, Permission: PermitWrite, PathKeys: []string{"path"},
		Schema: schemaOf(`{"type":"object","required":["path"],"additionalProperties":false,"properties":{
			"path":{"type":"string","minLength":1},"base":{"type":"string"}}}`),
	}
}

func (deleteFile) Joins() bool { return false }

func (deleteFile) Run(context.Context, Env, Call) (Result, error) { return Result{}, errNotRun }

func (t deleteFile) Changes(_ context.Context, env Env, call Call) ([]guard.Change, *Result) {
	var in struct {
		Path string           `json:"path"`
		Base workspace.Digest `json:"base"`
	}
	if res := decode(call.Input, &in); res != nil {
		return nil, res
	}
	if res := t.resolveEntry(env, in.Path); res != nil {
		return nil, res
	}
	return []guard.Change{{Kind: guard.ChangeDelete, Path: in.Path, Base: in.Base}}, nil
}

// resolveEntry accepts a link inside the workspace wherever it points to,
// because deleting and moving act on the link itself.
func (f files) resolveEntry(env Env, spelled string) *Result {
	name, err := env.resolve(f.ws, spelled)
	if err != nil {
		return pathFault(spelled, err)
	}
	if name.Inside() || f.insideEntry(name.Link) {
		return nil
	}
	return outside(spelled)
}

type moveFile struct{ files }

func (moveFile) Spec() Spec {
	return Spec{
		Name: "move_file", Description: moveFileText, Effect: Mutates, Permission: PermitWrite, PathKeys: []string{"path", "to"},
		Schema: schemaOf(`{"type":"object","required":["path","to"],"additionalProperties":false,"properties":{
			"path":{"type":"string","minLength":1},"to":{"type":"string","minLength":1},"base":{"type":"string"}}}`),
	}
}

func (moveFile) Joins() bool { return false }

func (moveFile) Run(context.Context, Env, Call) (Result, error) { return Result{}, errNotRun }

func (t moveFile) Changes(_ context.Context, env Env, call Call) ([]guard.Change, *Result) {
	var in struct {
		Path string           `json:"path"`
		To   string           `json:"to"`
		Base workspace.Digest `json:"base"`
	}
	if res := decode(call.Input, &in); res != nil {
		return nil, res
	}
	if res := t.resolveEntry(env, in.Path); res != nil {
		return nil, res
	}
	if _, res := t.resolve(env, in.To); res != nil {
		return nil, res
	}
	return []guard.Change{{Kind: guard.ChangeMove, Path: in.Path, To: in.To, Base: in.Base}}, nil
}
