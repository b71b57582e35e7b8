package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
	"modernc.org/sqlite" // registers the driver
)

// plausible looks at the header and the length before SQLite does: a file cut
// short is found without reading it whole.
func plausible(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || fi.Size() == 0 {
		return err
	}
	var h [100]byte
	if n, _ := f.ReadAt(h[:], 0); n < len(h) || string(h[:16]) != "SQLite format 3\x00" {
		return fmt.Errorf("%w: not a database", ErrDamaged)
	}
	size := int64(binary.BigEndian.Uint16(h[16:]))
	if size == 1 {
		size = 65536
	}
	pages := int64(binary.BigEndian.Uint32(h[28:]))
	_, walErr := os.Stat(path + "-wal")
	if size < 512 || walErr != nil && pages*size > fi.Size() {
		return fmt.Errorf("%w: it is shorter than it says", ErrDamaged)
	}
	return nil
}

// setAside moves a damaged database out of the way, keeping the last one only.
func setAside(path string) error {
	for _, ext := range []string{"", "-wal", "-shm"} {
		err := os.Rename(path+ext, path+".damaged"+ext)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Check runs SQLite's quick check. It reads the whole file, so it runs beside
// the first answers, which trust nothing either: blobs carry checksums.
func (s *Store) Check(ctx context.Context) error {
	rows, err := s.read.QueryContext(ctx, `PRAGMA quick_check(1)`)
	if err != nil {
		return s.wrap(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return s.wrap(err)
		}
		if line != "ok" {
			return fmt.Errorf("%w: %s", ErrDamaged, line)
		}
	}
	return s.wrap(rows.Err())
}

// damaged reports whether an error means that the file is no good.
func damaged(err error) bool {
	if errors.Is(err, ErrDamaged) || errors.Is(err, facts.ErrCorrupt) {
		return true
	}
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case 11, 26: // SQLITE_CORRUPT, SQLITE_NOTADB
			return true
		case 1: // SQLITE_ERROR: a table or column that should be there is not
			return strings.Contains(e.Error(), "no such") || strings.Contains(e.Error(), "malformed") || strings.Contains(e.Error(), "already exists")
		case 10: // SQLITE_IOERR: a short read
			return e.Code() == 522
		}
	}
	return false
}

// wrap marks errors that mean damage.
func (s *Store) wrap(err error) error {
	if err != nil && damaged(err) && !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}
