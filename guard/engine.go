package guard

import (
	"context"
	"errors"
	"io/fs"

	"github.com/stella-ls/stella-ls/guard/commit"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// engine is the commit engine as a diskCommitter.
type engine struct{ e *commit.Engine }

func openEngine(g *Guard) (diskCommitter, error) {
	e, err := commit.New(commit.Options{StateDir: g.o.StateDir, Clock: g.o.Clock, Tell: g.o.Tell, OnRace: g.raced, Fault: g.o.Fault})
	if err != nil {
		return nil, err
	}
	return engine{e}, nil
}

// raced hears of a write by another program that reached the file after a
// commit of ours had ended, through a descriptor of the file before it.
func (g *Guard) raced(r commit.Race) {
	p := workspace.Path(r.Path)
	if !r.Restored {
		return // the engine told the human; at the path nothing changed
	}
	g.ws.RecordDisk(p, r.Ours, r.Theirs, workspace.Cause{Kind: workspace.Outside})
	for _, s := range g.all() {
		if b, known := s.belief(p); known && (b.Text == r.Ours || b.Disk == r.Ours) {
			s.doubt(p, "another program wrote the file at the same moment; its version is at the path, and yours was taken back")
		}
	}
}

func (e engine) replace(ctx context.Context, n workspace.Name, expect workspace.Digest, candidate []byte) (committed, error) {
	return adapt(e.e.Replace(ctx, commit.Request{Path: string(n.Path), Root: n.Root, Expect: expect, Candidate: candidate}))
}

func (e engine) create(ctx context.Context, n workspace.Name, content []byte) (committed, error) {
	return adapt(e.e.Create(ctx, commit.Request{Path: string(n.Path), Root: n.Root, Candidate: content}))
}

func (e engine) remove(ctx context.Context, n workspace.Name, expect workspace.Digest) (committed, error) {
	return adapt(e.e.Delete(ctx, commit.Request{Path: entry(n), Root: n.Root, Expect: expect}))
}

func (e engine) move(ctx context.Context, n workspace.Name, expect workspace.Digest, to workspace.Name) (committed, error) {
	return adapt(e.e.Move(ctx, commit.Request{Path: entry(n), Root: n.Root, Expect: expect, To: entry(to), ToRoot: to.Root}))
}

// entry is the directory entry itself: a link, not its target.
func entry(n workspace.Name) string {
	if n.Link != "" {
		return n.Link
	}
	return string(n.Path)
}

func (e engine) keep(n workspace.Name, why string, content []byte, mode fs.FileMode) error {
	_, err := e.e.Displaced().Add(string(n.Path), why, content, mode)
	return err
}

func (e engine) recover(ctx context.Context) ([]string, error) {
	list, err := e.e.Recover(ctx)
	var out []string
	for _, r := range list {
		s := r.Path + ": " + r.What
		if r.Entry != nil {
			s += " (stella-ls recover restore " + r.Entry.ID + ")"
		}
		out = append(out, s)
	}
	return out, err
}

func (e engine) quiet(ctx context.Context) { e.e.Quiet(ctx) }

func (e engine) close(ctx context.Context) error { return e.e.Close(ctx) }

// adapt turns the engine's errors into the few that a task tells apart.
func adapt(r commit.Result, err error) (committed, error) {
	done := committed{mode: r.Mode, createdDirs: r.CreatedDirs, warnings: r.Warnings}
	var (
		raced *commit.RacedError
		stale *commit.StaleError
	)
	switch {
	case err == nil:
		return done, nil
	case errors.As(err, &raced):
		s := &staleDisk{}
		for _, e := range raced.Displaced {
			s.displaced = append(s.displaced, e.ID)
		}
		return done, s
	case errors.As(err, &stale):
		return done, &staleDisk{}
	case errors.Is(err, commit.ErrBusy):
		return done, errBusy
	case errors.Is(err, commit.ErrReadOnly):
		return done, errReadOnly
	case errors.Is(err, commit.ErrExists):
		return done, errExists
	}
	return done, err
}
