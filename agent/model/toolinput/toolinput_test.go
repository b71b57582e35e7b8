package toolinput

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a":"\uD83D\uDE00"}`: "", `{"a":"\\uD83D"}`: "", `{"a":"\uD83D"}`: "half a character", `{"a":"\uDE00\uD83D"}`: "at byte 6",
		`{"a":"\uD83Dx\uDE00"}`: "half a character", `{"\uD83D":1}`: "half a character", `{"a":"\ud83d\ud83d\ude00"}`: "at byte 6",
		`{"a":1} x`: "after top-level value", `{"a":`: "in the middle", "null": "null", `[1]`: "not a JSON object", "{\"a\":\"\xff\"}": "UTF-8",
	} {
		if got := Check(raw); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// FuzzCheck: what is let through decodes with no character replaced.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{"a":"\uD83D\uDE00"}`, `{"a":"\\\uD83D"}`, `{"\ud83d\ud83d\ude00":[{}]}`, `{"a":`, `null`, "{\"\xff\":1}", `{"a":"\u12"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if Check(raw) != "" {
			return
		}
		var o map[string]any
		if err := json.Unmarshal([]byte(raw), &o); err != nil || o == nil {
			t.Fatalf("%q is no object (%v)", raw, err)
		}
		if strings.Contains(fmt.Sprint(o), "\uFFFD") && !strings.Contains(raw, "\uFFFD") && !strings.Contains(strings.ToLower(raw), `\ufffd`) {
			t.Errorf("%q lost a character: %v", raw, o)
		}
	})
}
