package tools

import (
	"context"
	_ "embed"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

//go:embed write_file.md
var writeFileText string

type writeFile struct{ files }

func (writeFile) Spec() Spec {
	return Spec{
		Name: "write_file", Description: writeFileText, Effect: Mutates, Permission: PermitWrite, PathKeys: []string{"path"},
		Schema: schemaOf(`{"type":"object","required":["path","content"],"additionalProperties":false,"properties":{
			"path":{"type":"string","minLength":1},"content":{"type":"string"},"base":{"type":"string"}}}`),
	}
}

func (writeFile) Joins() bool { return false }

func (writeFile) Run(context.Context, Env, Call) (Result, error) { return Result{}, errNotRun }

func (t writeFile) Changes(_ context.Context, env Env, call Call) ([]guard.Change, *Result) {
	var in struct {
		Path    string           `json:"path"`
		Content string           `json:"content"`
		Base    workspace.Digest `json:"base"`
	}
	if res := decode(call.Input, &in); res != nil {
		return nil, res
	}
	if _, res := t.resolve(env, in.Path); res != nil {
		return nil, res
	}
	return []guard.Change{{Kind: guard.ChangeWrite, Path: in.Path, Base: in.Base, Content: in.Content}}, nil
}
