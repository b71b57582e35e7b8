package guard

import (
	"context"
	"slices"
	"sync"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Session is one session's belief map and the way it writes. It is safe for
// concurrent use; what it says about one file is ordered by that file's lock.
type Session struct {
	g      *Guard
	id     string
	root   string
	chosen bool // root was chosen: relative paths are nowhere else

	// mu guards what follows. It is held for memory only.
	mu          sync.Mutex
	beliefs     map[workspace.Path]Belief
	blobBytes   int
	past        map[workspace.Path][]Belief // earlier knowledge, for refusals of old bases; newest last
	pastBytes   int
	unavailable string
	writing     map[workspace.Path]int
	told        map[workspace.Path]bool      // went stale and was told
	announced   map[workspace.Path]FileState // last state given to Changed
	edits       editLog
}

// Bounds of what one session keeps.
const (
	maxBlobs    = 64 << 20 // content of beliefs, bytes
	maxPast     = 16       // earlier beliefs of one path
	maxPastBlob = 16 << 20 // content of earlier beliefs, bytes
)

func newSession(g *Guard, id, root string) *Session {
	return &Session{
		g: g, id: id, root: root,
		beliefs: map[workspace.Path]Belief{}, past: map[workspace.Path][]Belief{},
		writing: map[workspace.Path]int{}, told: map[workspace.Path]bool{},
		announced: map[workspace.Path]FileState{},
	}
}

// ID is the session's name.
func (s *Session) ID() string { return s.id }

// Deliver makes beliefs of what a call showed, once its result is in the
// transcript. Order matters and is the caller's.
func (s *Session) Deliver(obs ...Observation) {
	var changed []workspace.Path
	for _, o := range obs {
		p := o.File.Name.Path
		if o.Gone || !o.File.Exists() {
			s.drop(p)
		} else {
			old, known := s.belief(p)
			s.put(s.observe(old, known, o))
		}
		if n := len(changed); n == 0 || changed[n-1] != p {
			changed = append(changed, p)
		}
	}
	for _, p := range changed {
		s.announce(p, Fresh)
	}
}

func (s *Session) belief(p workspace.Path) (Belief, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.beliefs[p]
	return b, ok
}

// put replaces the belief of b.Path.
func (s *Session) put(b Belief) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.beliefs[b.Path]; ok {
		s.blobBytes -= len(old.Blob)
		if old.Text != b.Text {
			s.remember(old)
		}
	}
	s.blobBytes += len(b.Blob)
	s.beliefs[b.Path] = b
	delete(s.told, b.Path)
	if s.blobBytes > maxBlobs {
		s.letGo(b.Path)
	}
}

// letGo drops contents, the longest unseen first; digests and ranges stay.
func (s *Session) letGo(keep workspace.Path) {
	list := make([]Belief, 0, len(s.beliefs))
	for _, b := range s.beliefs {
		if b.Blob != nil && b.Path != keep {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b Belief) int { return a.SeenAt.Compare(b.SeenAt) })
	for _, b := range list {
		if s.blobBytes <= maxBlobs*3/4 {
			return
		}
		s.blobBytes -= len(b.Blob)
		b.Blob = nil
		s.beliefs[b.Path] = b
	}
}

// remember keeps an earlier belief. s.mu is held.
func (s *Session) remember(b Belief) {
	list := slices.DeleteFunc(s.past[b.Path], func(o Belief) bool {
		if o.Text == b.Text {
			s.pastBytes -= len(o.Blob)
		}
		return o.Text == b.Text
	})
	if s.pastBytes+len(b.Blob) > maxPastBlob {
		b.Blob = nil
	}
	s.pastBytes += len(b.Blob)
	if len(list) == maxPast {
		s.pastBytes -= len(list[0].Blob)
		list = list[1:]
	}
	s.past[b.Path] = append(list, b)
}

// pastBase finds the newest earlier belief that base names.
func (s *Session) pastBase(p workspace.Path, base workspace.Digest) (Belief, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range slices.Backward(s.past[p]) {
		if b.Text == base || b.Joined && b.Disk == base {
			b.Doubt = ""
			return b, true
		}
	}
	return Belief{}, false
}

func (s *Session) drop(p workspace.Path) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked(p)
}

