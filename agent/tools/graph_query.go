package tools

import (
	"context"
	_ "embed"

	"github.com/stella-ls/stella-ls/guard"
)

//go:embed graph_query.md
var graphQueryText string

// GraphQueryTool is graph_query over a graph that is ready.
func GraphQueryTool(g Graph) Tool { return graphQuery{g} }

type graphQuery struct{ graph Graph }

type graphObject struct {
	Status   string `json:"status"`
	Count    int    `json:"count"`
	More     int    `json:"more"`
	Complete bool   `json:"complete"`
	Why      string `json:"why,omitempty"`
}

func (graphQuery) Spec() Spec {
	return Spec{
		Name: "graph_query", Description: graphQueryText, Effect: Reads, PathKeys: []string{"path"},
		Schema: schemaOf(`{"type":"object","required":["op","target"],"additionalProperties":false,"properties":{
			"op":{"enum":["definitions","references","imports","importers","neighbors"]},
			"target":{"type":"string","minLength":1},"path":{"type":"string"}}}`),
	}
}

func (t graphQuery) Run(ctx context.Context, env Env, call Call) (Result, error) {
	var in struct{ Op, Target, Path string }
	if res := decode(call.Input, &in); res != nil {
		return *res, nil
	}
	a, err := t.graph.Query(ctx, GraphQuery{Op: in.Op, Target: in.Target, Path: in.Path, Root: env.Root})
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, err
		}
		return Failed("failed", in.Path, "the index could not answer: "+err.Error(), "use search_text"), nil
	}
	o := graphObject{Status: a.Status, Count: a.Count, More: a.More, Complete: a.Complete, Why: a.Why}
	r := Result{Object: o, Status: a.Status, Body: bounded(a.Text, readBytes)}
	switch a.Status {
	case string(guard.StatusOK):
		r.Head = plural(a.Count+a.More, "result") + " for " + in.Op + " of " + in.Target
	case "none":
		r.Head = "nothing there: no " + in.Op + " of " + in.Target
	case "not_indexed":
		r.Head = "not indexed yet: " + in.Target
	case "unsupported":
		r.Head = "the index has no such information for this language"
	default:
		r.Head, r.IsError = "the index could not answer: "+a.Why, true
	}
	return r, nil
}
