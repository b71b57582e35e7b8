package tomlfile

import (
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	for _, text := range []string{
		"a = 1.5\n[b.c]\nd = \"" + strings.Repeat("[{.", 100) + "\" # " + strings.Repeat("[", 100) + "\n",
		"a = '''\n" + strings.Repeat("[.\n", 100) + "'''\nb = \"\"\"\\\"\"\"\"\n",
		"a = '" + strings.Repeat("[", 100) + "'\nb = \"\\\"" + strings.Repeat("[", 100) + "\"\n",
		strings.Repeat("[[a]]\nb.c.d = [[1], {e = 1}]\n", 100),
		"a = " + strings.Repeat("[", most) + strings.Repeat("]", most) + "\n",
	} {
		var v map[string]any
		if _, err := Decode(text, &v); err != nil || len(v) == 0 {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

func TestDeepIsRefused(t *testing.T) {
	for _, text := range []string{
		"a = 1\nx = " + strings.Repeat("[", 1<<20),
		"a = 1\nx = " + strings.Repeat("{a=", 1<<20),
		"a = 1\n[b" + strings.Repeat(".a", 1<<20) + "]\n",
		"a = 1\nb" + strings.Repeat(" . a", 1<<20) + " = 1\n",
		"a = 1\n[b" + strings.Repeat(".\"a\"", 1<<20) + "]\n",
		"a = 1\n" + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20),
	} {
		if err := Unmarshal([]byte(text), &map[string]any{}); err == nil || !strings.Contains(err.Error(), "line 2: nested more than 32 deep") {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// Whatever is let through is read or refused, and ends.
func FuzzDecode(f *testing.F) {
	f.Add("a = \"\"\"\n[\"\"\"\n[b.c]\nd = {e = ['f', 1.5]} # g\n")
	f.Add("a = \"\n[b")
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = Decode(text, &map[string]any{})
	})
}
