package record

import (
	"path/filepath"
	"slices"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// A session's beliefs and edits name files by absolute paths. When its workspace
// is moved they are still about the same files, so what is loaded names them
// where they are now; Header.Places says where they were.

// at notes in h that the session is written while the workspace is at place.
func (h *Header) at(place string) {
	if n := len(h.Places); n == 0 || h.Places[n-1] != place {
		h.Places = append(slices.Clone(h.Places), place)
	}
}

// Now is where a file of the loaded session is now that was at path when it was
// recorded. It is the same path unless the workspace was moved.
func (l *Loaded) Now(path string) string {
	if path == "" || within(l.store.place, path) {
		return path
	}
	places := l.Places
	if len(places) == 0 {
		places = []string{l.Root} // a record from before places were kept
	}
	for _, old := range slices.Backward(places) {
		if old == "" || old == l.store.place {
			continue
		}
		if rel, ok := workspace.Below(old, path); ok {
			return filepath.Join(l.store.place, rel)
		}
	}
	return path
}

// relocate makes beliefs, edits and root name what they are about by its present
// path. Names in edits are recorded as they were, and loaded as they are now.
func (l *Loaded) relocate() {
	for i := range l.Beliefs {
		l.Beliefs[i].Path = workspace.Path(l.Now(string(l.Beliefs[i].Path)))
	}
	for i := range l.Edits {
		e := &l.Edits[i]
		e.Path, e.To = workspace.Path(l.Now(string(e.Path))), l.Now(e.To)
		for k, dir := range e.CreatedDirs {
			e.CreatedDirs[k] = l.Now(dir)
		}
	}
	l.Root = l.Now(l.Root)
}
