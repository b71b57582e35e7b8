package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A schema that the validator would follow for ever is no schema; one that goes
// down into the value with every turn is.
func TestSchemasEnd(t *testing.T) {
	doubling := `{"type":"object","$defs":{`
	for i := range 40 {
		doubling += fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	doubling += `"d40":{}},"properties":{"a":{"$ref":"#/$defs/d0"}}}`
	for schema, wrong := range map[string]string{
		`{"type":"object"}`: "",
		`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"object","properties":{"next":{"$ref":"#/$defs/t"}}}}}`: "",
		`{"type":"object","properties":{"$ref":{"type":"string"}}}`:                                    "",
		`{"type":"object","$ref":"#"}`:                                                                 "refers to itself",
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/x"}}}`: "refers to itself",
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"allOf":[{"$ref":"#/$defs/y"}]},"y":{"not":{"$ref":"#/%24defs/x"}}}}`: "refers to itself",
		`{"type":"object","anyOf":[{"if":{"$ref":"#/anyOf/0"}}]}`:                                                                                     "refers to itself",
		`{"type":"object","dependentSchemas":{"a/b":{"$ref":"#/dependentSchemas/a~1b"}}}`:                                                             "refers to itself",
		`{"type":"object","properties":{"a":{"$ref":"#me"}},"$defs":{"x":{"$anchor":"me","$ref":"#me"}}}`:                                             "only references like",
		`{"type":"object","$dynamicAnchor":"x","$dynamicRef":"#x"}`:                                                                                   "not supported",
		`{"type":"object","properties":{"a":{"$id":"http://x/","$ref":"#/b"}}}`:                                                                       "not supported",
		`{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}`:                                                                                   "no such schema",
		doubling: "more than 10000",
	} {
		resolved, err := compile(json.RawMessage(schema))
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%.90s: %v, want %q", schema, err, wrong)
		}
		if err == nil {
			if _, why := checkInput(resolved, json.RawMessage(`{"a":{"a":{}},"b":{"next":{"next":{}}}}`)); why != "" && !strings.Contains(schema, `"$ref":{`) {
				t.Errorf("%.90s: %s", schema, why)
			}
		}
	}
}
