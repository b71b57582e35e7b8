package agent

import (
	"strings"
	"sync"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/internal/secret"
)

// listener turns a model's events into updates. After close it is deaf: a model
// that was left behind may go on talking.
type listener struct {
	t *turn

	mu     sync.Mutex // guards all below
	text   strings.Builder
	masks  map[UpdateKind]*secret.Stream
	last   UpdateKind
	closed bool
}

func (l *listener) on(ev model.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	switch ev.Kind {
	case model.EventText:
		l.text.WriteString(ev.Text)
		l.piece(UpdateText, ev.Text)
	case model.EventThinking:
		l.piece(UpdateThinking, ev.Text)
	case model.EventRetry:
		l.flush()
		l.text.Reset() // the answer begins anew
		l.t.notice(ev.Text)
	}
}

// piece sends what of a streamed text can be shown without its mask slipping.
func (l *listener) piece(kind UpdateKind, text string) {
	if kind != l.last {
		l.flush()
	}
	l.last = kind
	if l.masks == nil {
		l.masks = map[UpdateKind]*secret.Stream{}
	}
	if l.masks[kind] == nil {
		l.masks[kind] = &secret.Stream{}
	}
	if out := l.masks[kind].Next(text); out != "" {
		l.t.update(Update{Kind: kind, Text: out})
	}
}

func (l *listener) flush() {
	if m := l.masks[l.last]; m != nil {
		if out := m.Flush(); out != "" {
			l.t.update(Update{Kind: l.last, Text: out})
		}
	}
}

// close sends what is left and returns the text of the answer so far.
func (l *listener) close() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.flush()
		l.closed = true
	}
	return l.text.String()
}
