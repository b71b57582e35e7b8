package tools

import "context"

// Graph answers graph_query. The code graph implements it; the tool appears in
// a session, also in the middle of one, when Ready turns true.
type Graph interface {
	Ready() bool
	Query(ctx context.Context, q GraphQuery) (GraphAnswer, error)
}

// GraphQuery is one question.
type GraphQuery struct {
	Op     string // definitions, references, imports, importers, neighbors
	Target string // a symbol's name, or a file's path
	Path   string // narrows a symbol to one file; may be empty
	Root   string // directory of the session
}

// GraphAnswer is what the graph knows. "Nothing there", "not indexed yet", "no
// such information for this language" and "failed" are four different answers.
type GraphAnswer struct {
	Status   string // ok, none, not_indexed, unsupported, failed
	Complete bool   // the index covers the workspace
	Count    int    // results in Text
	More     int    // results left out
	Text     string // one result a line, for the model
	Why      string // says more when Status is not ok
}
