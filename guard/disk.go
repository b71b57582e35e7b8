package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// diskCommitter is what the guard needs of the commit engine (guard/commit).
// Every method compares what is at the path with expect in the same motion as
// it writes, and leaves nothing of the candidate behind when it fails.
type diskCommitter interface {
	// replace puts candidate where bytes of digest expect are.
	replace(ctx context.Context, n workspace.Name, expect workspace.Digest, candidate []byte) (committed, error)
	// create makes a file that must not exist, and its directories.
	create(ctx context.Context, n workspace.Name, content []byte) (committed, error)
	// remove deletes the directory entry n.Link: a file of digest expect, or a
	// symbolic link, whose target is left alone.
	remove(ctx context.Context, n workspace.Name, expect workspace.Digest) (committed, error)
	// move renames n.Link to to, where nothing may be.
	move(ctx context.Context, n workspace.Name, expect workspace.Digest, to workspace.Name) (committed, error)
	// keep stores content that a change is about to take away, durably.
	keep(n workspace.Name, why string, content []byte, mode fs.FileMode) error
	recover(ctx context.Context) ([]string, error)
	// quiet waits until no temporary of the engine is in the workspace.
	quiet(ctx context.Context)
	close(ctx context.Context) error
}

// committed says how a commit was done.
type committed struct {
	mode        string
	createdDirs []string
	warnings    []string
}

var (
	errBusy     = errors.New("another program is writing it")
	errReadOnly = errors.New("it is read-only")
	errExists   = errors.New("something is there already")
)

// staleDisk: the path did not hold what the change was planned against.
type staleDisk struct {
	displaced []string // entries of the displaced store: versions of others that passed through our hands
}

func (e *staleDisk) Error() string {
	if len(e.displaced) > 0 {
		return fmt.Sprintf("it was written by another program at the same moment (kept: %v)", e.displaced)
	}
	return "it changed in the meantime"
}
