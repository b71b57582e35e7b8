package lsp

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"go.lsp.dev/protocol"
)

// clientLog is a slog.Handler that writes to the process's own handler and, once
// a client is there, to window/logMessage. It never waits: a client that reads
// slowly misses lines. Records carry no file contents, prompts or keys; that is
// the callers' duty and the reason why nothing here logs parameters.
type clientLog struct {
	next    slog.Handler
	attrs   string
	verbose atomic.Bool
	client  atomic.Pointer[client]
	parent  *clientLog // set in copies made by WithAttrs
}

func (l *clientLog) root() *clientLog {
	if l.parent != nil {
		return l.parent
	}
	return l
}

func (l *clientLog) attach(c *client) { l.client.Store(c) }

// Enabled lets debug records through only where someone asked for them.
func (l *clientLog) Enabled(ctx context.Context, level slog.Level) bool {
	return l.next.Enabled(ctx, level) || level >= slog.LevelInfo || l.root().verbose.Load()
}

func (l *clientLog) Handle(ctx context.Context, r slog.Record) error {
	var err error
	if l.next.Enabled(ctx, r.Level) {
		err = l.next.Handle(ctx, r)
	}
	c := l.root().client.Load()
	if c == nil || (r.Level < slog.LevelInfo && !l.root().verbose.Load()) {
		return err
	}
	var text strings.Builder
	text.WriteString(r.Message + l.attrs)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "stack" { // stderr has it
			fmt.Fprintf(&text, " %s=%v", a.Key, a.Value)
		}
		return true
	})
	c.offer(protocol.MethodWindowLogMessage, &protocol.LogMessageParams{Type: messageType(r.Level), Message: text.String()})
	return err
}

func (l *clientLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	text := l.attrs
	for _, a := range attrs {
		text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
	}
	return &clientLog{next: l.next.WithAttrs(attrs), attrs: text, parent: l.root()}
}

func (l *clientLog) WithGroup(name string) slog.Handler {
	return &clientLog{next: l.next.WithGroup(name), attrs: l.attrs, parent: l.root()}
}

func messageType(level slog.Level) protocol.MessageType {
	switch {
	case level >= slog.LevelError:
		return protocol.MessageTypeError
	case level >= slog.LevelWarn:
		return protocol.MessageTypeWarning
	case level >= slog.LevelInfo:
		return protocol.MessageTypeInfo
	default:
		return protocol.MessageTypeLog
	}
}
