package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/internal/config"
)

func TestTurnReadsEditsAndAnswers(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "one\ntwo\n")
	b.brain.play(
		do(call("read_file", map[string]any{"path": "a.txt"})),
		doLate(func(r model.Request) []callSpec {
			return []callSpec{call("edit_file", map[string]any{"path": "a.txt", "base": lastBase(r, "a.txt"),
				"edits": []map[string]any{{"old": "two", "new": "2"}}})}
		}),
		say("done"),
	)
	o := b.prompt("change it")
	if o.Stop != StopEndTurn || o.Error != "" {
		t.Fatalf("outcome %+v", o)
	}
	if got := b.disk("a.txt"); got != "one\n2\n" {
		t.Errorf("disk: %q", got)
	}
	valid(t, b.transcript())
	if got := *o.Usage.Input; got != 300 {
		t.Errorf("input tokens: %d", got)
	}
	var kinds []string
	for _, u := range b.client.updates {
		kinds = append(kinds, string(u.Kind))
	}
	if got := strings.Join(kinds, " "); got != "usage toolCall toolResult usage toolCall toolResult text usage" {
		t.Errorf("updates: %s", got)
	}
	res := b.results()
	if object(res[0].Text)["status"] != "ok" || object(res[1].Text)["status"] != "applied" {
		t.Errorf("results: %s\n%s", res[0].Text, res[1].Text)
	}
	if got, _ := b.m.Edits(b.id); len(got) != 1 || got[0].Step != 2 || got[0].Turn != 1 {
		t.Errorf("edits: %+v", got)
	}
}

func TestStaleEditIsRefusedAndReplanned(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "one\ntwo\n")
	edit := func(r model.Request) []callSpec {
		return []callSpec{call("edit_file", map[string]any{"path": "a.txt", "base": lastBase(r, "a.txt"),
			"edits": []map[string]any{{"old": "two", "new": "2"}}})}
	}
	b.brain.play(
		do(call("read_file", map[string]any{"path": "a.txt"})),
		func(ctx context.Context, r model.Request, on func(model.Event)) (model.Response, error) {
			b.write("a.txt", "one\ntwo\nthree\n")
			return doLate(edit)(ctx, r, on)
		},
		do(call("read_file", map[string]any{"path": "a.txt"})),
		doLate(edit),
		say("done"),
	)
	if o := b.prompt("change it"); o.Stop != StopEndTurn {
		t.Fatalf("outcome %+v", o)
	}
	if got := b.disk("a.txt"); got != "one\n2\nthree\n" {
		t.Errorf("disk: %q", got)
	}
	refused := b.results()[1]
	if !refused.IsError || refused.Status != "stale_base" || !strings.Contains(refused.Text, "+three") {
		t.Errorf("refusal: %+v", refused)
	}
	u := b.client.of(UpdateToolResult)[1]
	if u.Refusal == nil || u.OK {
		t.Errorf("update: %+v", u)
	}
	before, after, ok := b.m.Content(b.id + "/" + u.CallID)
	if !ok || string(before) != "one\ntwo\n" || string(after) != "one\ntwo\nthree\n" {
		t.Errorf("sides %q %q %v", before, after, ok)
	}
	if _, _, ok := b.m.Content(b.id + "/no-such-call"); ok {
		t.Error("the sides of a call that was never made")
	}
}

// B07: an outside change between two turns is announced before the prompt, once.
func TestTurnStartNamesWhatMoved(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "one\n")
	b.brain.play(do(call("read_file", map[string]any{"path": "a.txt"})), say("ok"))
	b.prompt("read it")
	b.write("a.txt", "two\n")
	b.brain.play(say("ok"), say("ok"))
	b.prompt("go on")
	r := b.brain.request(-1)
	n := len(r.Messages)
	notice := r.Messages[n-2].Parts[0].Text
	if !strings.HasPrefix(notice, "[stella engine ") || !strings.Contains(notice, "a.txt") {
		t.Errorf("no notice before the prompt: %q", notice)
	}
	if mark, _, _ := strings.Cut(notice, "]"); !strings.Contains(r.System, mark+"]") {
		t.Errorf("the prefix does not name the mark %s", mark)
	}
	b.prompt("and on")
	if r := b.brain.request(-1); len(r.Messages) != n+2 {
		t.Errorf("told again: %d messages after %d", len(r.Messages), n)
	}
	if !strings.Contains(b.client.notices(), "a.txt changed") {
		t.Errorf("the human was not told: %q", b.client.notices())
	}
}

