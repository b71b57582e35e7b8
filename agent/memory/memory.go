// Package memory joins the context engine to sessions: it is the agent's Context
// (prefix, recall, what is learned after a turn), the tools save_memory and
// cite_memory, and the rules that deny calls.
//
// The arrow points down: this package knows the agent and the engine, the engine
// knows neither. Engines are opened by workspace root when a session needs one.
package memory

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/contextengine"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Options wire a Memory. Only Workspace is needed.
type Options struct {
	Workspace *workspace.Workspace
	Graph     contextengine.Graph
	// Settings is asked at each turn; nil takes the defaults.
	Settings func() config.Recall
	// Reflect picks the model for reflections; nil takes the session's own.
	Reflect func(session model.Model) model.Model
	// Report puts what went wrong, or was taken out of use, before people; it must
	// not call back. The same sentence is reported once.
	Report func(string)
	// Inform tells people what is good to know; nil is Report.
	Inform func(string)
	// Log takes what happens in the course of things, such as a reflection whose
	// answer could not be read; nil drops it.
	Log   func(string)
	Clock func() time.Time
	// Grace is how long a reflection may still take once the server is closing;
	// 0 is three seconds. A one-shot command gives it more.
	Grace time.Duration
	// DoubtsChanged is told which memories of a root are about a file that changed,
	// so that they may be doubtful now, or no longer; ids is empty when memory
	// files themselves changed. nil drops it.
	DoubtsChanged func(root string, ids []string)
}

// Memory is the context engines of all roots; safe for concurrent use. It
// implements agent.Context and tools.Denier.
type Memory struct {
	o Options

	mu      sync.Mutex // guards what follows
	engines map[string]*contextengine.Engine

	tellMu sync.Mutex      // guards told
	told   map[string]bool // sentences that people were told

	watch watcher
}

var (
	_ agent.Context = (*Memory)(nil)
	_ tools.Denier  = (*Memory)(nil)
)

// New returns a Memory; no file is opened or made yet.
func New(o Options) *Memory {
	m := &Memory{o: o, engines: map[string]*contextengine.Engine{}, told: map[string]bool{}}
	m.watch.start(m)
	return m
}

// Close stops following files and ends the databases. Turns that are being
// learned from must have ended; the agent's Manager waits for them.
func (m *Memory) Close() error {
	m.watch.stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	var first error
	for _, e := range m.engines {
		if err := e.Close(); err != nil && first == nil {
			first = err
		}
	}
	clear(m.engines)
	return first
}

