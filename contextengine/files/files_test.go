package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

func layout(t *testing.T) Layout {
	t.Helper()
	return Layout{t.TempDir()}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCreateNeverClobbers(t *testing.T) {
	l := layout(t)
	path := l.Memory("a")
	if err := Create(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("err = %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "first" {
		t.Fatalf("%q", b)
	}
	info, _ := os.Stat(path)
	dir, _ := os.Stat(l.Dir())
	if info.Mode().Perm() != 0o600 || dir.Mode().Perm() != 0o700 {
		t.Errorf("modes %v %v", info.Mode(), dir.Mode())
	}
	left, _ := os.ReadDir(l.Memories())
	if len(left) != 1 {
		t.Errorf("left over: %v", left)
	}
}

func TestReplaceAndRemoveAskTheFileSystem(t *testing.T) {
	l := layout(t)
	path := l.Memory("a")
	write(t, path, "one")
	base := workspace.DigestOfString("one")
	write(t, path, "edited by a person")
	if err := Replace(path, []byte("two"), base); !errors.Is(err, ErrChanged) {
		t.Fatalf("replace: %v", err)
	}
	if err := Remove(path, base); !errors.Is(err, ErrChanged) {
		t.Fatalf("remove: %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "edited by a person" {
		t.Fatalf("%q", b)
	}
	base = workspace.DigestOfString("edited by a person")
	if err := Replace(path, []byte("two"), base); err != nil {
		t.Fatal(err)
	}
	if err := Remove(path, workspace.DigestOfString("two")); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(l.Memories()); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestIgnoreFileIsMadeOnceAndNeverOverwritten(t *testing.T) {
	l := layout(t)
	write(t, l.Ignore(), "mine\n")
	if err := l.Prepare(); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(l.Ignore()); string(b) != "mine\n" {
		t.Errorf("%q", b)
	}
}

func TestMemoriesComeInPathOrderAndBadOnesAreNamed(t *testing.T) {
	l := layout(t)
	write(t, l.Memory("b"), "---\norigin: agent\ndomains: [api, \"data base\"]\n---\nsecond\n")
	write(t, l.Memory("a"), "\uFEFFfirst\r\nline\r\n")
	write(t, l.Memory("c"), "---\norigin: wizard\n---\nthird")
	write(t, l.Memory("Bad Name"), "x")
	write(t, l.Memory("empty"), "---\norigin: user\n---\n\n")
	write(t, l.Memory("latin"), "caf\xe9")
	write(t, l.Memory("open"), "---\norigin: derived\nnever closed")
	write(t, l.Memory("long"), strings.Repeat("é", MaxMemory+1))
	write(t, l.Memory("key"), "The key is AKIAIOSFODNN7EXAMPLX.")
	write(t, filepath.Join(l.Root, "secret"), "outside")
	if err := os.Symlink(filepath.Join(l.Root, "secret"), l.Memory("link")); err != nil {
		t.Skip(err)
	}
	got, problems, err := l.ReadMemories()
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, m := range got {
		seen = append(seen, m.Slug+" "+m.Origin+" "+m.Text)
	}
	want := []string{"a user first\nline", "b agent second", "c derived third"}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("got %q", seen)
	}
	if !reflect.DeepEqual(got[1].Domains, []string{"api", "data base"}) {
		t.Errorf("domains %q", got[1].Domains)
	}
	if len(problems) != 8 {
		t.Errorf("problems: %v", problems)
	}
	if got[0].Digest != workspace.DigestOfString("\uFEFFfirst\r\nline\r\n") {
		t.Error("the digest is not of the file's bytes")
	}
}

func TestRulesDeny(t *testing.T) {
	l := layout(t)
	write(t, l.Rule("gen"), "---\ndescription: generated code\nguard-tool: [write_file, edit_*]\nguard-deny-path:\n  - gen/**\n  - '*.lock'\n---\nDo not edit.")
	write(t, l.Rule("push"), "---\nguard-deny-command: [git push, \"rm -rf *\"]\n---\nNo.")
	write(t, l.Rule("tool"), "---\nguard-tool: delete_file\n---\nNo.")
	rules, problems, err := l.ReadRules()
	if err != nil || len(rules) != 3 || len(problems) != 0 {
		t.Fatalf("%v %v %v", rules, problems, err)
	}
	for _, test := range []struct {
		rule    int
		tool    string
		paths   []string
		command string
		want    bool
	}{
		{0, "edit_file", []string{"gen/a/b.go"}, "", true},
		{0, "edit_file", []string{"src/gen/b.go"}, "", false},
		{0, "edit_file", []string{"src/a.go", "x.lock"}, "", true},
		{0, "delete_file", []string{"gen/a.go"}, "", false},
		{1, "run_command", nil, "cd x &&  git   push origin", true},
		{1, "run_command", nil, "git pushx", false},
		{1, "run_command", nil, "rm -rf /tmp", true},
		{2, "delete_file", []string{"a"}, "", true},
		{2, "edit_file", []string{"a"}, "", false},
	} {
		if got := rules[test.rule].Guard.Denies(test.tool, test.paths, test.command); got != test.want {
			t.Errorf("rule %d on %s %v %q: %v", test.rule, test.tool, test.paths, test.command, got)
		}
	}
}

// What a rule forbids must be known, or it is said that it is not.
func TestRulesThatCannotBeReadSaySo(t *testing.T) {
	for name, text := range map[string]string{
		"bracket": "---\nguard-deny-path: [src/**\n---\nNo.", "open": "---\nguard-deny-path: src/**\nNo.", "typo": "---\nguard-deny-paths: src/**\n---\nNo.",
		"latin": "---\nguard-deny-path: src/**\n---\ncaf\xe9", "glob": "---\nguard-deny-path: \"src/[a\"\n---\nNo.", "tool": "---\nguard-tool: \"[x\"\n---\nNo.",
	} {
		l := layout(t)
		write(t, l.Rule(name), text)
		_, problems, err := l.ReadRules()
		if err != nil || len(problems) == 0 || !problems[0].Guards {
			t.Errorf("%s: %+v %v", name, problems, err)
		}
	}
	l := layout(t)
	write(t, l.Rule("fine"), "---\ndescription: a\nauthor: me\n---\nYes.")
	if _, problems, err := l.ReadRules(); err != nil || len(problems) != 1 || problems[0].Guards {
		t.Errorf("an unknown key that guards nothing: %+v %v", problems, err)
	}
}

func TestDomainsMatchWholeSegmentsAndRoundTrip(t *testing.T) {
	l := layout(t)
	tax := Taxonomy{InferredBy: "heuristic", Domains: []Domain{
		{Name: "api", Description: "the \"public\" door\\", Paths: []string{"api", "web/api/"}},
		{Name: "all", Paths: []string{"."}},
	}}
	write(t, l.Domains(), string(tax.TOML()))
	got, err := l.ReadDomains()
	if err != nil {
		t.Fatal(err)
	}
	if got.Domains[0].Description != tax.Domains[0].Description || got.InferredBy != "heuristic" {
		t.Errorf("%+v", got)
	}
	if d := got.Of("api/x.py"); !reflect.DeepEqual(d, []string{"all", "api"}) {
		t.Errorf("%v", d)
	}
	if d := got.Of("apiary/x.py"); !reflect.DeepEqual(d, []string{"all"}) {
		t.Errorf("%v", d)
	}
}

func TestHeadForms(t *testing.T) {
	d := ParseDocument("---\n# note\nname: the 'x' skill # comment\ndescription: >\n  two\n  lines\nlist:\n- a\n- \"b, c\"\nquoted: 'it''s'\nodd\n---\nbody\n---\nmore")
	for key, want := range map[string][]string{
		"name": {"the 'x' skill"}, "description": {"two lines"}, "list": {"a", "b, c"}, "quoted": {"it's"},
	} {
		if got := d.List(key); !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %q", key, got)
		}
	}
	if d.Body != "body\n---\nmore" || len(d.Problems) != 1 {
		t.Errorf("body %q, problems %v", d.Body, d.Problems)
	}
	d.Set("name", "new: name")
	d.Set("origin", "agent")
	again := ParseDocument(d.String())
	if again.Get("name") != "new: name" || again.Get("origin") != "agent" || again.Get("description") != "two lines" || !strings.Contains(again.Head, "# note") {
		t.Errorf("%q", again.Head)
	}
}

func FuzzParseDocument(f *testing.F) {
	for _, s := range []string{"", "---\n---\n", "---\na: b\n---\nx", "---\na: [x, 'y\n---\n", "---\na:\n  - b\n\n  c: d\n---", "---\na: |\n x\n---\r\nb", "---\r\na: b\r\n---\r\n", "---\na: \"\\u0000\"\n---\n"} {
		f.Add(s, "origin", "agent")
	}
	f.Fuzz(func(t *testing.T, text, key, value string) {
		d := ParseDocument(text)
		if d.HasHead {
			if !strings.Contains(text, d.Head) || !strings.HasSuffix(text, d.Body) {
				t.Fatal("the parts are not parts of the text")
			}
		} else if d.Body != text {
			t.Fatal("text was lost")
		}
		if _, _, ok := splitKey(key + ": x"); !ok || strings.ContainsAny(value, "\r\n") {
			return
		}
		d.Set(key, value)
		again := ParseDocument(d.String())
		if got := again.Get(key); got != value && strings.ToValidUTF8(value, "") == value {
			t.Fatalf("set %q to %q, read %q from %q", key, value, got, again.Head)
		}
	})
}