// L03: a cancelled turn closes every open call, and the session goes on.
func TestCancelClosesOpenCalls(t *testing.T) {
	b := newBench(t, settings(func(*config.Settings) {}))
	b.write("a.txt", "one\n")
	started, release := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(release) })
	b.client.answer = func(tools.Question) tools.Answer { close(started); <-release; return tools.Answer{} }
	b.brain.play(do(
		call("read_file", map[string]any{"path": "a.txt"}),
		call("ask_user", map[string]any{"question": "which?"}),
		call("write_file", map[string]any{"path": "b.txt", "content": "b"}),
		call("read_file", map[string]any{"path": "a.txt"}),
	))
	ended := make(chan Outcome)
	go func() { ended <- b.prompt("ask") }()
	<-started
	at := time.Now()
	if err := b.m.Cancel(b.id); err != nil {
		t.Fatal(err)
	}
	o := <-ended
	if took := time.Since(at); took > soon {
		t.Errorf("cancel took %s", took)
	}
	if o.Stop != StopCancelled || o.Error != "" {
		t.Errorf("outcome %+v", o)
	}
	valid(t, b.transcript())
	res := b.results()
	if len(res) != 4 || res[0].Status != "ok" || res[1].Status != "cancelled" || res[2].Status != "cancelled" || res[3].Status != "cancelled" {
		t.Errorf("results: %+v", res)
	}
	if got := b.disk("b.txt"); !strings.Contains(got, "no such file") {
		t.Errorf("a write started after the cancel: %q", got)
	}
	if info := b.m.List()[0]; info.State != Idle {
		t.Errorf("state %s", info.State)
	}
}

// A running command ends with its turn, and leaves no process.
func TestCancelKillsCommand(t *testing.T) {
	b := newBench(t, settings(func(*config.Settings) {}))
	b.brain.play(do(call("run_command", map[string]any{"command": "echo $$ > pid; (sleep 300 & setsid sleep 301 &) ; touch ready; sleep 302"})), say("again"))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan Outcome)
	go func() {
		o, err := b.m.Prompt(ctx, Prompt{Session: b.id, Text: "run"})
		if err != nil {
			t.Error(err)
		}
		ended <- o
	}()
	for !strings.HasPrefix(b.disk("ready")+"x", "x") {
		time.Sleep(5 * time.Millisecond)
	}
	at := time.Now()
	cancel()
	o := <-ended
	if took := time.Since(at); took > soon || o.Stop != StopCancelled {
		t.Errorf("cancel took %s, outcome %+v", took, o)
	}
	valid(t, b.transcript())
	if o := b.prompt("go on"); o.Stop != StopEndTurn {
		t.Errorf("outcome %+v", o)
	}
}

func TestCancelWhileStreaming(t *testing.T) {
	b := newBench(t)
	started := make(chan struct{})
	b.brain.play(func(ctx context.Context, _ model.Request, on func(model.Event)) (model.Response, error) {
		on(model.Event{Kind: model.EventText, Text: "half an answer "})
		close(started)
		select {} // a provider that ignores its context
	}, say("ok"))
	ended := make(chan Outcome)
	go func() { ended <- b.prompt("go") }()
	<-started
	at := time.Now()
	_ = b.m.Cancel(b.id)
	if o := <-ended; o.Stop != StopCancelled || time.Since(at) > soon {
		t.Errorf("outcome %+v after %s", o, time.Since(at))
	}
	b.prompt("go on")
	valid(t, b.brain.request(-1).Messages)
	if got := b.transcript()[1].Parts[0].Text; got != "half an answer " {
		t.Errorf("what was shown is not kept: %q", got)
	}
}

