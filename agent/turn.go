package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/internal/secret"
)

// cancelGrace is how long something that was cancelled may take to return
// before the turn goes on without it.
const cancelGrace = 100 * time.Millisecond

// settleTime is how long a turn waits for what an earlier, cancelled one left.
const settleTime = 10 * time.Second

// maxCallsKept bounds the calls of one turn that are kept for figures; their
// number is kept whole.
const maxCallsKept = 2000

// turn is one prompt on its way: steps of a model call and its tool calls. All
// of it belongs to the turn's own goroutine but ctx, cancel and ended.
type turn struct {
	s      *Session
	n      int
	id     string
	prompt Prompt
	ctx    context.Context
	cancel context.CancelFunc
	go_    chan struct{} // closed when run may begin
	done   chan struct{} // closed when outcome is set and all updates are out
	// ended stops updates of what the turn had to leave behind.
	ended   atomic.Bool
	outcome Outcome

	step     int // of the session
	steps    int // of this turn
	usage    model.Usage
	recall   RecallBlock
	watch    *loopWatch
	said     []string
	failures []string
	calls    int
	made     []ToolCall // the calls, at most maxCallsKept
	derived  atomic.Bool
	started  time.Time
	answer   string // the last text of the model
	resumed  bool   // it goes on where a crash ended it
	unheld   bool   // a limit that cannot be held was reported
}

// run is the whole turn. Whatever happens in it, the session is usable after.
func (t *turn) run() {
	defer close(t.done)
	t.started = t.s.m.o.Clock()
	stop, err := t.guarded(t.open)
	for again := true; again; {
		// A server that shuts down in the middle leaves the turn to be resumed.
		t.record(stop == StopCancelled && t.s.m.life.Err() != nil)
		again = false
		_ = t.s.do(func(st *state) { again = t.leave(st, stop) }) // a closed actor has nobody left to tell
		if again {
			stop, err = t.guarded(func() {})
		}
	}
	t.outcome = Outcome{TurnID: t.id, Stop: stop, Usage: t.usage}
	if err != nil {
		t.outcome.Error = secret.Mask(err.Error())
	}
	t.ended.Store(true)
	t.after()
}

// leave makes the session idle again. Steering that came during the model's
// last answer makes the turn go on; after another end it stays in the
// conversation, for the next turn. It runs in the actor.
func (t *turn) leave(st *state, stop Stop) (again bool) {
	if len(st.steer) > 0 && stop == StopEndTurn {
		return true
	}
	for _, p := range st.steer {
		st.log = append(st.log, entry{kind: fromHuman, turn: t.n, step: t.step, msg: userText(p.Text)})
	}
	st.turn, st.steer, st.status, st.updated = nil, nil, Idle, t.s.m.o.Clock()
	return false
}