func (s *Session) dropLocked(p workspace.Path) {
	s.blobBytes -= len(s.beliefs[p].Blob)
	delete(s.beliefs, p)
	delete(s.told, p)
	for _, b := range s.past[p] {
		s.pastBytes -= len(b.Blob)
	}
	delete(s.past, p)
}

// doubt makes the belief of p stale: nobody can say whether a write took effect.
func (s *Session) doubt(p workspace.Path, why string) {
	s.mu.Lock()
	b, ok := s.beliefs[p]
	if ok {
		b.Doubt = why
		s.beliefs[p] = b
	}
	s.mu.Unlock()
	if ok {
		s.announce(p, Stale)
	}
}

// resolve reads a path as the session's model spells it.
func (s *Session) resolve(spelled string) (workspace.Name, error) {
	if s.chosen {
		return s.g.ws.ResolveIn(s.root, spelled)
	}
	return s.g.ws.Resolve(s.root, spelled)
}

// Check is the guard check alone, for tools without a base: nil when nothing
// stands against changing path.
func (s *Session) Check(ctx context.Context, spelled string) *Result {
	n, err := s.resolve(spelled)
	if err != nil {
		return nil // not a path of ours: the tool's own affair
	}
	return s.check(ctx, n, true)
}

// check views the file and judges it; nil is fresh, or not flagged.
func (s *Session) check(ctx context.Context, n workspace.Name, withDiff bool) *Result {
	b, known := s.belief(n.Path)
	why := s.whyUnavailable()
	if !known && why == "" {
		return nil
	}
	f, err := s.g.ws.View(ctx, n)
	if err != nil {
		r := pathResult(n.Display, err)
		return &r
	}
	if !known { // unavailable is about files not read since
		if !f.Exists() {
			return nil
		}
		r := unavailableResult(n.Display, why)
		return &r
	}
	f = effective(b, known, f)
	switch v := judge(b, f, s.g.ws); {
	case v == unmeasurable:
		r := unmeasured(f)
		return &r
	case v.stale():
		r := s.staleResult(b, v, f, "", withDiff)
		return &r
	}
	return nil
}

func unmeasured(f workspace.File) Result {
	if f.Buffer.Unsure != "" {
		r := unavailableResult(f.Name.Display, "the editor's text of it is not sure: "+f.Buffer.Unsure)
		r.Next = "ask the person to save or reopen " + f.Name.Display + ", then re-read it" // the same text would be read again
		return r
	}
	return pathResult(f.Name.Display, f.Disk.Err)
}

func unavailableResult(display, why string) Result {
	return refuse(StatusGuardUnavailable, display, "refusing to write: the guard cannot tell what "+display+" holds: "+why+". Nothing was written.",
		"re-read "+display+"; if that does not help, ask the person to save or reopen it")
}

func (s *Session) whyUnavailable() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unavailable
}

// Compacted forgets which lines were seen of the files whose content left the
// transcript; digests stay.
func (s *Session) Compacted(paths ...workspace.Path) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range paths {
		if b, ok := s.beliefs[p]; ok {
			s.beliefs[p] = b.withSeen(nil)
		}
	}
}

// Snapshot returns the beliefs in path order, for the work record.
func (s *Session) Snapshot() []Belief {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Belief, 0, len(s.beliefs))
	for _, b := range s.beliefs {
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b Belief) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	})
	return out
}

// Restore replaces the map by what a record holds; it never merges. A record
// that could not be read goes to Unavailable instead, and Restore ends that.
func (s *Session) Restore(beliefs []Belief) {
	s.mu.Lock()
	s.beliefs, s.past = map[workspace.Path]Belief{}, map[workspace.Path][]Belief{}
	s.told, s.announced = map[workspace.Path]bool{}, map[workspace.Path]FileState{}
	s.blobBytes, s.pastBytes, s.unavailable = 0, 0, ""
	for _, b := range beliefs {
		b.Seq, b.restored = 0, true
		b.Seen = ranges(nil).join(b.Seen).clip(b.Lines)
		b.Whole = ranges(b.Seen).covers(1, b.Lines)
		s.beliefs[b.Path] = b
		s.blobBytes += len(b.Blob)
	}
	s.mu.Unlock()
	for _, b := range beliefs { // so that people see what a resumed session guards
		s.g.watch.again(b.Path)
	}
}

// Unavailable makes every existing file guard_unavailable until Restore, or
// until that file is read: its record could not be.
func (s *Session) Unavailable(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unavailable = reason
}
