package guard

import (
	"encoding/json"
	"strings"
	"testing"
)

// The refusal as protocol.md shows it.
func TestRefusalAsData(t *testing.T) {
	e := newEnv(t)
	e.disk("a", "one\n")
	base := e.read("a")
	e.disk("a", "two\n")
	raw, err := json.Marshal(e.stale(e.apply(edit("a", base, "one", "1"))))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"status":"stale_base","path":"a","expected":"` + string(base) + `","actual":"sha256:`,
		`"changed_by":["outside this editor"]`, `"diff_since_read":"@@ -1 +1 @@\n-one\n+two\n","diff_cut":0,"next":"re-read a before`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s lacks %s", raw, want)
		}
	}
	e.remove("a")
	raw, err = json.Marshal(e.stale(e.apply(edit("a", base, "one", "1"))))
	if err != nil || !strings.Contains(string(raw), `"actual":null`) {
		t.Errorf("%s (%v)", raw, err)
	}
	e.read("a")
	r := e.ok(e.apply(write("a", "", "x\n")))
	raw, _ = json.Marshal(r)
	if s := string(raw); strings.Contains(s, "actual") || strings.Contains(s, "diff") || !strings.Contains(s, `"changed_lines":[1,1]`) || !strings.Contains(s, `"saved":true`) {
		t.Errorf("%s", s)
	}
}
