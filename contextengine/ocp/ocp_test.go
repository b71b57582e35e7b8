package ocp

import (
	"slices"
	"testing"
	"time"
)

func TestCostVectors(t *testing.T) {
	for s, want := range map[string]uint32{"": 0, "a": 1, "abcd": 1, "abcde": 2, "\n": 1, "é": 1, "café": 2, "\U0001F600": 1, "文脈図": 3} {
		if got := Cost(s); got != want {
			t.Errorf("Cost(%q) = %d, want %d", s, got, want)
		}
	}
	if got := ModelBudget(10_000, 1.35); got != 7407 {
		t.Errorf("ModelBudget = %d", got)
	}
}

func TestTimeProfile(t *testing.T) {
	for _, s := range []string{"2026-07-20T18:00:00Z", "2026-07-20T18:00:00.1Z", "2026-07-20T18:00:00.123456789Z", "2024-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "2016-12-31T23:59:60Z"} {
		if !ValidTime(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range []string{"", "last tuesday", "2026-07-20", "2026-07-20T18:00:00+02:00", "2026-07-20t18:00:00Z", "2026-07-20T18:00:00z", "2026-07-20 18:00:00Z",
		"2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-00-10T00:00:00Z", "2026-13-10T00:00:00Z", "2026-01-32T00:00:00Z",
		"2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00.12", "2026-01-01T00:00:00.1a2Z"} {
		if ValidTime(s) {
			t.Errorf("%q is accepted", s)
		}
	}
	for unix, want := range map[int64]string{0: "1970-01-01T00:00:00Z", -1: "1969-12-31T23:59:59Z", 951782400: "2000-02-29T00:00:00Z", -2203891200: "1900-03-01T00:00:00Z", 1784000000: "2026-07-14T03:33:20Z"} {
		if got := FormatTime(time.Unix(unix, 0)); got != want {
			t.Errorf("FormatTime(%d) = %s", unix, got)
		}
	}
	if CompareTimes("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00Z") <= 0 || CompareTimes("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.0Z") != 0 {
		t.Error("fractions are compared as text")
	}
}

func TestRanges(t *testing.T) {
	text := []byte("one\ntwo\r\nthree")
	for s, want := range map[string]string{"L1": "one\n", "L2": "two\r\n", "L2-3": "two\r\nthree", "L3-99": "three"} {
		r, ok := ParseRange(s)
		if got, fine := r.Lines(text); !ok || !fine || string(got) != want {
			t.Errorf("%s: %q %v %v", s, got, ok, fine)
		}
	}
	for _, s := range []string{"", "1-2", "l2-3", "L2-L3", "L2-", "L0", "L01", "L+1", "L3-2"} {
		if _, ok := ParseRange(s); ok {
			t.Errorf("%q is accepted", s)
		}
	}
	if _, ok := (LineRange{4, 4}).Lines(text); ok {
		t.Error("a start past the end")
	}
}

func TestFamiliesScopesAndIdentity(t *testing.T) {
	if !Interoperate("ocp/1.0-draft", "ocp/1.9") || Interoperate("ocp/1.0-draft", "ocp/2.0") || Interoperate("contextgraph/1.0", "mcp/1.0") {
		t.Error("families")
	}
	for _, d := range []DataFlow{{}, {EgressScopes: []string{LocalOnly}}, {Egress: true}, {Egress: true, EgressScopes: []string{"third-party-model", "acme:index"}}} {
		if err := d.Consistent(); err != nil {
			t.Error(err)
		}
	}
	for _, d := range []DataFlow{{EgressScopes: []string{"third-party-index"}}, {Egress: true, EgressScopes: []string{"notnamespaced"}}, {Egress: true, EgressScopes: []string{":x"}}, {Egress: true, EgressScopes: []string{"x:"}}} {
		if d.Consistent() == nil {
			t.Errorf("%+v is accepted", d)
		}
	}
	zz, aa := "zz", "aa"
	ids := []FrameID{{"b", "frame-1", nil}, {"a", "frame-2", nil}, {"a", "frame-1", &zz}, {"a", "frame-1", &aa}}
	slices.SortFunc(ids, FrameID.Compare)
	if ids[0].ContentDigest != &aa || ids[1].ContentDigest != &zz || ids[2].FrameID != "frame-2" || ids[3].ProviderID != "b" {
		t.Errorf("%+v", ids)
	}
	if ValidDigest("sha256:abc") || !ValidDigest(Digest("x")) {
		t.Error("digests")
	}
}
