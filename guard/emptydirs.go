package guard

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"
)

// sweepAfter is when a directory that still holds a parked file is tried again;
// the engine parks for a little more than a second.
const sweepAfter = 2 * time.Second

// emptyDirs removes directories that a create or a move made and that an undo
// leaves empty. A file that was removed from one is parked there for a moment,
// so it may take a second try, and the last one is made when the guard closes.
type emptyDirs struct {
	mu   sync.Mutex // guards list
	list []string   // outermost first
}

// remove takes dirs, outermost first, away while they are empty.
func (e *emptyDirs) remove(dirs []string) {
	if len(dirs) == 0 || removeDirs(dirs) {
		return
	}
	e.mu.Lock()
	e.list = append(e.list, dirs...)
	e.mu.Unlock()
	time.AfterFunc(sweepAfter, e.sweep)
}

func (e *emptyDirs) sweep() {
	e.mu.Lock()
	dirs := e.list
	e.list = nil
	e.mu.Unlock()
	removeDirs(dirs) // what is not empty now holds somebody's file
}

// removeDirs reports whether all are gone.
func removeDirs(dirs []string) bool {
	all := true
	for _, d := range slices.Backward(dirs) {
		if err := os.Remove(d); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = false
		}
	}
	return all
}