func TestBusyAndSteering(t *testing.T) {
	b := newBench(t)
	started, release := make(chan struct{}), make(chan struct{})
	b.brain.play(func(ctx context.Context, r model.Request, on func(model.Event)) (model.Response, error) {
		close(started)
		<-release
		return say("first")(ctx, r, on)
	}, say("second"))
	ended := make(chan Outcome)
	go func() { ended <- b.prompt("go") }()
	<-started
	if _, err := b.m.Prompt(context.Background(), Prompt{Session: b.id, Text: "other"}); !errors.Is(err, ErrBusy) {
		t.Errorf("not refused: %v", err)
	}
	o, err := b.m.Prompt(context.Background(), Prompt{Session: b.id, Text: "and this", Steer: true})
	if err != nil || o.Stop != StopSteered || o.TurnID != "t1" {
		t.Errorf("steering: %+v %v", o, err)
	}
	close(release)
	if o := <-ended; o.Stop != StopEndTurn {
		t.Errorf("outcome %+v", o)
	}
	r := b.brain.request(-1)
	if got := r.Messages[len(r.Messages)-1].Parts[0].Text; got != "and this" {
		t.Errorf("the model did not get the steering prompt: %q", got)
	}
	if _, err := b.m.Prompt(context.Background(), Prompt{Session: b.id, Text: "next"}); err != nil {
		t.Error(err)
	}
}

func TestModelErrorLeavesSessionUsable(t *testing.T) {
	b := newBench(t)
	b.brain.play(func(context.Context, model.Request, func(model.Event)) (model.Response, error) {
		return model.Response{}, &model.Error{Provider: "fake", Message: "key sk-ant-test-0123456789abcdef refused", Hint: "set a key"}
	}, func(context.Context, model.Request, func(model.Event)) (model.Response, error) { panic("inside") },
		func(context.Context, model.Request, func(model.Event)) (model.Response, error) {
			return model.Response{Stop: model.StopEnd}, nil // nothing at all
		}, say("ok"))
	o := b.prompt("go")
	if o.Stop != StopError || !strings.Contains(o.Error, "set a key") || strings.Contains(o.Error, "0123456789") {
		t.Errorf("outcome %+v", o)
	}
	if o := b.prompt("again"); o.Stop != StopError || !strings.Contains(o.Error, "inside") {
		t.Errorf("outcome %+v", o)
	}
	if o := b.prompt("again"); o.Stop != StopEndTurn {
		t.Errorf("outcome %+v", o)
	}
	if o := b.prompt("again"); o.Stop != StopEndTurn {
		t.Errorf("outcome %+v", o)
	}
	valid(t, b.transcript())
}

func TestBadCalls(t *testing.T) {
	b := newBench(t)
	b.brain.play(do(
		callSpec{"read_file", `unexpected end of JSON input after {"path": "a`},
		call("no_such_tool", map[string]any{}),
		call("read_file", map[string]any{"path": 7}),
		call("read_file", map[string]any{"path": "a", "more": 1}),
		call("edit_file", map[string]any{"path": "a.txt"}),
		call("read_file", map[string]any{"path": "../outside.txt"}),
		call("write_file", map[string]any{"path": "/etc/stella", "content": "x"}),
		call("search_text", map[string]any{"pattern": "("}),
	), say("ok"))
	if o := b.prompt("go"); o.Stop != StopEndTurn {
		t.Fatalf("outcome %+v", o)
	}
	want := []struct{ status, text string }{
		{"invalid", `unexpected end of JSON input after {"path": "a`},
		{"invalid", "there is no tool"},
		{"invalid", "path"},
		{"invalid", "more"},
		{"invalid", "either edits or a patch"},
		{"outside_workspace", "outside the workspace"},
		{"outside_workspace", "outside the workspace"},
		{"invalid", "literal"},
	}
	for i, r := range b.results() {
		if r.Status != want[i].status || !r.IsError || !strings.Contains(r.Text, want[i].text) {
			t.Errorf("call %d: %+v", i, r)
		}
		if object(r.Text)["status"] != want[i].status {
			t.Errorf("call %d: object %v", i, object(r.Text))
		}
	}
	valid(t, b.transcript())
}

