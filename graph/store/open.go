package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stella-ls/stella-ls/graph/facts"
)

// Open opens or makes the database called name in dir. aside tells, when it is
// not empty, why an older one was set aside.
func Open(ctx context.Context, dir, name string) (s *Store, aside string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", fmt.Errorf("graph cache: %w", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-v%d.db", name, facts.Version))
	removeOld(dir, name, path)
	for attempt := 0; ; attempt++ {
		s, err = open(ctx, path)
		if err == nil {
			return s, aside, nil
		}
		if !damaged(err) || attempt > 1 {
			return nil, aside, fmt.Errorf("graph cache %s: %w", path, err)
		}
		aside = err.Error()
		if err := setAside(path); err != nil {
			return nil, aside, fmt.Errorf("graph cache %s is damaged and cannot be moved away: %w", path, err)
		}
	}
}

// removeOld deletes databases of other versions.
func removeOld(dir, name, keep string) {
	old, _ := filepath.Glob(filepath.Join(dir, name+"-v*.db*"))
	for _, p := range old {
		if !strings.HasPrefix(p, keep) {
			_ = os.Remove(p)
		}
	}
}

func dsn(path string) string {
	p := (&pathEscaper{path}).String()
	return "file:" + p + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=cache_size(-2000)&_txlock=immediate"
}

type pathEscaper struct{ p string }

func (e *pathEscaper) String() string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(e.p)
}

func open(ctx context.Context, path string) (*Store, error) {
	if err := plausible(path); err != nil {
		return nil, err
	}
	if err := private(path); err != nil {
		return nil, err
	}
	w, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return nil, err
	}
	w.SetMaxOpenConns(1)
	s := &Store{path: path, write: w}
	if err := s.prepare(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// private makes the database its owner's alone, as it tells what the sources
// hold. SQLite gives the mode to the files that it puts beside it.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

func (s *Store) prepare(ctx context.Context) error {
	if _, err := s.write.ExecContext(ctx, schema); err != nil {
		return err
	}
	r, err := sql.Open("sqlite", dsn(s.path))
	if err != nil {
		return err
	}
	s.read = r
	r.SetMaxOpenConns(4)
	if s.blob, err = r.PrepareContext(ctx, `SELECT blob FROM facts WHERE key = ?`); err != nil {
		return err
	}
	s.head, err = r.PrepareContext(ctx, `SELECT names, defs, broken FROM heads WHERE key = ?`)
	return err
}
