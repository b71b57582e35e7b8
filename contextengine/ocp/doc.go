// Package ocp holds the wire types of the Open Context Protocol and the rules
// that a value of them must keep: token accounting, budgets, the timestamp
// profile, digests, line ranges, identity, data flow.
//
// The protocol is retrieval only: a host asks providers for frames (quoted
// pieces of context with provenance), and renders what fits one budget. It has
// two family names, "ocp/1.0-draft" and "contextgraph/1.0-draft"; the types are
// the superset of both. Names such as B1, F4 or G2 in comments are the
// protocol's own requirement anchors.
//
// The package imports the standard library only, so that anyone can vendor it.
// The host that queries providers is the package below, ocp/host.
package ocp