// guarded turns a panic of the engine into a failed turn.
func (t *turn) guarded(open func()) (stop Stop, err error) {
	defer func() {
		if v := recover(); v != nil {
			t.s.m.o.Log.Error("a turn panicked", "session", t.s.id, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			stop, err = StopError, fmt.Errorf("internal fault: %v", v)
		}
	}()
	open()
	for {
		stop, more, err := t.oneStep()
		if err != nil && t.ctx.Err() != nil {
			return StopCancelled, nil
		}
		if err != nil || !more {
			return stop, err
		}
	}
}

// open puts what precedes the first step into the transcript: notices, recalled
// context, the prompt.
func (t *turn) open() {
	for _, text := range t.said {
		t.notice(text)
	}
	t.s.tools.Settle(t.ctx, settleTime)
	t.meetServers()
	t.tellStale("Since your last turn")
	t.recallContext()
	if t.resumed {
		t.tell(resumedNotice)
	} else {
		text, seen := t.attach(t.prompt)
		t.s.append(entry{kind: fromHuman, turn: t.n, msg: userText(text)})
		t.s.guard.Deliver(seen...)
	}
	t.record(true)
}

// oneStep is one model call and its tools. more is false when the turn is over.
func (t *turn) oneStep() (stop Stop, more bool, err error) {
	if t.ctx.Err() != nil {
		return StopCancelled, false, nil
	}
	t.takeSteering()
	if t.steps > 0 {
		t.tellStale("During this turn")
	}
	if stop, why := t.limit(); why != "" {
		t.notice(why)
		return stop, false, nil
	}
	t.compact()
	_ = t.s.do(func(st *state) { st.steps++; t.step = st.steps })
	t.steps++
	resp, err := t.callModel()
	if err != nil {
		return StopError, false, err
	}
	t.account(resp)
	calls := t.keepAnswer(resp)
	if len(calls) == 0 {
		return StopEndTurn, false, nil
	}
	looping := t.runTools(calls)
	if looping {
		t.notice("the same call gave the same result six times; the turn was ended")
		return StopLoop, false, nil
	}
	t.record(true)
	return "", true, nil
}

// limit says which limit ends the turn, if any.
func (t *turn) limit() (Stop, string) {
	budget := t.s.m.o.Settings().Budget
	if budget.Steps <= 0 {
		budget.Steps = 200
	}
	if t.steps >= budget.Steps {
		return StopMaxSteps, fmt.Sprintf("the turn ended after %d steps (budget.steps); prompt again to go on", t.steps)
	}
	var session model.Usage
	_ = t.s.do(func(st *state) { session = st.usage })
	why, unheld := overBudget(budget, t.usage, session)
	if t.steps > 0 && unheld != "" && !t.unheld {
		t.unheld = true
		t.notice(t.s.brain.Name() + ": " + unheld)
	}
	return StopBudget, why
}

// takeSteering moves waiting prompts into the transcript.
func (t *turn) takeSteering() {
	var waiting []Prompt
	_ = t.s.do(func(st *state) { waiting, st.steer = st.steer, nil })
	for _, p := range waiting {
		text, seen := t.attach(p)
		t.s.append(entry{kind: fromHuman, turn: t.n, step: t.step, msg: userText(text)})
		t.s.guard.Deliver(seen...)
	}
}

// callModel streams one request. A model that does not return when cancelled is
// left behind.
func (t *turn) callModel() (model.Response, error) {
	t.refreshTools()
	req := t.request()
	type answer struct {
		resp model.Response
		err  error
	}
	ch := make(chan answer, 1)
	l := &listener{t: t}
	go func() {
		defer func() {
			if v := recover(); v != nil {
				ch <- answer{err: fmt.Errorf("the model provider failed inside: %v", v)}
			}
		}()
		resp, err := t.s.brain.Stream(t.ctx, req, l.on)
		ch <- answer{resp, err}
	}()
	var a answer
	select {
	case a = <-ch:
	case <-t.ctx.Done():
		timer := time.NewTimer(cancelGrace)
		defer timer.Stop()
		select {
		case a = <-ch:
		case <-timer.C:
			a.err = t.ctx.Err()
		}
	}
	text := l.close()
	if a.err != nil && t.ctx.Err() != nil && strings.TrimSpace(text) != "" {
		// What the human saw before cancelling stays part of the conversation.
		t.s.append(entry{kind: fromModel, turn: t.n, step: t.step, msg: model.Message{Role: model.Assistant,
			Parts: []model.Part{{Kind: model.TextPart, Text: text}}}})
	}
	return a.resp, a.err
}

// account adds a response's usage to the turn's and the session's.
func (t *turn) account(resp model.Response) {
	u := resp.Usage
	t.usage = addUsage(t.usage, u)
	_ = t.s.do(func(st *state) { st.usage = addUsage(st.usage, u) })
	if reported(u) {
		total := t.usage
		t.update(Update{Kind: UpdateUsage, Usage: &total})
	}
}

// keepAnswer puts the model's message into the transcript and returns its calls.
func (t *turn) keepAnswer(resp model.Response) []tools.Call {
	var parts []model.Part
	for _, p := range resp.Message.Parts {
		if p.Kind == model.TextPart {
			if strings.TrimSpace(p.Text) == "" {
				continue
			}
			t.answer = p.Text
		}
		parts = append(parts, p)
	}
	if resp.Stop == model.StopMaxTokens {
		t.notice("the model's answer was cut at its output limit (model.max_output_tokens)")
		if n := len(parts); n > 0 && parts[n-1].Kind == model.ToolCallPart && parts[n-1].BadInput == "" {
			parts[n-1].BadInput = "the answer was cut at the output limit, so this call may not be complete; make smaller calls"
		}
	}
	if resp.Stop == model.StopRefusal {
		t.notice("the model refused to answer")
	}
	if len(parts) == 0 {
		return nil // an empty message is not valid in a request
	}
	t.s.append(entry{kind: fromModel, turn: t.n, step: t.step, msg: model.Message{Role: model.Assistant, Parts: parts}})
	if reported(resp.Usage) {
		_ = t.s.do(func(st *state) { st.size, st.sizedAt = tokens(resp.Usage), len(st.log) })
	}
	var calls []tools.Call
	for _, p := range parts {
		if p.Kind == model.ToolCallPart {
			calls = append(calls, tools.Call{ID: p.CallID, Tool: p.Tool, Input: p.Input, BadInput: p.BadInput, Turn: t.n, Step: t.step})
		}
	}
	return calls
}

// tell puts a message of the engine into the transcript.
func (t *turn) tell(text string) {
	t.s.append(entry{kind: fromEngine, turn: t.n, step: t.step, msg: userText(t.s.mark + " " + text)})
}

// notice tells the human something.
func (t *turn) notice(text string) { t.update(Update{Kind: UpdateNotice, Text: text}) }

// update sends an update, unless the turn is over: what it left behind is silent.
func (t *turn) update(u Update) {
	if t.ended.Load() {
		return
	}
	u.TurnID, u.Step = t.id, t.step
	u.Text = secret.Mask(u.Text)
	if u.Input != nil {
		u.Input = []byte(secret.Mask(string(u.Input)))
	}
	t.s.emit(u)
}

// after lets the context engine learn from the turn, behind the answer's back.
func (t *turn) after() {
	engine := t.s.m.o.Context
	summary := TurnSummary{
		Session: t.s.id, TurnID: t.id, Turn: t.n, Root: t.s.root, Prompt: t.prompt.Text, Stop: t.outcome.Stop, Steps: t.steps,
		Touched: t.touched(), Failures: t.failures, ToolCalls: t.calls, Calls: t.made, Usage: t.usage, Control: t.recall.Control, Model: t.s.brain,
		Answer: tools.Bounded(t.answer, 4000), Started: t.started, Ended: t.s.m.o.Clock(), Derived: t.derived.Load(),
	}
	t.s.m.work.Add(1)
	go func() {
		defer t.s.m.work.Done()
		defer func() {
			if v := recover(); v != nil {
				t.s.m.o.Log.Error("after a turn", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			}
		}()
		if engine != nil {
			engine.TurnEnded(t.s.m.life, summary)
		}
		if err := t.s.hooks.Session(t.s.m.life, "stop", t.s.id); err != nil && !errors.Is(err, context.Canceled) {
			t.s.m.o.Log.Warn("stop hook", "err", secret.Mask(err.Error()))
		}
	}()
}

func userText(text string) model.Message {
	return model.Message{Role: model.User, Parts: []model.Part{{Kind: model.TextPart, Text: text}}}
}

func plural(files int) string { return fmt.Sprintf("%d files", files) }

func firstLine(s string, n int) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
