package tools

import (
	"context"
	_ "embed"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

//go:embed edit_files.md
var editFilesText string

type editFiles struct{ files }

func (editFiles) Spec() Spec {
	return Spec{
		Name: "edit_files", Description: editFilesText, Effect: Mutates, Permission: PermitWrite,
		Schema: schemaOf(`{"type":"object","required":["files"],"additionalProperties":false,"properties":{
			"files":{"type":"array","minItems":1,"maxItems":100,"items":{"type":"object","required":["path"],"additionalProperties":false,
			"properties":{"path":{"type":"string","minLength":1},"base":{"type":"string"},"edits":` + editsSchema + `,
			"patch":{"type":"string"},"symbol":{"type":"string"}}}}}}`),
	}
}

func (editFiles) Joins() bool   { return false }
func (editFiles) Several() bool { return true }

func (editFiles) Run(context.Context, Env, Call) (Result, error) { return Result{}, errNotRun }

func (t editFiles) Changes(_ context.Context, env Env, call Call) ([]guard.Change, *Result) {
	var in struct {
		Files []editInput `json:"files"`
	}
	if res := decode(call.Input, &in); res != nil {
		return nil, res
	}
	named := map[workspace.Path]bool{}
	var changes []guard.Change
	for _, one := range in.Files {
		c, res := t.change(env, one)
		if res != nil {
			return nil, res
		}
		name, res := t.resolve(env, one.Path)
		if res != nil {
			return nil, res
		}
		if named[name.Path] {
			r := Invalid("edit_files names %s twice; put all its edits into one entry", name.Display)
			return nil, &r
		}
		named[name.Path] = true
		changes = append(changes, c)
	}
	return changes, nil
}
