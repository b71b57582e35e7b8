package commit

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"
)

const (
	defaultPark      = 1200 * time.Millisecond // a displaced file stays leased this long (design: at least 1 s)
	defaultMaxParked = 512                     // two descriptors each
	leaseWait        = 100 * time.Millisecond  // how long a writer may keep the file open before the call is busy
	settleWait       = 30 * time.Second        // how long a late writer may keep a parked file open
	maxAttempts      = 8                       // fresh starts of one call before it is busy
)

// Options configure an Engine. Only StateDir is needed.
type Options struct {
	// StateDir holds displaced/ and intents/; it is created owner-only.
	StateDir string
	Clock    func() time.Time // stamps displaced entries; nil: time.Now
	// Tell puts a message before a person. It must not block.
	Tell func(message string)
	// OnRace hears of writes that arrived after a successful commit. It is called
	// on the engine's own goroutine and must not call the engine.
	OnRace func(Race)
	// MaxParked bounds the files that are kept parked at once; a commit that would
	// need one more waits for a place. 0 means 512. Each holds two descriptors.
	MaxParked int
	// Fault is called between any two effects on the disk; tests stop, race or
	// die there. Nil does nothing.
	Fault func(point string)
}

// Engine commits changes to disk. It is safe for concurrent use; calls on one
// path are carried out one after the other.
type Engine struct {
	opt     Options
	store   *Displaced
	intents *intents
	locks   keyed

	slots  chan struct{}  // one per parked file: the bound on their number
	beside tally          // parked files, which stand beside what replaced them
	wg     sync.WaitGroup // one per parked file
	abort  chan struct{}  // closed when Close stops waiting for parked files
	mu     sync.Mutex     // guards closed
	closed bool

	park time.Duration
	hook func(point string) // Options.Fault
}

// New opens the state directory and takes an instance of the intent record.
func New(o Options) (*Engine, error) { return newEngine(o, defaultPark) }

func newEngine(o Options, park time.Duration) (*Engine, error) {
	if o.StateDir == "" {
		return nil, errors.New("commit: Options.StateDir is empty")
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.MaxParked <= 0 {
		o.MaxParked = defaultMaxParked
	}
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	if o.OnRace == nil {
		o.OnRace = func(Race) {}
	}
	if o.Fault == nil {
		o.Fault = func(string) {}
	}
	store, err := OpenDisplaced(filepath.Join(o.StateDir, "displaced"), o.Clock)
	if err != nil {
		return nil, err
	}
	in, err := openIntents(filepath.Join(o.StateDir, "intents"))
	if err != nil {
		return nil, err
	}
	return &Engine{
		opt: o, store: store, intents: in,
		slots: make(chan struct{}, o.MaxParked),
		abort: make(chan struct{}),
		park:  park,
		hook:  o.Fault,
	}, nil
}

// Displaced is the store of versions that were pushed aside.
func (e *Engine) Displaced() *Displaced { return e.store }

// Close waits for the parked files. When ctx ends first they are left where they
// are, with their intents: the next start looks at them.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.mu.Unlock()
	done := make(chan struct{})
	go func() { e.wg.Wait(); close(done) }()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
		close(e.abort)
		<-done
	}
	return errors.Join(err, e.intents.close())
}

// enter counts a call, so that Close waits for it; leave ends it.
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	e.wg.Add(1)
	return nil
}

func (e *Engine) leave() { e.wg.Done() }

// begin is the common start of a call: counted, and alone on its path.
func (e *Engine) begin(ctx context.Context, op, path string) (end func(), err error) {
	if err := e.enter(); err != nil {
		return nil, &PathError{op, path, err}
	}
	unlock, err := e.locks.lock(ctx, path)
	if err != nil {
		e.leave()
		return nil, &PathError{op, path, err}
	}
	return func() { unlock(); e.leave() }, nil
}

// keyed is a set of mutexes by name that can be waited for with a context.
type keyed struct {
	mu sync.Mutex // guards m
	m  map[string]*keyedLock
}

type keyedLock struct {
	ch   chan struct{}
	refs int
}

func (k *keyed) lock(ctx context.Context, key string) (unlock func(), err error) {
	k.mu.Lock()
	if k.m == nil {
		k.m = map[string]*keyedLock{}
	}
	l := k.m[key]
	if l == nil {
		l = &keyedLock{ch: make(chan struct{}, 1)}
		k.m[key] = l
	}
	l.refs++
	k.mu.Unlock()
	drop := func() {
		k.mu.Lock()
		if l.refs--; l.refs == 0 {
			delete(k.m, key)
		}
		k.mu.Unlock()
	}
	select {
	case l.ch <- struct{}{}:
		return func() { <-l.ch; drop() }, nil
	case <-ctx.Done():
		drop()
		return nil, ctx.Err()
	}
}
