package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNamedPaths(t *testing.T) {
	for input, want := range map[string]string{
		`{"path":"a","content":"b"}`: "a",
		`{"Path":"a","FILE_PATH":"b","filePath":"c","target_file":"d","uri":"e"}`: "a b c d e",
		`{"relative-path":"a","notebook_path":"b","sourceFile":"c","dst":"d"}`:    "a b c d",
		`{"edits":[{"path":"a","old":"x"},{"file":"b"}],"files":["c","d"]}`:       "a b c d",
		`{"profile":"a","message":"b","pathology":"c","query":"d"}`:               "a", // one too many, and no harm
		`{"path":""}`: "",
		`{"path":7}`:  "",
		`[]`:          "",
	} {
		got := namedPaths(json.RawMessage(input), nil)
		slices.Sort(got)
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %q, want %q", input, s, want)
		}
	}
	if got := namedPaths(json.RawMessage(`{"path":"a","Where":"b"}`), []string{"Where"}); !slices.Equal(got, []string{"b"}) {
		t.Errorf("own keys: %q", got)
	}
	deep := strings.Repeat(`{"a":`, 40) + `{"path":"x"}` + strings.Repeat(`}`, 40)
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("%q", fmt.Sprint(i)))
	}
	if got := namedPaths(json.RawMessage(deep), nil); len(got) != 1 {
		t.Errorf("deep: %q", got)
	}
	if got := namedPaths(json.RawMessage(`{"paths":[`+strings.Join(many, ",")+`]}`), nil); len(got) != 1000 {
		t.Errorf("many: %d", len(got))
	}
}
