package lsp

import (
	"context"
	"sort"
	"sync"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

func (s *Server) guardRoutes(t table) {
	request(t, MethodGuardFiles, normal, s.guardFiles)
}

func (s *Server) guardFiles(ctx context.Context, p *GuardFilesParams) (GuardFilesResult, error) {
	m, err := s.sessions(ctx)
	if err != nil {
		return GuardFilesResult{}, err
	}
	files, err := m.Files(ctx, p.SessionID, true)
	if err != nil {
		return GuardFilesResult{}, sessionError(err)
	}
	out := GuardFilesResult{Files: []GuardedFile{}}
	for _, f := range files {
		out.Files = append(out.Files, s.guardedOut(f))
	}
	return out, nil
}

type guardedKey struct {
	session string
	path    workspace.Path
}

// statusFeed turns the guard's news into stella/guard/status: only what changed,
// with totals, sent at once when nothing is being sent and merged otherwise. It
// runs on a goroutine of its own, so neither a keystroke nor a write waits for it.
type statusFeed struct {
	s    *Server
	wake chan struct{}

	mu      sync.Mutex // guards what follows
	states  map[guardedKey]guard.FileState
	changed map[guardedKey]guard.Guarded
}

func newStatusFeed(s *Server) *statusFeed {
	return &statusFeed{
		s: s, wake: make(chan struct{}, 1),
		states: map[guardedKey]guard.FileState{}, changed: map[guardedKey]guard.Guarded{},
	}
}

// push takes news and never blocks. A state that is none of the three means that
// the file is no longer guarded: it leaves the totals and is not listed.
func (f *statusFeed) push(session string, files []guard.Guarded) {
	f.mu.Lock()
	for _, g := range files {
		k := guardedKey{session, g.Path}
		g.Session = session
		switch g.State {
		case guard.Fresh, guard.Stale, guard.Writing:
			f.states[k] = g.State
		default:
			delete(f.states, k)
		}
		f.changed[k] = g
	}
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// staleIn are the sessions for which a file is stale.
func (f *statusFeed) staleIn(p workspace.Path) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for k, state := range f.states {
		if k.path == p && state == guard.Stale {
			out = append(out, k.session)
		}
	}
	sort.Strings(out)
	return out
}

func (f *statusFeed) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
			if p, ok := f.take(); ok {
				f.s.client.notify(MethodGuardStatus, p)
			}
		}
	}
}

// take returns the news since the last call.
func (f *statusFeed) take() (GuardStatusParams, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.changed) == 0 {
		return GuardStatusParams{}, false
	}
	p := GuardStatusParams{Files: []GuardedFile{}}
	for k, g := range f.changed {
		if _, guarded := f.states[k]; guarded {
			p.Files = append(p.Files, f.s.guardedOut(g))
		}
	}
	clear(f.changed)
	sort.Slice(p.Files, func(i, j int) bool {
		a, b := p.Files[i], p.Files[j]
		return a.URI < b.URI || a.URI == b.URI && a.SessionID < b.SessionID
	})
	for _, state := range f.states {
		switch state {
		case guard.Stale:
			p.Stale++
		default:
			p.Fresh++
		}
	}
	return p, true
}
