package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stella-ls/stella-ls/guard"
)

// change is how each mutating tool would change old.txt, planned on its base.
var change = map[string]func(base string) in{
	"edit_file": func(base string) in {
		return in{"path": "old.txt", "base": base, "edits": []in{{"old": "two", "new": "2"}}}
	},
	"edit_files": func(base string) in {
		return in{"files": []in{{"path": "old.txt", "base": base, "edits": []in{{"old": "two", "new": "2"}}}}}
	},
	"write_file":  func(base string) in { return in{"path": "old.txt", "base": base, "content": "new\n"} },
	"delete_file": func(base string) in { return in{"path": "old.txt", "base": base} },
	"move_file":   func(base string) in { return in{"path": "old.txt", "to": "new.txt", "base": base} },
}

// Every registered tool that mutates is refused when its file changed since it
// was read, whatever it is called; a new one without a case here fails.
func TestEveryMutatingToolIsGuarded(t *testing.T) {
	seen := 0
	for _, spec := range newBench(t).reg.Specs() {
		if spec.Effect != Mutates {
			continue
		}
		seen++
		plan, known := change[spec.Name]
		if !known {
			t.Errorf("%s mutates and has no stale case here", spec.Name)
			continue
		}
		t.Run(spec.Name, func(t *testing.T) {
			b := newBench(t)
			path := "old.txt"
			b.write(path, "one\ntwo\n")
			base := b.read(path)
			b.write(path, "one\ntwo\nthree\n")
			r := b.call(spec.Name, plan(base))
			want(t, r, "stale_base", "+three", path)
			if !r.IsError || r.Refusal == nil {
				t.Errorf("not an error, or no refusal: %+v", r)
			}
			if got := b.disk(path); got != "one\ntwo\nthree\n" {
				t.Errorf("something was written: %q", got)
			}
			fresh := b.read(path)
			want(t, b.call(spec.Name, plan(fresh)), "applied")
			if got := b.disk(path); got == "one\ntwo\nthree\n" {
				t.Error("the fresh change was not applied")
			}
		})
	}
	if seen != len(change) {
		t.Errorf("%d mutating tools are registered, %d have a case", seen, len(change))
	}
}

// sneaky says that it mutates and wants to write by itself.
type sneaky struct{ Tool }

func (sneaky) Spec() Spec {
	return Spec{Name: "sneaky", Schema: schemaOf(`{"type":"object"}`), Effect: Mutates}
}

func TestMutatingToolMustLeaveTheWritingToTheGate(t *testing.T) {
	if err := NewRegistry(Options{}).Add(sneaky{}); err == nil {
		t.Error("a mutating tool that runs by itself was accepted")
	}
	for _, tool := range Builtin(BuiltinOptions{}) {
		if tool.Spec().Effect != Mutates {
			continue
		}
		if _, err := tool.Run(context.Background(), Env{}, Call{}); err == nil {
			t.Errorf("%s ran outside the gate", tool.Spec().Name)
		}
	}
}

func TestEditsWithoutBase(t *testing.T) {
	b := newBench(t)
	b.write("old.txt", "one\ntwo\n")
	for tool, plan := range change {
		input := plan("")
		delete(input, "base")
		if files, ok := input["files"].([]in); ok {
			delete(files[0], "base")
		}
		status := "missing_base"
		if tool == "write_file" {
			status = "exists"
		}
		want(t, b.call(tool, input), status)
	}
}

// C07: adjacent edits of one message on one base are one batch; a later message
// with that base is stale because of the session's own edit.
func TestAdjacentEditsAreOneBatch(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "1\n2\n3\n4\n")
	base := b.read("a.txt")
	edit := func(old, new string) Call {
		return b.mk("edit_file", in{"path": "a.txt", "base": base, "edits": []in{{"old": old, "new": new}}})
	}
	for _, r := range b.message(edit("1", "one"), edit("4", "four"), edit("2", "two")) {
		want(t, r, "applied")
	}
	if got := b.disk("a.txt"); got != "one\ntwo\n3\nfour\n" {
		t.Errorf("disk: %q", got)
	}
	late := b.message(edit("3", "three"))[0]
	want(t, late, "stale_base", "this session")
	base = b.read("a.txt")
	for _, r := range b.message(edit("one\ntwo", "x"), edit("two\n3", "y")) {
		want(t, r, "invalid")
	}
	if got := b.disk("a.txt"); got != "one\ntwo\n3\nfour\n" {
		t.Errorf("overlapping edits were written: %q", got)
	}
	// A command between them ends the batch: the second is planned on an old base.
	rs := b.message(edit("one", "I"), b.mk("run_command", in{"command": "true"}), edit("four", "IV"))
	want(t, rs[0], "applied")
	want(t, rs[2], "stale_base")
}

