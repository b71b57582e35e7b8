package fakemodel

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/agent/model/script"
)

// frame is one server-sent event.
type frame struct {
	event string // empty: no event line, as OpenAI has it
	data  string
	// hold is a gate to wait at before this frame.
	hold string
	// last marks the frame after which a fault inside a call stops the stream.
	last bool
}

// stream writes frames with the oddities and faults of one entry.
type stream struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	ctx    context.Context
	engine *script.Engine
	reply  *script.Reply
	left   int // bytes until a fault stops the stream; -1 is no limit
}

func newStream(w http.ResponseWriter, ctx context.Context, e *script.Engine, r *script.Reply) *stream {
	s := &stream{w: w, rc: http.NewResponseController(w), ctx: ctx, engine: e, reply: r, left: -1}
	if r.Fault != nil && r.Fault.After != nil {
		s.left = *r.Fault.After
	}
	return s
}

// send writes everything; a fault, a gone client or a closed server ends it early.
func (s *stream) send(frames []frame, broken frame) {
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("Cache-Control", "no-cache")
	s.w.WriteHeader(http.StatusOK)
	if s.rc.Flush() != nil || s.engine.Hold(s.ctx, s.reply.Wait) != nil {
		return
	}
	for i, f := range frames {
		if f.hold != "" && s.engine.Hold(s.ctx, f.hold) != nil {
			return
		}
		if s.reply.PaceMS > 0 && !s.rest() {
			return
		}
		if !s.write(s.odd(i, len(frames)) + s.render(f)) {
			s.stop(broken)
			return
		}
		if f.last {
			s.stop(broken)
			return
		}
	}
}

func (s *stream) rest() bool {
	t := time.NewTimer(time.Duration(s.reply.PaceMS) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// odd is what the entry wants put before frame i of n.
func (s *stream) odd(i, n int) string {
	var b strings.Builder
	w := s.reply.Wire
	named := func(event, data string) {
		b.WriteString(s.render(frame{event: event, data: data}))
	}
	if i == 0 || i >= n {
		return ""
	}
	if w.Ping {
		b.WriteString(s.eol(": keep-alive\n\n"))
		named("ping", `{"type":"ping"}`)
	}
	if w.Unknown {
		named("content_block_sparkle", `{"type":"content_block_sparkle","index":0,"sparkle":{"text":"not for you"}}`)
	}
	if w.BadJSON && i == n/2 {
		named("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":`)
	}
	return b.String()
}

func (s *stream) render(f frame) string {
	var b strings.Builder
	if f.event != "" {
		b.WriteString("event: " + f.event + "\n")
	}
	data := f.data
	if s.reply.Wire.Extra && strings.HasPrefix(data, "{") {
		data = `{"x_unknown":{"nested":[1,"two"]},` + data[1:]
	}
	b.WriteString("data: " + data + "\n\n")
	return s.eol(b.String())
}

func (s *stream) eol(text string) string {
	if s.reply.Wire.CRLF {
		return strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// write sends text in the wanted pieces; false when a fault's limit was met or
// the client is gone.
func (s *stream) write(text string) bool {
	cut := s.left >= 0 && len(text) >= s.left
	if cut {
		text = text[:s.left]
	}
	if s.left > 0 {
		s.left -= len(text)
	}
	size := s.reply.Wire.Split
	if size <= 0 {
		size = max(len(text), 1)
	}
	for len(text) > 0 {
		n := min(size, len(text))
		if _, err := io.WriteString(s.w, text[:n]); err != nil {
			return false
		}
		if s.rc.Flush() != nil {
			return false
		}
		text = text[n:]
	}
	return !cut
}

// stop ends the stream the way the fault says.
func (s *stream) stop(broken frame) {
	if s.reply.Fault == nil {
		return // the client is gone
	}
	switch s.reply.Fault.How {
	case script.HowClose, script.HowFinish:
	case script.HowHang:
		<-s.ctx.Done()
	case script.HowError:
		s.left = -1
		s.write(s.render(broken))
	default:
		panic(http.ErrAbortHandler) // net/http's way to reset a connection
	}
}

// pieces cuts a text into what one event carries each, never inside a
// character: a wire format's strings are whole Unicode.
func pieces(text string, size int) []string {
	if size <= 0 {
		size = 24
	}
	var out []string
	start, n := 0, 0
	for i := range text {
		if n == size {
			out = append(out, text[start:i])
			start, n = i, 0
		}
		n++
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// inputs lays one call's input out in pieces. stopped is true when the entry's
// fault ends the stream after the last of them.
func inputs(r *script.Reply, call int) (list []string, stopped bool) {
	text := r.Calls[call].Input
	if r.Wire.ASCII {
		text = script.ASCII(text)
	}
	if f := r.Fault; f != nil && f.InCall != nil && call == 0 {
		if *f.InCall < len(text) {
			text = strings.ToValidUTF8(text[:*f.InCall], "")
		}
		stopped = f.How != script.HowFinish
	}
	return pieces(text, r.Wire.Delta), stopped
}

func encode(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // only plain maps and strings come here
	}
	return strings.TrimSuffix(b.String(), "\n")
}
