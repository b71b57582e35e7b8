package guard

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// lockWait bounds how long a call waits for another write of this process on
// the same path. A write holds its lock for an editor's round trip at most.
const lockWait = 15 * time.Second

var errLockTimeout = errors.New("another write of this server on the file did not end in time")

// pathLocks serialises writes on one path within this process. They are held
// from View to the end of the write and never while a person, a model, a
// formatter or a hook is waited for; document events never take one.
type pathLocks struct {
	mu sync.Mutex // guards m
	m  map[workspace.Path]*pathLock
}

type pathLock struct {
	token chan struct{} // holds one element while the lock is free
	users int           // holders and waiters
}

// lock takes all paths, in one order for everybody, or none.
func (l *pathLocks) lock(ctx context.Context, wait time.Duration, paths ...workspace.Path) (unlock func(), err error) {
	paths = slices.Clone(paths)
	slices.Sort(paths)
	paths = slices.Compact(paths)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var held []workspace.Path
	release := func() {
		for _, p := range slices.Backward(held) {
			l.release(p)
		}
	}
	for _, p := range paths {
		k := l.enter(p)
		select {
		case <-k.token:
			held = append(held, p)
		case <-timer.C:
			err = errLockTimeout
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			l.leave(p)
			release()
			return nil, err
		}
	}
	return sync.OnceFunc(release), nil
}

func (l *pathLocks) enter(p workspace.Path) *pathLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.m == nil {
		l.m = map[workspace.Path]*pathLock{}
	}
	k := l.m[p]
	if k == nil {
		k = &pathLock{token: make(chan struct{}, 1)}
		k.token <- struct{}{}
		l.m[p] = k
	}
	k.users++
	return k
}

func (l *pathLocks) leave(p workspace.Path) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.m[p]; k != nil {
		if k.users--; k.users == 0 {
			delete(l.m, p)
		}
	}
}

func (l *pathLocks) release(p workspace.Path) {
	l.mu.Lock()
	l.m[p].token <- struct{}{}
	l.mu.Unlock()
	l.leave(p)
}
