package guard

import (
	"context"
	"fmt"
)

// Preview is what a change would do, for a person who is asked about it.
type Preview struct {
	Display string // the path, as people see it
	To      string // ChangeMove
	Kind    ChangeKind
	Create  bool   // nothing is there yet
	Diff    string // unified, without file headers, bounded; "" when it cannot be told
	// Refusal is set when the change would be refused as things stand.
	Refusal *Result
}

// Preview works out what changes would do to the files as they are now, each for
// itself. It writes nothing, runs no formatter and takes no lock: what it says is
// for people, and Apply decides anew.
func (s *Session) Preview(ctx context.Context, changes []Change) []Preview {
	var out []Preview
	for _, c := range changes {
		t := s.tasks(nil, false, []Change{c})[0]
		t.set.PostWrite = nil
		if t.refusal == nil {
			t.prepare(ctx)
		}
		p := Preview{Display: t.name.Display, To: t.to.Display, Kind: t.kind, Create: t.plan.create}
		if t.refused() {
			p.Refusal = ptr(t.results()[0])
		} else {
			p.Diff = t.previewDiff()
		}
		out = append(out, p)
	}
	return out
}

func (t *task) previewDiff() string {
	before, after := t.plan.src, t.plan.after
	switch t.kind {
	case ChangeMove:
		return ""
	case ChangeDelete:
		before, after = t.plan.file.Truth(), nil
	}
	diff, cut := unified(before, after)
	if cut > 0 {
		diff += fmt.Sprintf("(%d lines more)\n", cut)
	}
	return diff
}
