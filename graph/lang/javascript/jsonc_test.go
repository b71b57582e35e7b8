package javascript

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestStripJSONC(t *testing.T) {
	in := "\xEF\xBB\xBF{ // c\n \"a\": \"x // y, }\", /* , */ \"b\": [1, 2, /* z */], \"c\": \"\\\"/*\",\n}"
	var got map[string]any
	if err := json.Unmarshal(stripJSONC([]byte(in)), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": "x // y, }", "b": []any{1.0, 2.0}, "c": "\"/*"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

func TestSubpath(t *testing.T) {
	exports := json.RawMessage(`{".": {"import": "./dist/i.js", "types": "./dist/i.d.ts"}, "./f/*": "./dist/f/*.js", "./f/x": ["./a.js"]}`)
	for key, want := range map[string][]string{
		".": {"./dist/i.d.ts", "./dist/i.js"}, "./f/y": {"./dist/f/y.js"}, "./f/x": {"./a.js"}, "./g": nil,
	} {
		if got := subpath(exports, key); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v", key, got)
		}
	}
	if got := subpath(json.RawMessage(`"./m.js"`), "."); !reflect.DeepEqual(got, []string{"./m.js"}) {
		t.Errorf("string exports: %v", got)
	}
}

func FuzzStripJSONC(f *testing.F) {
	f.Add([]byte(`{"a": [1,], // x
}`))
	f.Add([]byte(`/*`))
	f.Add([]byte(`"\`))
	f.Fuzz(func(t *testing.T, b []byte) {
		out := stripJSONC(b)
		if len(out) > len(b) {
			t.Fatalf("grew: %q -> %q", b, out)
		}
		if json.Valid(b) && !json.Valid(out) {
			t.Fatalf("broke valid JSON: %q -> %q", b, out)
		}
	})
}
