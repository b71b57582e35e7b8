package guard

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

func TestSidesAreWholeTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func() string {
		var b strings.Builder
		for range rng.IntN(30) {
			b.WriteString([]string{"a", "b", "c", "-x", "+y", "@@ z"}[rng.IntN(6)] + "\n")
		}
		if rng.IntN(3) == 0 {
			b.WriteString("no newline")
		}
		return b.String()
	}
	for range 2000 {
		before, after := random(), random()
		diff, cut := unified([]byte(before), []byte(after))
		if cut > 0 || before == after {
			continue
		}
		if a, b := Sides([]byte(before), true, diff); a != before || b != after {
			t.Fatalf("%q to %q by\n%s\ngave %q to %q", before, after, diff, a, b)
		}
	}
}

func TestSidesWithoutTheText(t *testing.T) {
	for _, known := range []bool{false, true} {
		a, b := Sides([]byte("something else\n"), known, "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n\\ No newline at end of file\n(7 lines more)\n")
		if a != "@@ -1,3 +1,3 @@\none\ntwo\nthree\n(7 lines more)\n" || b != "@@ -1,3 +1,3 @@\none\n2\nthree\n(7 lines more)\n" {
			t.Errorf("%q\n%q", a, b)
		}
	}
}

func TestSeenText(t *testing.T) {
	e := newEnv(t)
	e.disk("a.txt", "one\n")
	first := e.read("a.txt")
	e.disk("a.txt", "two\n")
	second := e.read("a.txt")
	for base, want := range map[string]string{string(first): "one\n", string(second): "two\n"} {
		if got, ok := e.s.SeenText("a.txt", workspace.Digest(base)); !ok || string(got) != want {
			t.Errorf("%q %v, want %q", got, ok, want)
		}
	}
	e.disk("a.txt", "three\n")
	if seen, now, ok := e.s.Seen(t.Context(), "a.txt"); !ok || string(seen) != "two\n" || string(now) != "three\n" {
		t.Errorf("%q %q %v", seen, now, ok)
	}
	if _, _, ok := e.s.Seen(t.Context(), "other.txt"); ok {
		t.Error("a file that was never seen")
	}
	if _, ok := e.s.SeenText("a.txt", "sha256:other"); ok {
		t.Error("a text that was never seen")
	}
}
