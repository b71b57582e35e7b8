package tools

import (
	"context"
	_ "embed"
	"fmt"
	"sort"
	"strings"

	"github.com/stella-ls/stella-ls/guard"
)

//go:embed diagnostics.md
var diagnosticsText string

// Diagnostic is one message of any language server, 0-based, UTF-16.
type Diagnostic struct {
	Path                 string
	StartLine, StartChar int
	EndLine, EndChar     int
	Severity             int
	Source, Message      string
}

const diagnosticsMost = 200

type diagnostics struct {
	files
	ask func(ctx context.Context, path string) ([]Diagnostic, bool)
}

type diagnosticsObject struct {
	Status   guard.Status `json:"status"`
	Errors   int          `json:"errors"`
	Warnings int          `json:"warnings"`
	Others   int          `json:"others"`
	More     int          `json:"more"`
}

func (diagnostics) Spec() Spec {
	return Spec{
		Name: "diagnostics", Description: diagnosticsText, Effect: Reads, PathKeys: []string{"path"},
		Schema: schemaOf(`{"type":"object","additionalProperties":false,"properties":{"path":{"type":"string"}}}`),
	}
}

func (t diagnostics) Run(ctx context.Context, env Env, call Call) (Result, error) {
	var in struct {
		Path string `json:"path"`
	}
	if res := decode(call.Input, &in); res != nil {
		return *res, nil
	}
	full := ""
	if in.Path != "" {
		name, res := t.resolve(env, in.Path)
		if res != nil {
			return *res, nil
		}
		full = string(name.Path)
	}
	cannot := Failed("unknown", in.Path, "no editor is connected that can tell", "run the project's own checks instead")
	if t.ask == nil {
		return cannot, nil
	}
	items, ok := t.ask(ctx, full)
	if !ok {
		return cannot, ctx.Err()
	}
	return t.render(items), nil
}

func (t diagnostics) render(items []Diagnostic) Result {
	sort.SliceStable(items, func(i, j int) bool {
		a, b := items[i], items[j]
		if a.Path != b.Path {
			return a.Path < b.Path
		}
		if a.StartLine != b.StartLine {
			return a.StartLine < b.StartLine
		}
		return a.StartChar < b.StartChar
	})
	o := diagnosticsObject{Status: guard.StatusOK}
	var b strings.Builder
	for i, d := range items {
		word := "note"
		switch d.Severity {
		case 1:
			o.Errors++
			word = "error"
		case 2:
			o.Warnings++
			word = "warning"
		default:
			o.Others++
		}
		if i >= diagnosticsMost {
			o.More++
			continue
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s: %s", t.display(d.Path), d.StartLine+1, d.StartChar+1, word, bounded(strings.ReplaceAll(d.Message, "\n", " "), 500))
		if d.Source != "" {
			fmt.Fprintf(&b, " [%s]", d.Source)
		}
		b.WriteByte('\n')
	}
	if o.More > 0 {
		fmt.Fprintf(&b, "[%d more]\n", o.More)
	}
	head := fmt.Sprintf("%s, %s, %s", plural(o.Errors, "error"), plural(o.Warnings, "warning"), plural(o.Others, "other message"))
	return Result{Head: head, Object: o, Status: "ok", Body: b.String()}
}
