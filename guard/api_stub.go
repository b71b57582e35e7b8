package guard

import (
	"context"
	"time"

	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Options wire a Guard. Only Workspace and StateDir are needed.
type Options struct {
	Workspace *workspace.Workspace
	// StateDir is $STELLA_HOME; displaced/ lies in it.
	StateDir string
	Editor   Editor        // nil: no client
	Syntax   SyntaxChecker // nil: none
	Recorder Recorder      // nil: pre-images go to the displaced store only
	Clock    func() time.Time
	// Settings is asked at each write.
	Settings func() config.Guard
	// Formatters reports whether post_write formatters may run (trust).
	Formatters func() bool
	// Changed is called after a belief was made, dropped or changed its state;
	// it must not block.
	Changed func(session string, files []Guarded)
	// Tell puts a message before the human (a raced write, a recovered file).
	Tell func(message string)
}

// Guard is the part that sessions share: path locks, the commit engine, the
// displaced store. It holds no belief.
type Guard struct{}

func New(o Options) (*Guard, error) { panic("todo") }

// Recover looks at intents left by a crash, before any session writes; it
// returns what was rescued, for people.
func (g *Guard) Recover(ctx context.Context) ([]string, error) { panic("todo") }

// Close waits for parked files and ends.
func (g *Guard) Close(ctx context.Context) error { panic("todo") }

// Session is one session's belief map and the way it writes.
func (g *Guard) Session(id, root string) *Session { panic("todo") }

// Session is safe for concurrent use.
type Session struct{}

// Deliver makes beliefs of what a call showed, once its result is in the
// transcript. Order matters and is the caller's.
func (s *Session) Deliver(obs ...Observation) { panic("todo") }

// Apply carries out the changes of one call, or of a batch of adjacent edit
// calls on one path with one base. Results come in the order of changes. With
// allOrNone nothing is written unless everything can be. Beliefs about what it
// wrote are updated when it returns.
func (s *Session) Apply(ctx context.Context, o []Origin, allOrNone bool, changes []Change) []Result {
	panic("todo")
}

// Check is the guard check alone, for tools without a base: nil when nothing
// stands against changing path.
func (s *Session) Check(ctx context.Context, spelled string) *Result { panic("todo") }

// Bracket digests the believed paths and the open buffers; the function it
// returns digests them again, makes what changed stale with "during detail" as
// the cause, and returns those paths for the tool's result.
func (s *Session) Bracket(ctx context.Context, detail string) func(context.Context) []Guarded {
	panic("todo")
}

// Files are the guarded files with their present state.
func (s *Session) Files(ctx context.Context, withDiff bool) []Guarded { panic("todo") }

// Stale returns the files that went stale since the last call, each told once,
// for the notice at a step boundary.
func (s *Session) Stale(ctx context.Context) []Guarded { panic("todo") }

// Compacted forgets which lines were seen of the files whose content left the
// transcript; digests stay.
func (s *Session) Compacted(paths ...workspace.Path) { panic("todo") }

// Snapshot and Restore serve the work record. Restore replaces, never merges.
func (s *Session) Snapshot() []Belief                                    { panic("todo") }
func (s *Session) Restore(beliefs []Belief)                              { panic("todo") }
func (s *Session) Unavailable(reason string)                             { panic("todo") } // every existing file is guard_unavailable until Restore
func (s *Session) Edits() []EditRecord                                   { panic("todo") }
func (s *Session) Content(editID string) (before, after []byte, ok bool) { panic("todo") }

// Belief is what a session saw at one path.
type Belief struct {
	Path      workspace.Path   `json:"path"`
	Display   string           `json:"display"`
	Text      workspace.Digest `json:"text"`           // of what was delivered or written
	Disk      workspace.Digest `json:"disk,omitempty"` // of the disk, as far as it was shown
	Source    string           `json:"source"`         // buffer, disk
	Version   int32            `json:"version,omitempty"`
	Blob      []byte           `json:"-"` // up to 1 MiB, for the diff; nil: too large
	Lines     int              `json:"lines"`
	Seen      [][2]int         `json:"seen,omitempty"` // 1-based, inclusive, ascending, joined
	Whole     bool             `json:"whole"`
	Step      int              `json:"step"`
	Tool      string           `json:"tool"`
	SeenAt    time.Time        `json:"seenAt"`
	Seq       uint64           `json:"-"` // journal position when it was made
	EditsDone int              `json:"edits,omitempty"`
}
