package guard

import (
	"context"
	"errors"

	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// task is what one call, or one batch of calls, wants of one path. It is planned
// without a lock, planned anew when the file moved in between, and committed
// under the path's lock.
type task struct {
	s       *Session
	index   []int // of changes, in the caller's order
	changes []Change
	origins []Origin
	kind    ChangeKind
	name    workspace.Name
	to      workspace.Name // ChangeMove
	set     config.Guard

	alone   []*Result // a change's own refusal, beside others that go ahead
	refusal *Result   // nothing of this task goes ahead
	applied []Result  // set when committed, one for each change

	plan plan
	undo func(context.Context) error // takes the commit back, if it is still ours
}

// plan is what a task would do to the file as it was viewed.
type plan struct {
	file   workspace.File
	belief Belief
	known  bool
	route  route
	under  workspace.Digest // the clean buffer's text beneath which the disk is written; see Belief.Under
	src    []byte           // content that is changed: the buffer's text or the disk's bytes
	form   textForm         // of src
	spans  []located
	whole  bool   // all of the content is the caller's
	create bool   // nothing is there
	plain  string // new body as the caller wants it
	after  []byte // new content, formatters included
	final  string // its body

	hookErr string
	broken  string
	same    bool // nothing would change
}

// route is where a change is carried out.
type route int

const (
	onDisk      route = iota // closed
	inEditor                 // compare-and-set on the buffer
	underEditor              // open and clean, in an editor that takes no edits: on disk, the editor reloads
)

// refuse ends the task with r for all its changes.
func (t *task) refuse(r Result) { t.refusal = &r }

func (t *task) refused() bool {
	if t.refusal != nil {
		return true
	}
	for _, r := range t.alone {
		if r == nil {
			return false
		}
	}
	return true
}

// results are in the order of t.changes.
func (t *task) results() []Result {
	out := make([]Result, len(t.changes))
	for i := range out {
		switch {
		case t.refusal != nil:
			out[i] = *t.refusal
		case t.alone[i] != nil:
			out[i] = *t.alone[i]
		case t.applied != nil:
			out[i] = t.applied[i]
		default:
			out[i] = Result{
				Status: StatusCancelled, Path: t.name.Display,
				Message: t.name.Display + " was not written, because another file of the same call was refused.",
				Next:    "resolve the refusal of the other file and send the whole call again",
			}
		}
	}
	return out
}

// live are the positions in t.changes that go ahead.
func (t *task) live() []int {
	var out []int
	for i := range t.changes {
		if t.alone[i] == nil {
			out = append(out, i)
		}
	}
	return out
}

// paths are what the task locks.
func (t *task) paths() []workspace.Path {
	p := []workspace.Path{t.name.Path}
	if t.kind == ChangeMove {
		p = append(p, t.to.Path)
	}
	return p
}

// tasks sorts changes into one task for each path, or for each run of edits on
// one path with one base. A change that cannot be read has its refusal already.
func (s *Session) tasks(o []Origin, allOrNone bool, changes []Change) []*task {
	set := s.g.o.Settings()
	var list []*task
	for i, c := range changes {
		t := &task{s: s, index: []int{i}, changes: []Change{c}, origins: []Origin{originOf(o, i)}, kind: c.Kind, set: set, alone: make([]*Result, 1)}
		t.resolve()
		if prev := batchMate(list, t, allOrNone); prev != nil {
			prev.index = append(prev.index, i)
			prev.changes = append(prev.changes, c)
			prev.origins = append(prev.origins, t.origins[0])
			prev.alone = append(prev.alone, nil)
			continue
		}
		list = append(list, t)
	}
	if allOrNone {
		refuseRepeated(list)
	}
	return list
}

func originOf(o []Origin, i int) Origin {
	switch {
	case i < len(o):
		return o[i]
	case len(o) > 0:
		return o[len(o)-1]
	}
	return Origin{}
}

// batchMate is the task that t joins: the one before it, or with all-or-none
// any, when both are edits of one path planned against one base.
func batchMate(list []*task, t *task, anywhere bool) *task {
	if t.refusal != nil || t.kind != ChangeEdit {
		return nil
	}
	for i := len(list) - 1; i >= 0; i-- {
		p := list[i]
		if p.refusal == nil && p.kind == ChangeEdit && p.name.Path == t.name.Path && p.changes[0].Base == t.changes[0].Base {
			return p
		}
		if !anywhere {
			break
		}
	}
	return nil
}

// refuseRepeated: all or none of a call that wants two different things of one path.
func refuseRepeated(list []*task) {
	seen := map[workspace.Path]*task{}
	for _, t := range list {
		if t.refusal != nil {
			continue
		}
		for _, p := range t.paths() {
			if other := seen[p]; other != nil {
				r := refuse(StatusInvalid, t.name.Display, t.name.Display+" is named twice in one call, with different bases or different kinds of change. Nothing was written.",
					"name each file once")
				t.refuse(r)
				other.refuse(r)
			}
			seen[p] = t
		}
	}
}

// resolve reads the paths of a fresh task.
func (t *task) resolve() {
	c := t.changes[0]
	n, err := t.s.resolve(c.Path)
	if err != nil {
		t.name.Display = c.Path
		t.refuse(pathResult(c.Path, err))
		return
	}
	t.name = n
	switch c.Kind {
	case ChangeEdit, ChangeWrite, ChangeDelete:
	case ChangeMove:
		if t.to, err = t.s.resolve(c.To); err != nil {
			t.refuse(pathResult(c.To, err))
			return
		}
		if !t.to.Inside() {
			t.refuse(outside(t.to))
			return
		}
	default:
		t.refuse(refuse(StatusInvalid, n.Display, "unknown kind of change "+string(c.Kind)+". Nothing was written.", "use edit, write, delete or move"))
		return
	}
	if !n.Inside() {
		t.refuse(outside(n))
	}
}

// cancelledResult is for a call whose context ended before anything was written.
func cancelledResult(display string, err error) Result {
	why := "was cancelled"
	if errors.Is(err, context.DeadlineExceeded) {
		why = "ran out of time"
	}
	return refuse(StatusCancelled, display, "The change of "+display+" "+why+". Nothing was written.", "send it again if it is still wanted")
}
