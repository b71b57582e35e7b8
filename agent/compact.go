package agent

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Compaction takes the oldest of the conversation out of the model's context
// when a request would count more than compactAt tokens, until it counts about
// compactTo. The transcript keeps everything. No model is asked, so it cannot
// fail and costs nothing; what left is named to the model, which can read again.
const (
	compactAt = 150_000
	compactTo = 75_000
	// keepLast is how many of the newest messages are never shortened.
	keepLast = 4
	// shortAbove is from which size, in bytes, a part is worth shortening.
	shortAbove = 1 << 10
	// bytesPerToken is a cautious estimate for code and prose.
	bytesPerToken = 3.4
)

// inContext is the message as the model gets it now.
func (e entry) inContext() (model.Message, bool) {
	if e.gone {
		return model.Message{}, false
	}
	if len(e.short) == 0 {
		return e.msg, true
	}
	msg := model.Message{Role: e.msg.Role, Parts: append([]model.Part(nil), e.msg.Parts...)}
	for i := range e.short {
		msg.Parts[i] = shortened(msg.Parts[i])
	}
	return msg, true
}

// shortened keeps of a result its two first lines, of a call its short inputs.
func shortened(p model.Part) model.Part {
	switch p.Kind {
	case model.ToolResultPart:
		head, rest, _ := strings.Cut(p.Text, "\n")
		object, _, _ := strings.Cut(rest, "\n")
		if len(object) > shortAbove {
			object = `{"status":"` + p.Status + `"}`
		}
		p.Text = head + "\n" + object + "\n\n[left the context to save room; call the tool again if you need it]"
	case model.ToolCallPart:
		var in map[string]json.RawMessage
		if json.Unmarshal(p.Input, &in) != nil {
			return p
		}
		for k, v := range in {
			if len(v) > 200 {
				in[k] = json.RawMessage(fmt.Sprintf("%q", fmt.Sprintf("[%d bytes left the context]", len(v))))
			}
		}
		if raw, err := json.Marshal(in); err == nil {
			p.Input = raw
		}
	}
	return p
}

// contextSize estimates the tokens of the next request: what the provider
// counted last, and what came since; or all of it, estimated.
func (t *turn) contextSize(log []entry) int64 {
	var size int64
	var at int
	_ = t.s.do(func(st *state) { size, at = st.size, st.sizedAt })
	if size > 0 && at <= len(log) {
		return size + estimate(log[at:])
	}
	return t.estimated(log)
}

// estimated is all of the next request by estimate.
func (t *turn) estimated(log []entry) int64 {
	return int64(float64(len(t.s.prefix)+len(t.recall.Text))/bytesPerToken) + estimate(log)
}

func estimate(log []entry) int64 {
	n := 0
	for _, e := range log {
		if msg, in := e.inContext(); in {
			for _, p := range msg.Parts {
				n += len(p.Text) + len(p.Input) + len(p.Signature)
			}
		}
	}
	return int64(float64(n) / bytesPerToken)
}

// compact shortens the context if it is due.
func (t *turn) compact() {
	log := t.s.history()
	size := t.contextSize(log)
	if size < t.s.m.compactAt {
		return
	}
	// What is taken out is counted by estimate, so the aim is too: a text may have
	// more tokens a byte than the estimate has, and all of it would be dropped.
	over := float64(size-t.s.m.compactTo) / float64(size) * float64(t.estimated(log))
	c := compaction{log: log, turn: t.n, over: int64(over), paths: map[workspace.Path]bool{}}
	c.shorten()
	c.drop()
	if c.parts == 0 && c.dropped == 0 {
		return
	}
	_ = t.s.do(func(st *state) { st.log, st.size, st.sizedAt = c.log, 0, 0 })
	var left []workspace.Path
	for p := range c.paths {
		left = append(left, p)
	}
	sort.Slice(left, func(i, j int) bool { return left[i] < left[j] })
	t.s.guard.Compacted(left...)
	t.tell(c.report(t.s, left))
	t.notice(fmt.Sprintf("the conversation was long: %d earlier results and %d messages left the model's context (%d files)", c.parts, c.dropped, len(left)))
}

// compaction is one pass over a copy of the transcript.
type compaction struct {
	log     []entry
	turn    int
	over    int64 // tokens still to save
	parts   int
	dropped int
	paths   map[workspace.Path]bool // files whose content left
	prompts []string
}

// shorten takes the bodies out of old results and calls, oldest first.
func (c *compaction) shorten() {
	for i := 0; i < len(c.log)-keepLast && c.over > 0; i++ {
		e := c.log[i]
		if e.gone || e.kind == fromHuman || e.kind == fromEngine {
			continue
		}
		short := map[int]bool{}
		for k := range e.short {
			short[k] = true
		}
		for k, p := range e.msg.Parts {
			if short[k] || len(p.Text)+len(p.Input) < shortAbove || (p.Kind != model.ToolResultPart && p.Kind != model.ToolCallPart) {
				continue
			}
			s := shortened(p)
			saved := len(p.Text) + len(p.Input) - len(s.Text) - len(s.Input)
			if saved <= 0 {
				continue
			}
			short[k] = true
			c.over -= int64(float64(saved) / bytesPerToken)
			c.parts++
			for _, path := range e.shows[k] {
				c.paths[path] = true
			}
		}
		e.short = short
		c.log[i] = e
	}
}

// drop takes whole messages away, oldest first, a model's message always
// together with the results of its calls. The running turn's prompt stays.
func (c *compaction) drop() {
	for i := 0; i < len(c.log)-keepLast && c.over > 0; i++ {
		e := c.log[i]
		if e.gone || (e.turn == c.turn && e.kind == fromHuman) {
			continue
		}
		if e.kind == fromModel && hasCalls(e) && i+1 >= len(c.log)-keepLast {
			return // its results are among what stays
		}
		c.over -= estimate(c.log[i : i+1])
		if e.kind == fromHuman {
			c.prompts = append(c.prompts, firstLine(e.msg.Parts[0].Text, 200))
		}
		for _, paths := range e.shows {
			for _, p := range paths {
				c.paths[p] = true
			}
		}
		e.gone = true
		c.log[i] = e
		c.dropped++
		if e.kind == fromModel && hasCalls(e) { // whatever the size, both or none
			c.over = max(c.over, 1)
		}
	}
}

func hasCalls(e entry) bool {
	for _, p := range e.msg.Parts {
		if p.Kind == model.ToolCallPart {
			return true
		}
	}
	return false
}

// report names to the model what left.
func (c *compaction) report(s *Session, left []workspace.Path) string {
	const most = 60
	var b strings.Builder
	b.WriteString("The conversation grew long, so older parts of it left your context.")
	if len(c.prompts) > 0 {
		b.WriteString(" Earlier requests of the user, which were dealt with:")
		for _, p := range c.prompts[max(0, len(c.prompts)-20):] {
			b.WriteString("\n- " + p)
		}
	}
	if len(left) > 0 {
		b.WriteString("\nContent of these files is no longer in view. Bases that you still see are valid; read what you need again:")
		for i, p := range left {
			if i == most {
				fmt.Fprintf(&b, "\n- and %d more", len(left)-most)
				break
			}
			b.WriteString("\n- " + s.m.display(p))
		}
	}
	return b.String()
}

func (m *Manager) display(p workspace.Path) string {
	if name, err := m.o.Workspace.Resolve("", string(p)); err == nil {
		return name.Display
	}
	return string(p)
}
