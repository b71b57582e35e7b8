//go:build unix

package tools

import (
	"strings"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/internal/config"
)

// hooked is a bench with hooks that run shell scripts.
func hooked(t *testing.T, hooks ...config.Hook) *bench {
	h := &Hooks{Settings: func() []config.Hook { return hooks }, Trusted: func() bool { return true }}
	b := newBench(t, func(o *Options) { o.Hooks = h })
	h.Root = b.root
	return b
}

func script(event, tool, text string) config.Hook {
	return config.Hook{Event: event, Tool: tool, Command: []string{"/bin/sh", "-c", text}, Timeout: config.Duration{Duration: time.Second}}
}

func TestPreToolHooks(t *testing.T) {
	for name, c := range map[string]struct{ script, status, part string }{
		"allow":    {`cat > seen.json; echo '{"decision":"allow"}'`, "applied", ""},
		"silent":   {`true`, "applied", ""},
		"deny":     {`echo '{"decision":"deny","reason":"frozen"}'`, "denied", "frozen"},
		"exit":     {`echo no >&2; exit 2`, "denied", "no"},
		"never":    {`sleep 300`, "denied", "did not end in time"},
		"nonsense": {`echo hello`, "denied", "not {"},
		"unknown":  {`echo '{"decision":"perhaps"}'`, "denied", "perhaps"},
		"ask":      {`echo '{"decision":"ask","reason":"sure?"}'`, "denied", "nobody can be asked"},
	} {
		t.Run(name, func(t *testing.T) {
			b := hooked(t, script("pre_tool", "write_*", c.script))
			want(t, b.call("write_file", in{"path": "a.txt", "content": "x"}), c.status, c.part)
			if written := b.disk("a.txt") == "x"; written != (c.status == "applied") {
				t.Errorf("written: %v", written)
			}
			want(t, b.call("list_files", in{}), "ok") // the glob does not fit
			if name == "allow" && (!strings.Contains(b.disk("seen.json"), `"event":"pre_tool"`) || !strings.Contains(b.disk("seen.json"), `"path":"a.txt"`)) {
				t.Errorf("the hook got %s", b.disk("seen.json"))
			}
			if name == "ask" {
				b.ask = func(q Question) Answer {
					if !strings.Contains(q.Detail, "sure?") {
						t.Errorf("asked %+v", q)
					}
					return Answer{Choice: Once}
				}
				want(t, b.call("write_file", in{"path": "a.txt", "content": "x"}), "applied")
			}
		})
	}
}

// C11: a post_write hook sees the new bytes; what it changes is a tool's doing.
func TestPostWriteHooks(t *testing.T) {
	b := hooked(t, script("post_write", "", `cat a.txt > copy.txt; echo hook >> a.txt`))
	b.write("a.txt", "one\n")
	base := b.read("a.txt")
	r := b.call("edit_file", in{"path": "a.txt", "base": base, "edits": []in{{"old": "one", "new": "two"}}})
	want(t, r, "applied", "read them again")
	if b.disk("copy.txt") != "two\n" {
		t.Errorf("the hook saw %q", b.disk("copy.txt"))
	}
	next := resultBase(r)
	want(t, b.call("edit_file", in{"path": "a.txt", "base": next, "edits": []in{{"old": "two", "new": "2"}}}), "stale_base", "post_write hook")
}

func TestFailingPostWriteHook(t *testing.T) {
	b := hooked(t, script("post_write", "", `echo broken >&2; exit 1`))
	r := b.call("write_file", in{"path": "a.txt", "content": "x\n"})
	want(t, r, "applied", `"hook_error"`, "broken", "the change stays")
	if r.IsError || b.disk("a.txt") != "x\n" {
		t.Errorf("%+v", r)
	}
}

func TestNoHooksWithoutTrust(t *testing.T) {
	h := &Hooks{Settings: func() []config.Hook { return []config.Hook{script("pre_tool", "", "exit 1")} }}
	b := newBench(t, func(o *Options) { o.Hooks = h })
	want(t, b.call("write_file", in{"path": "a.txt", "content": "x\n"}), "applied")
}

// rules deny by a Tier-1 rule; its value is why they cannot all be read.
type rules string

func (r rules) Unsure() string { return string(r) }

func (rules) Deny(tool string, paths []string, command string) string {
	for _, p := range paths {
		if strings.HasPrefix(p, "generated/") {
			return "rule no-generated: generated files are not edited"
		}
	}
	if strings.Contains(command, "git push") {
		return "rule no-push"
	}
	return ""
}

func TestRulesDeny(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Rules = rules("") })
	want(t, b.call("write_file", in{"path": "generated/a.go", "content": "x"}), "denied", "no-generated")
	want(t, b.call("run_command", in{"command": "git push"}), "denied", "no-push")
	want(t, b.call("write_file", in{"path": "a.go", "content": "x"}), "applied")
}

// A rule that cannot be read may deny the call: a person decides, whatever the
// settings say, and where there is none the call is denied.
func TestUnreadableRulesAskAPerson(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Rules = rules("a rule that may forbid this cannot be read: x.md") })
	b.write("a.go", "x\n")
	want(t, b.call("read_file", in{"path": "a.go"}), "ok")
	want(t, b.call("write_file", in{"path": "b.go", "content": "x"}), "denied", "cannot be read: x.md")
	want(t, b.call("run_command", in{"command": "true"}), "denied", "cannot be read: x.md")
}
