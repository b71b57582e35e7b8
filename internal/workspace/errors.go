package workspace

import "errors"

// Reasons of a PathError, beside those of io/fs.
var (
	ErrOutside    = errors.New("is outside the workspace")
	ErrAmbiguous  = errors.New("means a file in more than one root")
	ErrUnreadable = errors.New("cannot be read")
	ErrDirectory  = errors.New("is a directory")
	ErrNotRegular = errors.New("is not a regular file")
	ErrTooLarge   = errors.New("is too large")
	ErrBadPath    = errors.New("is not a path")
)

// PathError says what failed on which path and what to do about it.
type PathError struct {
	Op   string // "resolve", "view", "change"
	Path string // as people know it
	Err  error
	Hint string
}

func (e *PathError) Error() string {
	s := e.Path + ": " + e.Err.Error()
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

func (e *PathError) Unwrap() error { return e.Err }
