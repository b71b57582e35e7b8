package guard

import (
	"context"
	"errors"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// maxReplans bounds how often a call is planned anew because the file moved
// between plan and lock without becoming stale.
const maxReplans = 5

// errRaced: the file was not any more what it was under the lock; nothing was
// written, and the check must say what happened.
var errRaced = errors.New("the file changed while it was being written")

// Apply carries out the changes of one call, or of a batch of adjacent edit
// calls on one path with one base. Results come in the order of changes. With
// allOrNone nothing is written unless everything can be. Beliefs about what it
// wrote are updated when it returns.
func (s *Session) Apply(ctx context.Context, o []Origin, allOrNone bool, changes []Change) []Result {
	out := make([]Result, len(changes))
	list := s.tasks(o, allOrNone, changes)
	if allOrNone {
		s.run(ctx, list)
	} else {
		for _, t := range list {
			s.run(ctx, []*task{t})
		}
	}
	for _, t := range list {
		for i, r := range t.results() {
			out[t.index[i]] = r
		}
	}
	return out
}

// run brings tasks to their end, all of them or none.
func (s *Session) run(ctx context.Context, list []*task) {
	for _, t := range list {
		if t.refusal != nil { // by its path: a call that names a bad path writes nothing
			s.prepareOthers(ctx, list)
			return
		}
	}
	for range maxReplans {
		if s.prepareAll(ctx, list) {
			return
		}
		unlock, err := s.g.locks.lock(ctx, lockWait, allPaths(list)...)
		if err != nil {
			refuseAll(list, lockResult(err))
			return
		}
		again := s.commitAll(ctx, list)
		unlock()
		if !again {
			return
		}
	}
	refuseAll(list, func(t *task) Result {
		return refuse(StatusBusy, t.name.Display, t.name.Display+" keeps changing while it is being written. Nothing was written.", "try again in a moment")
	})
}

// prepareAll plans every task; true means that a refusal ends the call.
func (s *Session) prepareAll(ctx context.Context, list []*task) bool {
	bad := false
	for _, t := range list {
		t.prepare(ctx)
		bad = bad || t.refused() || len(list) > 1 && len(t.live()) < len(t.changes)
	}
	return bad
}

// prepareOthers lets a call that is refused for one path name every other that
// is stale too.
func (s *Session) prepareOthers(ctx context.Context, list []*task) {
	for _, t := range list {
		if t.refusal == nil {
			t.prepare(ctx)
		}
	}
}

func allPaths(list []*task) []workspace.Path {
	var out []workspace.Path
	for _, t := range list {
		out = append(out, t.paths()...)
	}
	return out
}

func refuseAll(list []*task, why func(*task) Result) {
	for _, t := range list {
		t.refuse(why(t))
	}
}

func lockResult(err error) func(*task) Result {
	return func(t *task) Result {
		if errors.Is(err, errLockTimeout) {
			return refuse(StatusBusy, t.name.Display, t.name.Display+" is being written: "+err.Error()+". Nothing was written.", "try again in a moment")
		}
		return cancelledResult(t.name.Display, err)
	}
}

// commitAll is the part under the locks: view again, and when every file is
// still what it was planned on, commit one after the other. It reports whether
// the call must be planned anew.
func (s *Session) commitAll(ctx context.Context, list []*task) (again bool) {
	for _, t := range list {
		if !t.unmoved(ctx) {
			return true
		}
	}
	for i, t := range list {
		err := t.commit(ctx)
		if err == nil {
			continue
		}
		kept := rollBack(ctx, list[:i])
		if errors.Is(err, errRaced) && len(kept) == 0 {
			return true
		}
		if errors.Is(err, errRaced) {
			t.refuse(refuse(StatusBusy, t.name.Display, t.name.Display+" changed while it was being written; it was not written.", "re-read it and send the rest again"))
		}
		return false
	}
	return false
}

// unmoved views the file again under the lock. The check need not be made again
// when nothing that it looks at has changed.
func (t *task) unmoved(ctx context.Context) bool {
	was := t.plan.file
	f, err := t.s.g.ws.View(ctx, t.name)
	if err != nil {
		return false
	}
	b, known := t.s.belief(t.name.Path)
	if known != t.plan.known || b.Text != t.plan.belief.Text || b.Doubt != t.plan.belief.Doubt {
		return false
	}
	f = effective(b, known, f)
	if (f.Buffer == nil) != (was.Buffer == nil) || f.Disk.Exists != was.Disk.Exists || f.Disk.Digest != was.Disk.Digest ||
		f.Disk.ReadOnly != was.Disk.ReadOnly || f.Disk.Err != nil {
		return false
	}
	if f.Buffer != nil {
		a, b := f.Buffer, was.Buffer
		if a.Digest != b.Digest || a.Dirty != b.Dirty || a.OwnUnsaved != b.OwnUnsaved || a.Different != b.Different || a.Pair != b.Pair || a.Unsure != b.Unsure {
			return false
		}
	}
	t.plan.file = f // the version may have grown
	return true
}

// rollBack takes earlier commits of a failed call back, in reverse, each only
// if the file still holds what this call put there. It returns those that stay.
func rollBack(ctx context.Context, done []*task) (kept []*task) {
	ctx = context.WithoutCancel(ctx)
	for i := len(done) - 1; i >= 0; i-- {
		t := done[i]
		if t.undo == nil {
			continue
		}
		if err := t.undo(ctx); err != nil {
			kept = append(kept, t)
			for j := range t.applied {
				t.applied[j].Note = "another file of this call failed, and this one could not be taken back, because it was changed meanwhile: it stays applied"
			}
			continue
		}
		t.applied, t.undo = nil, nil
	}
	return kept
}
