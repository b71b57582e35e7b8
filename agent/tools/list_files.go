package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/stella-ls/stella-ls/guard"
)

//go:embed list_files.md
var listFilesText string

type listFiles struct{ files }

type listObject struct {
	Status     guard.Status `json:"status"`
	Count      int          `json:"count"`
	More       int          `json:"more"`
	Cut        bool         `json:"cut,omitempty"`
	Unreadable int          `json:"unreadable,omitempty"`
}

func (listFiles) Spec() Spec {
	return Spec{
		Name: "list_files", Description: listFilesText, Effect: Reads, PathKeys: []string{"path"},
		Schema: schemaOf(`{"type":"object","additionalProperties":false,"properties":{
			"path":{"type":"string"},"glob":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":2000}}}`),
	}
}

func (t listFiles) Run(ctx context.Context, env Env, call Call) (Result, error) {
	var in struct {
		Path  string `json:"path"`
		Glob  string `json:"glob"`
		Limit int    `json:"limit"`
	}
	if res := decode(call.Input, &in); res != nil {
		return *res, nil
	}
	if res := badGlob("list_files", in.Glob); res != nil {
		return *res, nil
	}
	start, res := t.under(env, in.Path)
	if res != nil {
		return *res, nil
	}
	found, err := t.walk(ctx, start, in.Glob)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		return pathResult(in.Path, err), nil
	}
	limit := in.Limit
	if limit == 0 {
		limit = 200
	}
	shown := found.files[:min(limit, len(found.files))]
	var b strings.Builder
	for _, f := range shown {
		b.WriteString(t.display(f) + "\n")
	}
	o := listObject{Status: guard.StatusOK, Count: len(shown), More: len(found.files) - len(shown), Cut: found.cut, Unreadable: found.unreadable}
	head := fmt.Sprintf("%s, %d entries left out by ignore rules", plural(len(found.files), "file"), found.ignored)
	if found.outside > 0 {
		fmt.Fprintf(&b, "[%s not shown: they lead out of the workspace]\n", plural(found.outside, "link"))
	}
	if o.More > 0 {
		fmt.Fprintf(&b, "[%d more; narrow it with path or glob, or raise limit]\n", o.More)
	}
	if found.cut {
		fmt.Fprintf(&b, "[stopped after %d directory entries; start from a deeper path]\n", walkMost)
	}
	return Result{Head: head, Object: o, Status: "ok", Body: b.String()}, nil
}

func pathResult(shown string, err error) Result { return *pathFault(shown, err) }

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