func TestReadBeforeWriteInOneMessage(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "1\n")
	base := b.read("a.txt")
	rs := b.message(b.mk("read_file", in{"path": "a.txt"}),
		b.mk("edit_file", in{"path": "a.txt", "base": base, "edits": []in{{"old": "1", "new": "2"}}}),
		b.mk("read_file", in{"path": "a.txt"}))
	want(t, rs[1], "applied")
	want(t, rs[2], "ok", "2")
	next := string(rs[1].Object.(guard.Result).Base)
	want(t, b.call("edit_file", in{"path": "a.txt", "base": next, "edits": []in{{"old": "2", "new": "3"}}}), "applied")
}

func TestEditFilesAllOrNone(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "a\n")
	b.write("b.txt", "b\n")
	ba, bb := b.read("a.txt"), b.read("b.txt")
	b.write("b.txt", "b\nmore\n")
	call := in{"files": []in{
		{"path": "a.txt", "base": ba, "edits": []in{{"old": "a", "new": "A"}}},
		{"path": "b.txt", "base": bb, "edits": []in{{"old": "b", "new": "B"}}}}}
	r := b.call("edit_files", call)
	want(t, r, "stale_base", "b.txt", "+more")
	if b.disk("a.txt") != "a\n" || b.disk("b.txt") != "b\nmore\n" {
		t.Error("something was written")
	}
	call["files"].([]in)[1]["base"] = b.read("b.txt")
	r = b.call("edit_files", call)
	want(t, r, "applied", "a.txt", "b.txt")
	if b.disk("a.txt") != "A\n" || b.disk("b.txt") != "B\nmore\n" {
		t.Error("not everything was written")
	}
}

// A02, case 14: the file changes while the human thinks about the approval.
func TestRecheckedAfterApproval(t *testing.T) {
	b := newBench(t)
	b.perm.Write = "ask"
	b.write("a.txt", "one\n")
	base := b.read("a.txt")
	b.ask = func(q Question) Answer {
		b.write("a.txt", "onE\n")
		return Answer{Choice: Once}
	}
	edit := in{"path": "a.txt", "base": base, "edits": []in{{"old": "one", "new": "two"}}}
	want(t, b.call("edit_file", edit), "stale_base")
	if len(b.asked) != 1 || b.asked[0].Kind != "write" {
		t.Errorf("asked: %+v", b.asked)
	}
	// Now it is stale before anybody is asked.
	want(t, b.call("edit_file", edit), "stale_base")
	if len(b.asked) != 1 {
		t.Error("the human was asked about a change that would be refused")
	}
	if b.disk("a.txt") != "onE\n" {
		t.Error("something was written")
	}
}

func TestPermissions(t *testing.T) {
	b := newBench(t)
	b.perm.Command = "ask"
	run := func(line string) Result { return b.call("run_command", in{"command": line}) }
	want(t, run("echo hi"), "denied", "nobody can be asked")
	b.ask = func(Question) Answer { return Answer{Choice: Deny, Text: "not now"} }
	want(t, run("echo hi"), "denied", "not now")
	b.ask = func(Question) Answer { return Answer{Choice: Once} }
	want(t, run("echo hi"), "ok", "hi")
	b.ask = func(Question) Answer { return Answer{Choice: Always} }
	want(t, run("echo hi"), "ok", "hi")
	b.ask = nil
	want(t, run("echo hi"), "ok", "hi")
	want(t, run("echo ho"), "denied")
	b.perm.Always = []string{"command:echo *"}
	want(t, run("echo ho"), "ok", "ho")
	want(t, run("echo ho; echo ha"), "denied")
	want(t, run("echo $(id)"), "denied")
	// An answer makes no rule with a star, and a command's star needs its space.
	b.perm.Always = []string{"command:echo*"}
	b.ask = func(Question) Answer { return Answer{Choice: Always} }
	want(t, run("echo *"), "denied", "none of the options")
	if q := b.asked[len(b.asked)-1]; len(q.Options) != 2 || q.Options[0].ID != Once || q.Options[1].ID != Deny {
		t.Errorf("offered: %+v", q.Options)
	}
	b.ask = nil
	want(t, run("echo x"), "denied")
	b.perm.Command = "deny"
	want(t, run("echo hi"), "denied", "permissions.command")
	b.perm.Command = "allow"
	b.reg.o.Permissions.Trusted = func() bool { return false }
	want(t, run("echo hi"), "denied", "not trusted")
}

