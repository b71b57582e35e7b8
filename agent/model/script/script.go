package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/goccy/go-yaml"
)

// Script is a file of answers. A script is not changed by playing it.
type Script struct {
	// Turns answers the calls of turns, one entry a call.
	Turns []Entry `yaml:"turns"`
	// Reflect and Taxonomy are the whole answers to calls of those purposes,
	// one a call. A call past the end is answered with an empty array.
	Reflect  []string `yaml:"reflect"`
	Taxonomy []string `yaml:"taxonomy"`
	// PaceMS is how long the stream rests between two pieces, so that a person
	// can watch; 0 streams at once.
	PaceMS int `yaml:"pace_ms"`
	// Record is a file that every request is added to as it arrives, one JSON
	// object a line: purpose, session, body. Empty records nothing.
	Record string `yaml:"record"`
}

// Entry is one answer of the model.
type Entry struct {
	// Session limits the entry to the nth session that called, from 1; 0 is any.
	Session int `yaml:"session"`
	// Expect is compared with the request before anything is answered.
	Expect map[string]any `yaml:"expect"`
	// Wait holds the whole answer, Hold what comes after the text, until the
	// gate of that name opens.
	Wait      string `yaml:"wait"`
	Thinking  string `yaml:"thinking"`
	Signature string `yaml:"signature"`
	Text      string `yaml:"text"`
	Hold      string `yaml:"hold"`
	Calls     []Call `yaml:"calls"`
	// Stop is end_turn, tool_use, max_tokens or refusal, or "none", which ends
	// the stream without a word. Empty is what fits the calls.
	Stop  string `yaml:"stop"`
	Usage *Usage `yaml:"usage"`
	Fault *Fault `yaml:"fault"`
	Wire  Wire   `yaml:"wire"`
}

// Call is one tool call of an answer.
type Call struct {
	Tool  string         `yaml:"tool"`
	Input map[string]any `yaml:"input"`
	// Raw replaces Input by this exact text, which need not be JSON.
	Raw string `yaml:"raw"`
	// ID replaces the generated call id.
	ID string `yaml:"id"`
}

// Usage is what the answer reports; a missing member is not reported.
type Usage struct {
	Input      *int64 `yaml:"input"`
	CacheRead  *int64 `yaml:"cache_read"`
	CacheWrite *int64 `yaml:"cache_write"`
	Output     *int64 `yaml:"output"`
}

// Load reads and checks the file at path.
func Load(path string) (*Script, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the script: %w", err)
	}
	s, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", path, err)
	}
	return s, nil
}

// Parse reads and checks a script. Unknown keys are errors that name the line.
func Parse(b []byte) (*Script, error) {
	var s Script
	if err := yaml.UnmarshalWithOptions(b, &s, yaml.Strict()); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, true))
	}
	for i := range s.Turns {
		if err := s.Turns[i].check(); err != nil {
			return nil, fmt.Errorf("turns[%d]: %w", i, err)
		}
	}
	return &s, nil
}

func (e *Entry) check() error {
	switch e.Stop {
	case "", "end_turn", "tool_use", "max_tokens", "refusal", "none":
	default:
		return fmt.Errorf("stop %q: use end_turn, tool_use, max_tokens, refusal or none", e.Stop)
	}
	for i, c := range e.Calls {
		if c.Tool == "" {
			return fmt.Errorf("calls[%d] names no tool", i)
		}
		if c.Raw != "" && c.Input != nil {
			return fmt.Errorf("calls[%d] has both input and raw", i)
		}
	}
	if err := checkExpect(e.Expect); err != nil {
		return err
	}
	return e.Fault.check()
}

// plain turns decoded YAML into what encoding/json would have decoded, so that
// both sides of a comparison have the same types.
func plain(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var out any
	if json.Unmarshal(b, &out) != nil {
		return v
	}
	return out
}
