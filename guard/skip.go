package guard

// SkipEdits makes the number of the next edit greater than last, so that an
// edit of a resumed session never takes the id of one that was given up.
func (s *Session) SkipEdits(last int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edits.count = max(s.edits.count, last)
}