// Engine is the engine of a workspace root.
func (m *Memory) Engine(root string) *contextengine.Engine {
	root = filepath.Clean(root)
	if resolved, err := filepath.EvalSymlinks(root); err == nil {
		root = resolved
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.engines[root]
	if e == nil {
		o := contextengine.Options{Root: root, Graph: m.o.Graph, Settings: m.o.Settings, Clock: m.o.Clock, Report: m.report}
		if m.o.Workspace != nil {
			o.Source = contextengine.WorkspaceSource(m.o.Workspace)
		}
		e = contextengine.New(o)
		m.engines[root] = e
	}
	return e
}

// EngineFor is the engine of the root that holds a path; nil outside all roots.
func (m *Memory) EngineFor(path workspace.Path) *contextengine.Engine {
	if m.o.Workspace == nil {
		return nil
	}
	name, err := m.o.Workspace.Resolve("", string(path))
	if err != nil || !name.Inside() {
		return nil
	}
	return m.Engine(name.Root)
}

func (m *Memory) opened() []*contextengine.Engine {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*contextengine.Engine
	for _, e := range m.engines {
		out = append(out, e)
	}
	return out
}

// Prefix implements agent.Context.
func (m *Memory) Prefix(ctx context.Context, session, base, root string) (string, error) {
	p, err := m.Engine(root).Prefix(ctx, session, base)
	for _, note := range p.Notes {
		m.report(note)
	}
	return p.Text, err
}

// maxTold bounds what is remembered of what was said; beyond it people hear some
// sentence twice.
const maxTold = 1000

// report tells people a sentence, once in the life of the process.
func (m *Memory) report(sentence string) { m.once(m.o.Report, sentence) }

// inform is report for what is no trouble.
func (m *Memory) inform(sentence string) {
	if m.o.Inform == nil {
		m.report(sentence)
		return
	}
	m.once(m.o.Inform, sentence)
}

// quarantined tells of a memory that was taken out of use, each time it happens.
func (m *Memory) quarantined(id string) {
	if m.o.Report != nil {
		m.o.Report("memory " + id + " is quarantined: it was found untruthful twice (stella-ls memory unquarantine " + id + " --reason TEXT takes it back)")
	}
}

func (m *Memory) once(say func(string), sentence string) {
	if say == nil {
		return
	}
	m.tellMu.Lock()
	first := !m.told[sentence]
	if len(m.told) >= maxTold {
		clear(m.told)
	}
	m.told[sentence] = true
	m.tellMu.Unlock()
	if first {
		say(sentence)
	}
}

func (m *Memory) log(sentence string) {
	if m.o.Log != nil {
		m.o.Log(sentence)
	}
}

// Recall implements agent.Context.
func (m *Memory) Recall(ctx context.Context, q agent.RecallQuery) (agent.RecallBlock, error) {
	m.Settle(ctx)
	r, err := m.Engine(q.Root).Recall(ctx, contextengine.Query{
		Session: q.Session, Turn: q.Turn, Prompt: q.Prompt, OpenFile: q.OpenFile, Symbol: q.Symbol, Dirty: q.Dirty, Touched: q.Touched,
	})
	out := agent.RecallBlock{Text: r.Block, Control: r.Control, BeforePrompt: r.BeforePrompt, Notes: r.Notes}
	for _, f := range r.Frames {
		out.Frames = append(out.Frames, agent.Frame{ID: f.ID, Kind: f.Kind, Label: f.Label})
	}
	return out, err
}

// TurnEnded implements agent.Context. It asks the model and may take as long as
// that takes; the agent calls it behind the answer.
func (m *Memory) TurnEnded(ctx context.Context, t agent.TurnSummary) {
	ctx, cancel := m.graceful(ctx)
	defer cancel()
	var ask contextengine.Ask
	if t.Model != nil {
		brain := t.Model
		if m.o.Reflect != nil {
			brain = m.o.Reflect(brain)
		}
		ask = Ask(brain)
	}
	calls := make([]contextengine.ToolCall, len(t.Calls))
	for i, c := range t.Calls {
		calls[i] = contextengine.ToolCall(c)
	}
	rec, err := m.Engine(t.Root).TurnEnded(ctx, contextengine.Turn{
		Session: t.Session, TurnID: t.TurnID, Turn: t.Turn, Prompt: t.Prompt, Answer: t.Answer, Stop: string(t.Stop), Steps: t.Steps,
		ToolCalls: t.ToolCalls, Calls: calls, Touched: t.Touched, Failures: t.Failures, Started: t.Started, Ended: t.Ended,
		Input: t.Usage.Input, CacheRead: t.Usage.CacheRead, CacheWrite: t.Usage.CacheWrite, Output: t.Usage.Output, USD: t.Usage.USD,
		Control: t.Control, Derived: t.Derived,
	}, ask)
	if err != nil && ctx.Err() == nil {
		m.report("the turn could not be remembered: " + err.Error())
	}
	switch rec.Outcome {
	case contextengine.ReflectionFailed:
		if ctx.Err() == nil {
			m.log("the reflection on the turn failed: " + rec.Detail)
		}
	case contextengine.ReflectionUnreadable:
		m.log("the reflection on the turn could not be read: " + rec.Detail)
	}
	for _, s := range rec.Skills {
		m.inform("a lesson came back often enough to become a skill: .stella/skills/" + s + "/SKILL.md")
	}
}

// graceful is a context that outlives ctx by the grace.
func (m *Memory) graceful(ctx context.Context) (context.Context, context.CancelFunc) {
	grace := m.o.Grace
	if grace == 0 {
		grace = 3 * time.Second
	}
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return late, func() { stop(); cancel() }
}

// Ask makes the engine's question of a model: one call at temperature 0.
func Ask(brain model.Model) contextengine.Ask {
	return func(ctx context.Context, purpose, system, prompt string) (string, error) {
		zero := 0.0
		res, err := brain.Stream(ctx, model.Request{
			Purpose: model.Purpose(purpose), System: system, MaxTokens: 1500, Temperature: &zero,
			Messages: []model.Message{{Role: model.User, Parts: []model.Part{{Kind: model.TextPart, Text: prompt}}}},
		}, func(model.Event) {})
		if err != nil {
			return "", err
		}
		answer := ""
		for _, p := range res.Message.Parts {
			if p.Kind == model.TextPart {
				answer += p.Text
			}
		}
		return answer, nil
	}
}

// Deny implements tools.Denier: a rule of any open root can deny a call. Paths
// are judged as spelled and as the file they lead to.
func (m *Memory) Deny(tool string, paths []string, command string) string {
	for _, e := range m.opened() {
		all := append([]string(nil), paths...)
		if m.o.Workspace != nil {
			for _, p := range paths {
				if name, err := m.o.Workspace.Resolve(e.Root(), p); err == nil {
					all = append(all, string(name.Path), name.Link)
				}
			}
		}
		if reason := e.Deny(tool, all, command); reason != "" {
			return reason
		}
	}
	return ""
}

// Unsure implements tools.Denier.
func (m *Memory) Unsure() string {
	for _, e := range m.opened() {
		if why := e.RulesUnsure(); why != "" {
			return why
		}
	}
	return ""
}

// Tools implements agent.Context.
func (m *Memory) Tools(session string) []tools.Tool {
	return []tools.Tool{saveMemory{m, &drafts{}}, citeMemory{m}}
}
