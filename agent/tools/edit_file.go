package tools

import (
	"context"
	_ "embed"
	"errors"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

//go:embed edit_file.md
var editFileText string

const editsSchema = `{"type":"array","minItems":1,"items":{"type":"object","required":["old","new"],"additionalProperties":false,
	"properties":{"old":{"type":"string","minLength":1},"new":{"type":"string"},"all":{"type":"boolean"}}}}`

// errNotRun is what a Mutator's Run gives: the Registry never calls it.
var errNotRun = errors.New("a mutating tool is carried out by the Registry alone")

type editFile struct{ files }

type editInput struct {
	Path   string              `json:"path"`
	Base   workspace.Digest    `json:"base"`
	Edits  []guard.Replacement `json:"edits"`
	Patch  string              `json:"patch"`
	Symbol string              `json:"symbol"`
}

func (editFile) Spec() Spec {
	return Spec{
		Name: "edit_file", Description: editFileText, Effect: Mutates, Permission: PermitWrite, PathKeys: []string{"path"},
		Schema: schemaOf(`{"type":"object","required":["path"],"additionalProperties":false,"properties":{
			"path":{"type":"string","minLength":1},"base":{"type":"string"},
			"edits":` + editsSchema + `,"patch":{"type":"string"},"symbol":{"type":"string"}}}`),
	}
}

func (editFile) Joins() bool { return true }

func (editFile) Run(context.Context, Env, Call) (Result, error) { return Result{}, errNotRun }

func (t editFile) Changes(_ context.Context, env Env, call Call) ([]guard.Change, *Result) {
	var in editInput
	if res := decode(call.Input, &in); res != nil {
		return nil, res
	}
	c, res := t.change(env, in)
	if res != nil {
		return nil, res
	}
	return []guard.Change{c}, nil
}

// change reads one file's edits.
func (f files) change(env Env, in editInput) (guard.Change, *Result) {
	c := guard.Change{Kind: guard.ChangeEdit, Path: in.Path, Base: in.Base, Edits: in.Edits, Patch: in.Patch, Symbol: in.Symbol}
	if (len(in.Edits) > 0) == (in.Patch != "") {
		r := Invalid("%s: give either edits or a patch", in.Path)
		return c, &r
	}
	for _, e := range in.Edits {
		if e.Old == e.New {
			r := Invalid("%s: an edit's old and new are the same", in.Path)
			return c, &r
		}
	}
	if _, res := f.resolve(env, in.Path); res != nil {
		return c, res
	}
	return c, nil
}