func TestLimits(t *testing.T) {
	spin := func(model.Request) []callSpec { return []callSpec{call("list_files", map[string]any{})} }
	t.Run("steps", func(t *testing.T) {
		b := newBench(t, settings(func(s *config.Settings) { s.Budget.Steps = 2 }))
		b.brain.play(doLate(spin), doLate(spin), doLate(spin))
		if o := b.prompt("go"); o.Stop != StopMaxSteps || b.brain.asked() != 2 {
			t.Errorf("outcome %+v after %d", o, b.brain.asked())
		}
		valid(t, b.transcript())
	})
	t.Run("tokens", func(t *testing.T) {
		b := newBench(t, settings(func(s *config.Settings) { s.Budget.TurnTokens = 200 }))
		b.brain.play(doLate(spin), doLate(spin), doLate(spin))
		if o := b.prompt("go"); o.Stop != StopBudget || b.brain.asked() != 2 {
			t.Errorf("outcome %+v after %d", o, b.brain.asked())
		}
		if !strings.Contains(b.client.notices(), "220 tokens") {
			t.Errorf("notices: %q", b.client.notices())
		}
	})
	t.Run("no price", func(t *testing.T) {
		b := newBench(t, settings(func(s *config.Settings) { s.Budget.TurnUSD = 0.01 }))
		b.brain.play(doLate(spin), say("ok"))
		if o := b.prompt("go"); o.Stop != StopEndTurn {
			t.Errorf("outcome %+v", o)
		}
		if strings.Count(b.client.notices(), "no price is known") != 1 {
			t.Errorf("notices: %q", b.client.notices())
		}
	})
}

func TestLoopIsToldThenEnds(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "x\n")
	for range 9 {
		b.brain.play(do(call("search_text", map[string]any{"pattern": "nothing"})))
	}
	if o := b.prompt("go"); o.Stop != StopLoop || b.brain.asked() != 6 {
		t.Errorf("outcome %+v after %d", o, b.brain.asked())
	}
	last := b.brain.request(3).Messages
	if got := last[len(last)-1].Parts[0].Text; !strings.Contains(got, "three times") {
		t.Errorf("not told: %q", got)
	}
	valid(t, b.transcript())
}

func TestMaskedUpdates(t *testing.T) {
	b := newBench(t)
	key := "sk-ant-api03-abcdefghijklmnopqrstuv"
	b.write("a.txt", "token "+key+"\n")
	b.brain.play(do(call("read_file", map[string]any{"path": "a.txt"})),
		func(_ context.Context, _ model.Request, on func(model.Event)) (model.Response, error) {
			for _, c := range "the key is " + key + " as you see" {
				on(model.Event{Kind: model.EventText, Text: string(c)})
			}
			return model.Response{Stop: model.StopEnd, Message: model.Message{Role: model.Assistant,
				Parts: []model.Part{{Kind: model.TextPart, Text: "the key is " + key}}}}, nil
		})
	b.prompt("go")
	var text strings.Builder
	for _, u := range b.client.updates {
		text.WriteString(u.Text)
	}
	if strings.Contains(text.String(), "abcdefghij") || !strings.Contains(text.String(), "the key is [masked] as you see") {
		t.Errorf("updates: %s", text.String())
	}
	if !strings.Contains(b.results()[0].Text, key) {
		t.Error("the model must get the file as it is")
	}
}
