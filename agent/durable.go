package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/internal/record"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// durable is a session's place in the work record. A step is recorded at its
// boundary, with the beliefs of that moment; a session without a turn has no
// record.
type durable struct {
	store Record // nil: nothing is recorded

	mu      sync.Mutex // guards what follows; held while a step is written
	session *record.Session
	written int  // messages of the transcript that are recorded
	failed  bool // the failure was told
	// unreadable: there is a record of this session that nobody could read; it is
	// left alone.
	unreadable bool
}

// create begins a new record. That of a session whose former record could not be
// read continues that one.
func (d *durable) create(ctx context.Context, h record.Header) (*record.Session, error) {
	if d.unreadable {
		return d.store.Continue(ctx, h.Session, h)
	}
	return d.store.Create(ctx, h)
}

// piece is what one step adds to the recorded transcript.
type piece struct {
	// Prefix, Mark and Chosen are in the first piece only.
	Prefix  string        `json:"prefix,omitempty"`
	Mark    string        `json:"mark,omitempty"`
	Chosen  bool          `json:"chosen,omitempty"`
	Entries []storedEntry `json:"entries,omitempty"`
}

type storedEntry struct {
	Kind  entryKind                `json:"kind"`
	Msg   model.Message            `json:"msg"`
	Turn  int                      `json:"turn"`
	Step  int                      `json:"step"`
	Shows map[int][]workspace.Path `json:"shows,omitempty"`
}

// storedState is the session's own state, replaced with each step.
type storedState struct {
	Turns int         `json:"turns"`
	Steps int         `json:"steps"`
	Usage model.Usage `json:"usage"`
	// Gone and Short are what compaction took out of the model's context, by
	// the number of the message.
	Gone  []int         `json:"gone,omitempty"`
	Short map[int][]int `json:"short,omitempty"`
}

// resumePoint is where a turn goes on after a crash.
type resumePoint struct {
	Turn   int         `json:"turn"`
	Prompt string      `json:"prompt"`
	Steps  int         `json:"steps"`
	Usage  model.Usage `json:"usage"`
}

// begin opens the session's record before its first write.
func (d *durable) begin(ctx context.Context, h record.Header) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.store == nil || d.session != nil {
		return nil
	}
	var err error
	d.session, err = d.create(ctx, h)
	return err
}

// record writes the state at a step boundary. A failure does not stop the
// turn: the human is told once, and the next boundary tries again.
func (t *turn) record(running bool) {
	d := &t.s.durable
	if d.store == nil {
		return
	}
	var st state
	_ = t.s.do(func(now *state) { st = *now })
	step := record.Step{Turn: t.n, Title: t.s.title, Model: t.s.wanted, Beliefs: t.s.guard.Snapshot(), State: st.stored()}
	if step.Title == "" {
		step.Title = titleOf(st.log)
	}
	if running {
		step.Resume, _ = json.Marshal(resumePoint{Turn: t.n, Prompt: t.prompt.Text, Steps: t.steps, Usage: t.usage})
	}
	ctx := context.WithoutCancel(t.ctx)
	err := d.begin(ctx, record.Header{Session: t.s.id, Title: step.Title, Model: t.s.wanted, Root: t.s.root})
	if err == nil {
		err = d.step(ctx, t.s, st.log, step)
	}
	if err != nil && !d.failed {
		d.failed = true
		t.notice("this session is not recorded, so it could not be resumed after a crash: " + err.Error())
	}
	if err == nil {
		d.failed = false
	}
}

// step writes one step with what the transcript gained since the last.
func (d *durable) step(ctx context.Context, s *Session, log []entry, step record.Step) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var p piece
	if d.written == 0 {
		p.Prefix, p.Mark, p.Chosen = s.prefix, s.mark, s.chosen
	}
	for _, e := range log[d.written:] {
		p.Entries = append(p.Entries, storedEntry{e.kind, e.msg, e.turn, e.step, e.shows})
	}
	if len(p.Entries) > 0 {
		raw, err := json.Marshal(p)
		if err != nil {
			return err
		}
		step.Entry = raw
	}
	if err := d.session.Step(ctx, step); err != nil {
		return err
	}
	d.written = len(log)
	return nil
}

func (st *state) stored() json.RawMessage {
	out := storedState{Turns: st.turns, Steps: st.steps, Usage: st.usage, Short: map[int][]int{}}
	for i, e := range st.log {
		if e.gone {
			out.Gone = append(out.Gone, i)
		}
		for k := range e.short {
			out.Short[i] = append(out.Short[i], k)
		}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return raw
}

// restore reads a recorded session's transcript and state.
func restore(l *record.Loaded) (st state, first piece, err error) {
	for i, raw := range l.Transcript {
		var p piece
		if err := json.Unmarshal(raw, &p); err != nil {
			return st, first, fmt.Errorf("%w: piece %d of the transcript: %w", record.ErrDamaged, i+1, err)
		}
		if i == 0 {
			first = piece{Prefix: p.Prefix, Mark: p.Mark, Chosen: p.Chosen}
		}
		for _, e := range p.Entries {
			for _, paths := range e.Shows {
				for k, path := range paths {
					paths[k] = workspace.Path(l.Now(string(path)))
				}
			}
			st.log = append(st.log, entry{kind: e.Kind, msg: e.Msg, turn: e.Turn, step: e.Step, shows: e.Shows})
		}
	}
	var stored storedState
	if len(l.State) > 0 {
		if err := json.Unmarshal(l.State, &stored); err != nil {
			return st, first, fmt.Errorf("%w: its state: %w", record.ErrDamaged, err)
		}
	}
	st.log = repaired(st.log) // a cut can only be at the end, so numbers before it hold
	st.turns, st.steps, st.usage = max(stored.Turns, l.Turn), stored.Steps, stored.Usage
	for _, i := range stored.Gone {
		if i < len(st.log) {
			st.log[i].gone = true
		}
	}
	for i, parts := range stored.Short {
		if i < len(st.log) {
			st.log[i].short = map[int]bool{}
			for _, k := range parts {
				st.log[i].short[k] = k < len(st.log[i].msg.Parts)
			}
		}
	}
	st.status = Idle
	if l.Resume != nil {
		st.status = Interrupted
	}
	return st, first, nil
}
