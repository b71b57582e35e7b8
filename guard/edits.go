package guard

import (
	"slices"
	"strconv"
	"strings"
)

// maxEditBytes bounds the pre- and post-images kept in memory; older ones are in
// the record only.
const maxEditBytes = 64 << 20

// editLog is the session's applied edits. Guarded by Session.mu.
type editLog struct {
	list  []EditRecord // images of old ones are nil
	count int          // edits numbered so far
	bytes int
}

func editID(n int) string { return "e" + strconv.Itoa(n) }

// editNumber is k of "edit #k".
func editNumber(id string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(id, "e"))
	return n
}

// nextEdits reserves numbers for n edits and returns the first.
func (s *Session) nextEdits(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.edits.count + 1
	s.edits.count += n
	return first
}

// keep adds an applied edit.
func (s *Session) keep(e EditRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.edits
	l.list = append(l.list, e)
	l.bytes += len(e.Before) + len(e.After)
	for i := 0; l.bytes > maxEditBytes && i < len(l.list)-1; i++ {
		l.bytes -= len(l.list[i].Before) + len(l.list[i].After)
		l.list[i].Before, l.list[i].After = nil, nil
	}
}

// Edits are the applied edits, oldest first. The oldest may be without images:
// then only the record has them.
func (s *Session) Edits() []EditRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.edits.list)
}

// RestoreEdits puts back what a record holds, so that numbers go on.
func (s *Session) RestoreEdits(list []EditRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edits = editLog{list: slices.Clone(list)}
	for _, e := range list {
		s.edits.bytes += len(e.Before) + len(e.After)
		s.edits.count = max(s.edits.count, editNumber(e.ID))
	}
}

// Content gives both images of an edit; ok is false when it is not known, or
// its images were let go.
func (s *Session) Content(editID string) (before, after []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.edits.list {
		if e.ID == editID {
			ok = (e.Before != nil || e.BeforeAbsent) && (e.After != nil || e.AfterAbsent)
			return e.Before, e.After, ok
		}
	}
	return nil, nil, false
}
