// Package demo plays the main job on a small sample repository: a session edits
// a pricing module while a person types in it.
//
// The server is this very binary, started as a child over stdio; the model is
// the script provider, so no key and no network is needed; the editor is the
// fake one or a real headless Neovim with the shipped plugin. All of it happens
// in a temporary folder.
//
// Both editors report the same stream of events (event), one renderer prints
// them (render.go), and verdict (verdict.go) checks at the end that what was
// shown is what happened. Nothing that differs between two runs (ids, times,
// paths) is printed, so a run says the same twice.
package demo
