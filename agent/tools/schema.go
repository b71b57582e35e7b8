package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// compile reads a tool's input schema once, so that a broken one is found when
// the tool is registered and not when it is called.
func compile(raw json.RawMessage) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if err := endless(raw); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if s.Type != "object" && !(s.Type == "" && len(s.Types) == 0) {
		return nil, errors.New("input schema: the type must be object")
	}
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: false})
	if err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	return resolved, nil
}

// checkInput says what is wrong with an input, "" when it fits. An empty input
// stands for an empty object: models leave it out for tools without parameters.
func checkInput(schema *jsonschema.Resolved, input json.RawMessage) (json.RawMessage, string) {
	input = bytes.TrimSpace(input)
	if len(input) == 0 || string(input) == "null" {
		input = json.RawMessage("{}")
	}
	var value any
	if err := json.Unmarshal(input, &value); err != nil {
		return input, "the input is not JSON: " + err.Error()
	}
	if _, ok := value.(map[string]any); !ok {
		return input, "the input must be a JSON object"
	}
	if err := schema.Validate(value); err != nil {
		return input, "the input does not fit the tool's schema: " + plainSchemaError(err)
	}
	return input, ""
}

// plainSchemaError turns the library's chain ("validating /properties/path: ...")
// into the member and what is wrong with it.
func plainSchemaError(err error) string {
	s, at := strings.ReplaceAll(err.Error(), "<invalid reflect.Value>", "null"), ""
	for {
		rest, ok := strings.CutPrefix(s, "validating ")
		if !ok {
			break
		}
		where, after, found := strings.Cut(rest, ": ")
		if !found {
			break
		}
		if member := strings.TrimPrefix(where, "/properties/"); member != where {
			at = strings.ReplaceAll(strings.ReplaceAll(member, "/properties/", "."), "/items", "[]")
		}
		s = after
	}
	if at == "" {
		return s
	}
	return at + ": " + s
}

// decode reads a checked input into v, exactly.
func decode(input json.RawMessage, v any) *Result {
	d := json.NewDecoder(bytes.NewReader(input))
	if err := d.Decode(v); err != nil {
		r := Invalid("the input does not fit: %v", err)
		return &r
	}
	return nil
}
