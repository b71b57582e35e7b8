package commit

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// tempPrefix starts the name of every temporary that the engine makes beside a
// file. The names carry no language's extension.
const tempPrefix = ".stella-tmp-"

// IsTemporary reports whether the last element of a path names a temporary of
// this engine: watchers, indexers and listings leave those out.
func IsTemporary(name string) bool { return strings.HasPrefix(filepath.Base(name), tempPrefix) }

func newID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// lacking takes away what the system offers, so that tests can see the weaker
// modes on a machine that has everything.
var lacking struct{ lease, exchange, exclusive, links atomic.Bool }

// info is what the engine needs to know of a directory entry or an open file.
type info struct {
	id       fileID
	links    uint64
	size     int64
	mode     uint32 // the system's mode bits
	uid, gid uint32
	changed  [2]int64
	regular  bool
	link     bool
}

type fileID struct{ dev, ino uint64 }

// openSame opens for reading the file that was just made under this name.
func (d *dir) openSame(name string, id fileID) (*os.File, error) {
	f, err := d.open(name, false)
	if err != nil {
		return nil, err
	}
	if i, err := fstat(f); err != nil || i.id != id {
		f.Close()
		return nil, errors.Join(err, ErrSwapped)
	}
	return f, nil
}

// below returns path relative to root, slash separated; it is never empty and
// never leaves root.
func below(root, path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", ErrOutside
	}
	if root == "" {
		root = filepath.VolumeName(path) + string(filepath.Separator)
	}
	rel, err := filepath.Rel(root, filepath.Clean(path))
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return "", ErrOutside
	}
	return filepath.ToSlash(rel), nil
}

// readAll reads a whole open file from its start, whatever its offset is.
func readAll(f *os.File) ([]byte, Digest, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	buf := make([]byte, 0, st.Size()+512)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := f.ReadAt(buf[len(buf):cap(buf)], int64(len(buf)))
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, workspace.DigestOf(buf), nil
		}
		if err != nil {
			return nil, "", err
		}
	}
}
