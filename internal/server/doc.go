// Package server wires the parts of the program: workspace, guard, sessions,
// model and settings, for a language client (LSP) or without one (Headless). It
// decides nothing; what belongs to a part stays there.
package server
