package scenario

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// fiftyTurns is a session of fifty turns with everything that could tempt a
// prompt into changing: memories are saved, edited and forgotten, files are
// edited by both sides, rules appear, the index is filled anew.
func fiftyTurns() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("Every request of a session of fifty turns begins with the same bytes, whatever is saved, edited and indexed meanwhile.")
	line("-- script --")
	// graph_query is among the tools once the index is ready.
	line("await-rpc stella/graph/query `{\"op\":\"definitions\",\"target\":\"rate\"}` `\"complete\":true`")
	line("open src/a.py")
	requests := 0
	for turn := 1; turn <= 50; turn++ {
		steps := 1
		switch turn % 5 {
		case 0:
			line("rpc workspace/executeCommand `{\"command\":\"stella.server.graph.reindex\",\"arguments\":[]}`")
			line(`ask prompt "turn %d: why does the integration suite hang?" ; call save_memory "{\"slug\":\"lesson-%d\",\"memory\":\"Lesson %d is about src/a.py.\"}"`, turn, turn, turn)
			steps = 2
		case 1:
			line(`extern write src/new%d.py "def added_%d():\n    return %d\n"`, turn, turn, turn)
			line(`ask prompt "turn %d: edit it" ; read src/a.py ; edit src/a.py "rate" "rate" all`, turn)
			steps = 3
		case 2:
			line(`append src/a.py "# typed in turn %d\n"`, turn)
			line(`ask prompt "turn %d: where is rate defined?" ; call graph_query "{\"op\":\"definitions\",\"target\":\"rate\"}"`, turn)
			steps = 2
		case 3:
			line(`extern write .stella/memories/known.md "The integration suite hangs on a real socket, said a person in turn %d.\n"`, turn)
			line(`extern write .stella/rules/rule-%d.md "Rule of turn %d.\n"`, turn, turn)
			line(`ask prompt "turn %d: does the integration suite hang?"`, turn)
		default:
			line("extern delete .stella/memories/gone-%d.md", turn)
			line(`ask prompt "turn %d: thanks"`, turn)
		}
		requests += steps
	}
	line("want system contains nod_") // or the prefix holds nothing that could have changed
	line("want one-prefix %d", requests)
	line("session next")
	line(`ask prompt "hello"`)
	line("want system contains %q", "Lesson 50")
	line("want system contains %q", "said a person in turn 48")
	line("want system contains %q", "Rule of turn 48")
	line("-- settings.toml --\n[recall]\ncontrol_rate = 10\n-- src/a.py --\ndef rate():\n    return 1\n" +
		"-- .stella/memories/known.md --\nThe integration suite hangs on a real socket; set TEST_DB=memory.")
	for turn := 4; turn <= 50; turn += 5 {
		line("-- .stella/memories/gone-%d.md --\nThe palette of page %d follows the brand guide.", turn, turn)
	}
	return b.String()
}

func TestFiftyTurnsKeepOnePrefix(t *testing.T) {
	t.Parallel()
	a, err := Parse(fiftyTurns())
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(context.Background(), config(t, "vscode"), a); err != nil {
		t.Error(err)
	}
}
