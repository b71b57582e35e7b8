package guard

import (
	"context"
	"slices"
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Files are the guarded files with their present state, in path order.
func (s *Session) Files(ctx context.Context, withDiff bool) []Guarded {
	var out []Guarded
	for _, b := range s.Snapshot() {
		if ctx.Err() != nil {
			break
		}
		out = append(out, s.guarded(ctx, b, withDiff))
	}
	return out
}

// guarded is the present state of one belief.
func (s *Session) guarded(ctx context.Context, b Belief, withDiff bool) Guarded {
	row := Guarded{Path: b.Path, Display: b.Display, Session: s.id, State: Fresh, SeenAt: b.SeenAt.Format(time.RFC3339)}
	r := s.check(ctx, s.g.ws.NameOf(b.Path), withDiff)
	if r != nil {
		row.State = Stale
		row.ChangedBy = r.ChangedBy
		if len(row.ChangedBy) == 0 {
			row.ChangedBy = []string{r.Message} // unreadable, not measurable
		}
		if withDiff {
			row.Diff = r.Diff
		}
	}
	s.mu.Lock()
	if s.writing[b.Path] > 0 {
		row.State = Writing
	}
	s.mu.Unlock()
	return row
}

// Stale returns the files that went stale since the last call, each told once,
// for the notice at a step boundary. A file that became fresh again may be told
// again later.
func (s *Session) Stale(ctx context.Context) []Guarded {
	var out []Guarded
	for _, row := range s.Files(ctx, true) {
		s.mu.Lock()
		told := s.told[row.Path]
		switch {
		case row.State == Fresh:
			delete(s.told, row.Path)
		case row.State == Stale && !told:
			s.told[row.Path] = true
			out = append(out, row)
		}
		s.mu.Unlock()
	}
	return out
}

// mark counts writes in progress on a path.
func (s *Session) mark(p workspace.Path, n int) {
	s.mu.Lock()
	s.writing[p] += n
	if s.writing[p] <= 0 {
		delete(s.writing, p)
	}
	s.mu.Unlock()
	if n > 0 {
		s.announce(p, Writing)
	}
}

// announce tells Changed about a state that the session knows without looking;
// an empty state says that the belief is gone.
func (s *Session) announce(p workspace.Path, st FileState) {
	b, known := s.belief(p)
	if !known && st != "" && st != Writing {
		st = ""
	}
	s.mu.Lock()
	wasWriting := s.announced[p] == Writing
	same := s.announced[p] == st && st != Fresh
	if st == "" {
		_, had := s.announced[p]
		same = !had
		delete(s.announced, p)
	} else {
		s.announced[p] = st
	}
	s.mu.Unlock()
	if wasWriting && st != Writing {
		defer s.g.watch.again(p)
	}
	if same {
		return
	}
	row := Guarded{Path: p, Display: b.Display, Session: s.id, State: st}
	if known {
		row.SeenAt = b.SeenAt.Format(time.RFC3339)
	} else {
		row.Display = s.g.ws.NameOf(p).Display
	}
	s.g.o.Changed(s.id, []Guarded{row})
}

// Bracket digests the believed paths and the open buffers; the function it
// returns digests them again, makes what changed stale with "during detail" as
// the cause, and returns those paths for the tool's result. Paths that only
// other sessions believe are looked at too, so that those are told who it was.
func (s *Session) Bracket(ctx context.Context, detail string) func(context.Context) []Guarded {
	ws := s.g.ws
	before := map[workspace.Path]workspace.File{}
	look := func(n workspace.Name) {
		if f, err := ws.View(ctx, n); err == nil {
			before[n.Path] = f
		}
	}
	for _, b := range s.Snapshot() {
		look(ws.NameOf(b.Path))
	}
	for _, d := range ws.Documents() {
		if _, done := before[d.Name.Path]; !done {
			look(d.Name)
		}
	}
	others := map[workspace.Path]bool{}
	for _, o := range s.g.all() {
		if o == s {
			continue
		}
		for _, b := range o.Snapshot() {
			if _, done := before[b.Path]; !done {
				look(ws.NameOf(b.Path))
				others[b.Path] = true
			}
		}
	}
	return func(ctx context.Context) []Guarded {
		var out []Guarded
		paths := make([]workspace.Path, 0, len(before))
		for p := range before {
			paths = append(paths, p)
		}
		slices.Sort(paths)
		for _, p := range paths {
			if row, moved := s.movedDuring(ctx, before[p], detail); moved && !others[p] {
				out = append(out, row)
			}
		}
		return out
	}
}

// quietTime bounds Quiet: past it a late writer keeps a displaced file in use.
const quietTime = 3 * time.Second

// Quiet returns when no displaced file of an earlier write stands in the
// workspace any more, which takes a second: a program that is started now could
// list it, and a "git add -A" right after an edit would commit it.
func (s *Session) Quiet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, quietTime)
	defer cancel()
	s.g.disk.quiet(ctx)
}

// movedDuring names what happened to one file while a tool ran.
func (s *Session) movedDuring(ctx context.Context, was workspace.File, detail string) (Guarded, bool) {
	ws, p := s.g.ws, was.Name.Path
	now, err := ws.View(ctx, was.Name)
	if err != nil || now.Disk.Err != nil || now.Disk.Digest == was.Disk.Digest {
		return Guarded{}, false
	}
	during := workspace.Cause{Kind: workspace.DuringTool, Session: s.id, Detail: detail}
	// What this server knows to have been written by somebody else keeps its name.
	causes := ws.Causes(p, workspace.State{Disk: was.Disk.Digest}, workspace.State{Disk: now.Disk.Digest}, was.Seq)
	if len(causes) == 0 || hasOutside(causes) {
		ws.RecordDisk(p, was.Disk.Digest, now.Disk.Digest, during)
	}
	if now.Buffer != nil && now.Buffer.Dirty && now.Buffer.Pair.Disk != now.Disk.Digest {
		s.g.watch.suspect(p)
	}
	b, known := s.belief(p)
	if !known {
		return Guarded{Path: p, Display: was.Name.Display, Session: s.id, State: Stale, ChangedBy: []string{causeText(s.id, during)}}, true
	}
	row := s.guarded(ctx, b, true)
	s.announce(p, row.State)
	return row, row.State == Stale
}
