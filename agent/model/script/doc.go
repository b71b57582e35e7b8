// Package script plays a YAML file of model answers.
//
// It is the engine behind the "script" provider and behind every test that
// needs a model: internal/fakemodel puts it behind the official HTTP wire
// formats, so that only the model's mind is replaced and never the path to it.
//
// The package knows nothing of HTTP and nothing of the rest of this program.
// Architecture: Parse reads a file into a Script (script.go, fault.go); an
// Engine hands out one entry per call and remembers what each session saw
// (engine.go); templates such as {{base PATH}} are filled in from that memory
// (expand.go); an entry's expectations are compared with the request
// (expect.go); a Gate holds an answer until a test lets it go (gate.go).
// docs/script-provider.md describes the file for people.
package script
