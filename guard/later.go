package guard

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// laterDisk stands for an engine whose state directory cannot be written now: no
// file can be changed safely without it, and everything else goes on. Each call
// tries again, since somebody may make room, or give the right.
type laterDisk struct {
	open func() (diskCommitter, error)

	mu     sync.Mutex // guards what follows; held while the engine is opened
	engine diskCommitter
	closed bool
}

func (l *laterDisk) get() (diskCommitter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.engine != nil {
		return l.engine, nil
	}
	if l.closed {
		return nil, context.Canceled
	}
	e, err := l.open()
	if err != nil {
		return nil, fmt.Errorf("the state directory of Stella cannot be written, and without it no write is safe: %w", err)
	}
	l.engine = e
	return e, nil
}

func (l *laterDisk) replace(ctx context.Context, n workspace.Name, expect workspace.Digest, candidate []byte) (committed, error) {
	e, err := l.get()
	if err != nil {
		return committed{}, err
	}
	return e.replace(ctx, n, expect, candidate)
}

func (l *laterDisk) create(ctx context.Context, n workspace.Name, content []byte) (committed, error) {
	e, err := l.get()
	if err != nil {
		return committed{}, err
	}
	return e.create(ctx, n, content)
}

func (l *laterDisk) remove(ctx context.Context, n workspace.Name, expect workspace.Digest) (committed, error) {
	e, err := l.get()
	if err != nil {
		return committed{}, err
	}
	return e.remove(ctx, n, expect)
}

func (l *laterDisk) move(ctx context.Context, n workspace.Name, expect workspace.Digest, to workspace.Name) (committed, error) {
	e, err := l.get()
	if err != nil {
		return committed{}, err
	}
	return e.move(ctx, n, expect, to)
}

func (l *laterDisk) keep(n workspace.Name, why string, content []byte, mode fs.FileMode) error {
	e, err := l.get()
	if err != nil {
		return err
	}
	return e.keep(n, why, content, mode)
}

func (l *laterDisk) recover(ctx context.Context) ([]string, error) {
	e, err := l.get()
	if err != nil {
		return nil, err
	}
	return e.recover(ctx)
}

// quiet opens nothing: what was never opened has left nothing behind.
func (l *laterDisk) quiet(ctx context.Context) {
	l.mu.Lock()
	e := l.engine
	l.mu.Unlock()
	if e != nil {
		e.quiet(ctx)
	}
}

func (l *laterDisk) close(ctx context.Context) error {
	l.mu.Lock()
	e := l.engine
	l.closed = true
	l.mu.Unlock()
	if e == nil {
		return nil
	}
	return e.close(ctx)
}
