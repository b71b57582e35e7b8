package lsp

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// outboxLimit is how many bytes may wait for a client that reads slowly. What
// comes after waits with its sender (a session's stream, an answer); what must
// not wait (log lines, error replies of the read loop) is dropped.
const outboxLimit = 64 << 20

var errClientGone = errors.New("the client no longer reads")

// outbox is the queue between everything that sends and the one goroutine that
// writes. Frames leave in the order in which they were put.
type outbox struct {
	w      io.Writer
	room   *semaphore.Weighted
	wake   chan struct{} // capacity 1
	gone   chan struct{} // closed when writing failed or close was called
	done   chan struct{} // closed when run has returned
	broken func(error)

	mu     sync.Mutex // guards what follows
	queue  []parcel
	closed bool
}

// parcel is a frame, or with written set the question when all before it left.
type parcel struct {
	frame   []byte
	written chan<- struct{}
}

func newOutbox(w io.Writer, broken func(error)) *outbox {
	return &outbox{
		w: w, room: semaphore.NewWeighted(outboxLimit), wake: make(chan struct{}, 1),
		gone: make(chan struct{}), done: make(chan struct{}), broken: broken,
	}
}

// run writes until close or a write error.
func (o *outbox) run() {
	defer close(o.done)
	for {
		p, ok := o.next()
		switch {
		case !ok:
			select {
			case <-o.wake:
			case <-o.gone:
				return
			}
		case p.written != nil:
			close(p.written)
		default:
			if _, err := o.w.Write(p.frame); err != nil {
				o.close()
				o.broken(err)
				return
			}
			o.room.Release(weight(p.frame))
		}
	}
}

func (o *outbox) next() (parcel, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		o.queue = nil
		return parcel{}, false
	}
	p := o.queue[0]
	o.queue[0] = parcel{}
	o.queue = o.queue[1:]
	return p, true
}

// put queues frame, waiting for room when the client is far behind.
func (o *outbox) put(ctx context.Context, frame []byte) error {
	if !o.room.TryAcquire(weight(frame)) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			select {
			case <-o.gone:
				stop()
			case <-ctx.Done():
			}
		}()
		if err := o.room.Acquire(ctx, weight(frame)); err != nil {
			return errClientGone
		}
	}
	return o.enqueue(parcel{frame: frame})
}

// tryPut queues frame if there is room, and never waits.
func (o *outbox) tryPut(frame []byte) bool {
	return o.room.TryAcquire(weight(frame)) && o.enqueue(parcel{frame: frame}) == nil
}

func (o *outbox) enqueue(p parcel) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return errClientGone
	}
	o.queue = append(o.queue, p)
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// flush waits until everything queued so far was written, but no longer than d.
func (o *outbox) flush(d time.Duration) {
	written := make(chan struct{})
	if o.enqueue(parcel{written: written}) != nil {
		return
	}
	select {
	case <-written:
	case <-o.done:
	case <-time.After(d):
	}
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		close(o.gone)
	}
}

func weight(frame []byte) int64 { return int64(min(len(frame), outboxLimit)) }
