package commit

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// breakSignal is the real-time signal by which the kernel tells that somebody
// wants to open a leased file in a way that the lease forbids. Go installs its
// handler for all of them; glibc keeps 32 and 33 (musl 34) for itself.
const breakSignal = syscall.Signal(44)

// errNoLease: leases cannot be had here (another owner's file, a file system
// without them, another operating system).
var errNoLease = errors.New("no lease")

type leaseKind int

const (
	readLease  leaseKind = unix.F_RDLCK // holds back writers
	writeLease leaseKind = unix.F_WRLCK // holds back readers and writers
)

// takeLease tries once. ErrBusy: somebody has the file open in a conflicting way.
func takeLease(f *os.File, k leaseKind) error {
	if lacking.lease.Load() {
		return errNoLease
	}
	fd := f.Fd()
	// The owner is set to the process first: by default the kernel signals the
	// thread that asked, and Go's threads come and go.
	unix.FcntlInt(fd, unix.F_SETOWN, os.Getpid())
	unix.FcntlInt(fd, unix.F_SETSIG, int(breakSignal))
	_, err := unix.FcntlInt(fd, unix.F_SETLEASE, int(k))
	switch err {
	case nil:
		return nil
	case unix.EAGAIN:
		return ErrBusy
	default:
		return errNoLease
	}
}

// leaseHolds reports whether the lease is there and nobody waits for its end.
func leaseHolds(f *os.File, k leaseKind) bool {
	v, err := unix.FcntlInt(f.Fd(), unix.F_GETLEASE, 0)
	return err == nil && v == int(k)
}

// dropLease lets waiting openers in.
func dropLease(f *os.File) { unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK) }

// leaseWithin retries a busy lease until wait is over.
func leaseWithin(ctx context.Context, f *os.File, k leaseKind, wait time.Duration) error {
	end := time.Now().Add(wait)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		err := takeLease(f, k)
		if err != ErrBusy || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// breaks tells each holder of a lease that one of this process's leases was
// broken. The signal carries a descriptor, but Go's os/signal does not pass it
// on, and signals merge: so every holder looks at its own (F_GETLEASE).
var breaks breakWatch

type breakWatch struct {
	once sync.Once
	mu   sync.Mutex // guards subs
	subs map[chan struct{}]struct{}
}

// watch returns a channel that gets a value after each break signal.
func (w *breakWatch) watch() (c chan struct{}, stop func()) {
	w.once.Do(w.start)
	c = make(chan struct{}, 1)
	w.mu.Lock()
	w.subs[c] = struct{}{}
	w.mu.Unlock()
	return c, func() {
		w.mu.Lock()
		delete(w.subs, c)
		w.mu.Unlock()
	}
}

func (w *breakWatch) start() {
	w.subs = map[chan struct{}]struct{}{}
	sig := make(chan os.Signal, 1) // a full channel already means "look"
	// SIGIO is what the kernel falls back to when the queue of real-time signals is full.
	signal.Notify(sig, breakSignal, syscall.SIGIO)
	go func() { // lives as long as the process, like the handler that feeds it
		for range sig {
			w.mu.Lock()
			for c := range w.subs {
				select {
				case c <- struct{}{}:
				default:
				}
			}
			w.mu.Unlock()
		}
	}()
}
