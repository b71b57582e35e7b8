package workspace

import (
	"fmt"
	"io"
)

// ReadDisk reads the bytes of one regular file for bulk work such as indexing,
// up to limit. It does not look at open buffers, journals nothing and remembers
// nothing: what decides about a write asks View.
func (w *Workspace) ReadDisk(p Path, limit int64) ([]byte, error) {
	f, err := openRegular(string(p))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, unreadable(string(p), err)
	}
	if fi.Size() > limit {
		return nil, fmt.Errorf("%s: %w (%d bytes)", p, ErrTooLarge, fi.Size())
	}
	b, err := readAll(io.LimitReader(f, limit+1), fi.Size())
	if err != nil {
		return nil, unreadable(string(p), err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s: %w", p, ErrTooLarge)
	}
	return b, nil
}
