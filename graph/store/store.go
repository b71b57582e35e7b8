// Package store keeps the graph's index in SQLite, one database for each
// repository: the rows of each worktree (path, key, what its stat looked like),
// and the facts of each text under a key that is the digest of language and
// text. So worktrees share what they have in common, and an unchanged file is
// never parsed again.
//
// The store is a cache. A database that is damaged, at open or later, is set
// aside beside the new one and the index is built again; Open says so. The
// version of the facts is part of the file's name: another version is another
// database.
package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"sync"
	"time"
)

// Key names the facts of one text in one language.
type Key [16]byte

func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Head is the part of a text's facts that is kept in memory.
type Head struct {
	Names, Defs []uint32 // sorted hashes, see facts.File.Hashes
	Broken      bool     // has syntax errors
}

// Row is a file of a workspace as it was when it was last looked at.
type Row struct {
	Path string // relative to the workspace's root, slash separated
	Key  Key
	Sig  Sig
	Skip string // why it has no facts; empty when it has
}

// Sig tells cheaply whether a file may have changed. It decides what a pass
// reads again, and nothing else.
type Sig struct{ Size, MTime, CTime, Ino int64 }

// Facts are the packed facts of one text with their head.
type Facts struct {
	Key  Key
	Head Head
	Blob []byte
}

// Batch is written in one transaction.
type Batch struct {
	Facts   []Facts
	Rows    []Row
	Removed []string
}

// ErrDamaged says that the database cannot be read. The caller rebuilds.
var ErrDamaged = errors.New("the graph's index is damaged")

// Store is an open database.
type Store struct {
	path  string
	write *sql.DB
	read  *sql.DB
	blob  *sql.Stmt
	head  *sql.Stmt
	once  sync.Once
}

const schema = `
CREATE TABLE IF NOT EXISTS meta(k TEXT PRIMARY KEY, v) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS workspaces(id INTEGER PRIMARY KEY, root TEXT UNIQUE, used INTEGER, passed INTEGER);
CREATE TABLE IF NOT EXISTS files(ws INTEGER, path TEXT, key BLOB, size INTEGER, mtime INTEGER, ctime INTEGER, ino INTEGER, skip TEXT, PRIMARY KEY(ws, path)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS heads(key BLOB PRIMARY KEY, names BLOB, defs BLOB, broken INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts(key BLOB PRIMARY KEY, blob BLOB);
`

// Close closes the database.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		if s.read != nil {
			err = s.read.Close()
		}
		err = errors.Join(err, s.write.Close())
	})
	return err
}

// SetAside closes the database and moves it away.
func (s *Store) SetAside() error {
	_ = s.Close()
	return setAside(s.path)
}

// Workspace finds or makes the number of a root, and when its last pass ended.
func (s *Store) Workspace(ctx context.Context, root string, now time.Time) (id int64, passed time.Time, err error) {
	_, err = s.write.ExecContext(ctx, `INSERT INTO workspaces(root, used, passed) VALUES(?, ?, 0) ON CONFLICT(root) DO UPDATE SET used = excluded.used`, root, now.UnixMilli())
	if err != nil {
		return 0, time.Time{}, s.wrap(err)
	}
	var ms int64
	err = s.write.QueryRowContext(ctx, `SELECT id, passed FROM workspaces WHERE root = ?`, root).Scan(&id, &ms)
	if ms > 0 {
		passed = time.UnixMilli(ms)
	}
	return id, passed, s.wrap(err)
}

// Passed records that a pass over a workspace ended.
func (s *Store) Passed(ctx context.Context, id int64, at time.Time) error {
	_, err := s.write.ExecContext(ctx, `UPDATE workspaces SET passed = ? WHERE id = ?`, at.UnixMilli(), id)
	return s.wrap(err)
}

// Load calls f for every row of a workspace whose facts are there.
func (s *Store) Load(ctx context.Context, id int64, f func(Row, Head)) error {
	rows, err := s.read.QueryContext(ctx, `SELECT f.path, f.key, f.size, f.mtime, f.ctime, f.ino, f.skip, h.names, h.defs, h.broken
		FROM files f LEFT JOIN heads h ON h.key = f.key WHERE f.ws = ?`, id)
	if err != nil {
		return s.wrap(err)
	}
	defer rows.Close()
	var path, skip string
	var key, names, defs sql.RawBytes
	var broken sql.NullInt64
	for rows.Next() {
		var r Row
		if err := rows.Scan(&path, &key, &r.Sig.Size, &r.Sig.MTime, &r.Sig.CTime, &r.Sig.Ino, &skip, &names, &defs, &broken); err != nil {
			return s.wrap(err)
		}
		r.Path, r.Skip = path, skip
		copy(r.Key[:], key)
		if skip == "" && !broken.Valid {
			continue
		}
		f(r, Head{Names: unpack(names), Defs: unpack(defs), Broken: broken.Int64 != 0})
	}
	return s.wrap(rows.Err())
}

// Head returns what is known of a key.
func (s *Store) Head(ctx context.Context, k Key) (Head, bool, error) {
	var names, defs []byte
	var broken int
	err := s.head.QueryRowContext(ctx, k[:]).Scan(&names, &defs, &broken)
	if errors.Is(err, sql.ErrNoRows) {
		return Head{}, false, nil
	}
	if err != nil {
		return Head{}, false, s.wrap(err)
	}
	return Head{Names: unpack(names), Defs: unpack(defs), Broken: broken != 0}, true, nil
}

// Blob returns the packed facts of a key; ok is false when there are none.
func (s *Store) Blob(ctx context.Context, k Key) (blob []byte, ok bool, err error) {
	err = s.blob.QueryRowContext(ctx, k[:]).Scan(&blob)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	return blob, err == nil, s.wrap(err)
}
