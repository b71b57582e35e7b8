package scenario

import (
	"encoding/json"
	"testing"
)

func TestCompile(t *testing.T) {
	for _, c := range []struct{ steps, want string }{
		{`read a.py`, `[{"calls":[{"tool":"read_file","input":{"path":"a.py"}}]},{"text":"Done."}]`},
		{`read a.py 1-3 ; say "x"`, `[{"calls":[{"tool":"read_file","input":{"end":3,"path":"a.py","start":1}}]},{"text":"x"}]`},
		{`edit a.py "o" "n" base=1 + delete b`, `[{"calls":[{"tool":"edit_file","input":{"base":"{{base a.py 1}}","edits":[{"new":"n","old":"o"}],"path":"a.py"}},{"tool":"delete_file","input":{"base":"{{base b}}","path":"b"}}]},{"text":"Done."}]`},
		{`hold x ; write a "c;" base=none`, `[{"text":"holding at x\n","hold":"x","calls":[{"tool":"write_file","input":{"content":"c;","path":"a"}}]},{"text":"Done."}]`},
		{`edits a "1" "2" , b "3" "4"`, `[{"calls":[{"tool":"edit_files","input":{"files":[{"base":"{{base a}}","edits":[{"new":"2","old":"1"}],"path":"a"},{"base":"{{base b}}","edits":[{"new":"4","old":"3"}],"path":"b"}]}}]},{"text":"Done."}]`},
	} {
		words, err := split(c.steps)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := compile(words, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(entries)
		if string(got) != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.steps, got, c.want)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, steps := range []string{``, `dance`, `edit a b`, `edit a b c d`, `read`, `read a x`, `call t notjson`, `read a ; ; read b`} {
		words, err := split(steps)
		if err != nil {
			t.Fatal(err)
		}
		if entries, err := compile(words, 0); err == nil {
			t.Errorf("%q gave %v", steps, entries)
		}
	}
}

func TestParse(t *testing.T) {
	a, err := Parse("It holds.\n-- script --\nopen a\n\n# a comment\n[!nvim] save a # end\n-- a --\nx\n")
	if err != nil {
		t.Fatal(err)
	}
	if a.File("a") != "x\n" || a.File("b") != "" {
		t.Errorf("files: %q", a.Files)
	}
	lines, err := parseScript(a.File("script"))
	if err != nil || len(lines) != 2 {
		t.Fatalf("%v %v", lines, err)
	}
	if l := lines[1]; l.number != 4 || l.holds("plain-nvim") || !l.holds("vscode") || len(l.words) != 2 {
		t.Errorf("%+v", l)
	}
	for _, bad := range []string{"", "no sentence\n-- script --\nx\n", "A sentence.\n"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