func TestSecretNamesAskFirst(t *testing.T) {
	b := newBench(t)
	b.write(".env", "A=1\n")
	b.write(".env.example", "A=\n")
	if err := os.Symlink(filepath.Join(b.root, ".env"), filepath.Join(b.root, "plain.txt")); err != nil {
		t.Fatal(err)
	}
	want(t, b.call("read_file", in{"path": ".env"}), "denied")
	want(t, b.call("read_file", in{"path": "plain.txt"}), "denied")
	want(t, b.call("read_file", in{"path": ".env.example"}), "ok")
	r := b.call("search_text", in{"pattern": "A="})
	want(t, r, "ok", ".env.example:1: A=", "not searched")
	if strings.Contains(r.Text(), "A=1") {
		t.Error("the search shows a secret file")
	}
	b.ask = func(Question) Answer { return Answer{Choice: Once} }
	want(t, b.call("read_file", in{"path": ".env"}), "ok", "A=1")
}

// slow is a tool that ends when it is told to, or never.
type slow struct {
	name   string
	effect Effect
	run    func(ctx context.Context) (Result, error)
}

func (s slow) Spec() Spec {
	return Spec{Name: s.name, Schema: schemaOf(`{"type":"object"}`), Effect: s.effect}
}

func (s slow) Run(ctx context.Context, _ Env, _ Call) (Result, error) { return s.run(ctx) }

func okay(head string) Result {
	return Result{Head: head, Object: fault{Status: "ok"}, Status: "ok"}
}

// Reads run together, at most eight; others wait for them and hold the rest back.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry(Options{})
		running, most := make(chan int, 1), 0
		running <- 0
		add := func(name string, effect Effect) {
			err := r.Add(slow{name, effect, func(context.Context) (Result, error) {
				n := <-running + 1
				if effect != Reads && n != 1 {
					t.Errorf("%s did not run alone", name)
				}
				most = max(most, n)
				running <- n
				time.Sleep(time.Second)
				running <- <-running - 1
				return okay(name), nil
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		add("look", Reads)
		add("act", Talks)
		var calls []Call
		for range 20 {
			calls = append(calls, Call{Tool: "look"})
		}
		calls = append(calls, Call{Tool: "act"}, Call{Tool: "act"}, Call{Tool: "look"})
		at := time.Now()
		n := 0
		r.Execute(context.Background(), Env{}, calls, func(i int, res Result) {
			if i != n || res.IsError {
				t.Errorf("result %d at %d: %+v", i, n, res)
			}
			n++
		})
		if took := time.Since(at); most != 8 || took != 6*time.Second || n != 23 {
			t.Errorf("%d at once, %d results after %s", most, n, took)
		}
	})
}

// L01 and L03: nothing starts after a cancel, a deaf tool is left behind, every
// call has a result within 200 ms.
func TestCancelLeavesNothingOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry(Options{})
		var started atomic.Int32
		release := make(chan struct{})
		for _, s := range []slow{
			{"deaf", Talks, func(context.Context) (Result, error) { started.Add(1); <-release; return okay("late"), nil }},
			{"polite", Reads, func(ctx context.Context) (Result, error) { <-ctx.Done(); return Result{}, ctx.Err() }},
		} {
			if err := r.Add(s); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		var statuses []string
		var at time.Time
		go func() { time.Sleep(time.Second); at = time.Now(); cancel() }()
		r.Execute(ctx, Env{}, []Call{{Tool: "deaf"}, {Tool: "deaf"}, {Tool: "polite"}}, func(_ int, res Result) {
			statuses = append(statuses, res.Status)
		})
		if got := strings.Join(statuses, " "); got != "cancelled cancelled cancelled" || started.Load() != 1 {
			t.Errorf("%s, %d started", got, started.Load())
		}
		if took := time.Since(at); took > 200*time.Millisecond {
			t.Errorf("took %s", took)
		}
		close(release)
		r.Wait()
	})
}

func TestToolLimitsAndPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry(Options{})
		for _, s := range []slow{
			{"stuck", Talks, func(ctx context.Context) (Result, error) { <-ctx.Done(); return Result{}, ctx.Err() }},
			{"broken", Talks, func(context.Context) (Result, error) { panic("inside") }},
		} {
			if err := r.Add(s); err != nil {
				t.Fatal(err)
			}
		}
		at := time.Now()
		r.Execute(context.Background(), Env{}, []Call{{Tool: "stuck"}, {Tool: "broken"}}, func(i int, res Result) {
			want(t, res, []string{"timed_out", "error"}[i])
		})
		if took := time.Since(at); took != 15*time.Minute {
			t.Errorf("took %s", took)
		}
	})
}

// Every built-in tool has a description, a schema that compiles and a name that
// providers accept, and the same order every time.
func TestSpecs(t *testing.T) {
	specs := newBench(t).reg.Specs()
	for i, s := range specs {
		if len(s.Description) < 80 || !strings.HasSuffix(s.Description, "\n") {
			t.Errorf("%s: description %q", s.Name, s.Description)
		}
		if i > 0 && specs[i-1].Name >= s.Name {
			t.Errorf("%s is not in order", s.Name)
		}
	}
	if len(specs) != 11 {
		t.Errorf("%d tools", len(specs))
	}
}
