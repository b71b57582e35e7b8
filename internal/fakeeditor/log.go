package fakeeditor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// Direction is who sent a message.
type Direction string

const (
	Sent     Direction = "->" // editor to server
	Received Direction = "<-" // server to editor
	Note     Direction = "##" // what the person did
)

// Record is one message of the transcript.
type Record struct {
	Dir    Direction
	ID     string
	Method string // empty for answers
	Params json.RawMessage
	Error  *RPCError
}

// log keeps every message in order.
type log struct {
	mu      sync.Mutex
	records []Record
	bell    chan struct{} // closed and replaced with every record
}

func newLog() *log { return &log{bell: make(chan struct{})} }

func (l *log) add(dir Direction, m message) {
	r := Record{Dir: dir, ID: string(m.ID), Method: m.Method, Params: m.Params, Error: m.Error}
	if m.Method == "" {
		r.Params = m.Result
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, r)
	close(l.bell)
	l.bell = make(chan struct{})
}

func (l *log) from(at int) ([]Record, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.records[min(at, len(l.records)):], l.bell
}

// Records are all messages so far.
func (e *Editor) Records() []Record {
	r, _ := e.log.from(0)
	return r
}

// Remark puts a line of the person's doings into the transcript.
func (e *Editor) Remark(format string, args ...any) {
	e.log.add(Note, message{Method: fmt.Sprintf(format, args...)})
}

// Await returns the first record, from number at on, for which ok holds, and
// the number after it. It waits until ctx ends or the server is gone.
func (e *Editor) Await(ctx context.Context, at int, ok func(Record) bool) (Record, int, error) {
	gone := e.conn.done
	for {
		records, bell := e.log.from(at)
		for i, r := range records {
			if ok(r) {
				return r, at + i + 1, nil
			}
		}
		at += len(records)
		select {
		case <-bell:
		case <-gone:
			if records, _ = e.log.from(at); len(records) == 0 {
				return Record{}, at, ErrGone
			}
		case <-ctx.Done():
			return Record{}, at, context.Cause(ctx)
		}
	}
}

// Transcript renders every message, one a line, long values cut to limit bytes.
func (e *Editor) Transcript(limit int) string {
	var b strings.Builder
	for _, r := range e.Records() {
		b.WriteString(r.String(limit))
		b.WriteByte('\n')
	}
	return b.String()
}

// String renders a record on one line.
func (r Record) String(limit int) string {
	body := string(r.Params)
	if r.Error != nil {
		body = "error " + r.Error.Error()
	}
	if len(body) > limit {
		body = fmt.Sprintf("%s... (%d bytes)", body[:limit], len(body))
	}
	name := r.Method
	if name == "" {
		name = "answer"
	}
	if r.ID != "" {
		name += " #" + r.ID
	}
	return strings.TrimRight(fmt.Sprintf("%s %s %s", r.Dir, name, body), " ")
}
