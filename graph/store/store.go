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
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/graph/facts"
	"modernc.org/sqlite" // registers the driver
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

// Write stores a batch for a workspace.
func (s *Store) Write(ctx context.Context, id int64, b Batch) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return s.wrap(err)
	}
	defer tx.Rollback()
	if err := writeBatch(ctx, tx, id, b); err != nil {
		return s.wrap(err)
	}
	return s.wrap(tx.Commit())
}

func writeBatch(ctx context.Context, tx *sql.Tx, id int64, b Batch) error {
	head, err := tx.PrepareContext(ctx, `INSERT OR IGNORE INTO heads(key, names, defs, broken) VALUES(?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer head.Close()
	blob, err := tx.PrepareContext(ctx, `INSERT OR IGNORE INTO facts(key, blob) VALUES(?, ?)`)
	if err != nil {
		return err
	}
	defer blob.Close()
	row, err := tx.PrepareContext(ctx, `INSERT OR REPLACE INTO files(ws, path, key, size, mtime, ctime, ino, skip) VALUES(?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer row.Close()
	for i := range b.Facts {
		f := &b.Facts[i]
		if _, err := blob.ExecContext(ctx, f.Key[:], f.Blob); err != nil {
			return err
		}
		if _, err := head.ExecContext(ctx, f.Key[:], pack(f.Head.Names), pack(f.Head.Defs), f.Head.Broken); err != nil {
			return err
		}
	}
	for i := range b.Rows {
		r := &b.Rows[i]
		if _, err := row.ExecContext(ctx, id, r.Path, r.Key[:], r.Sig.Size, r.Sig.MTime, r.Sig.CTime, r.Sig.Ino, r.Skip); err != nil {
			return err
		}
	}
	for _, p := range b.Removed {
		if _, err := tx.ExecContext(ctx, `DELETE FROM files WHERE ws = ? AND path = ?`, id, p); err != nil {
			return err
		}
	}
	return nil
}

// Age limits of Clean.
const (
	workspaceAge = 90 * 24 * time.Hour
	// garbage is how many unused keys are tolerated before they are removed.
	garbage = 2000
)

// Clean forgets workspaces that were not opened for long, and facts that no
// workspace uses when there are many of them (they make switching back to
// another branch cheap, so a few thousand are kept).
func (s *Store) Clean(ctx context.Context, now time.Time) error {
	old := now.Add(-workspaceAge).UnixMilli()
	for _, q := range []string{
		`DELETE FROM files WHERE ws IN (SELECT id FROM workspaces WHERE used < ?)`,
		`DELETE FROM workspaces WHERE used < ?`,
	} {
		if _, err := s.write.ExecContext(ctx, q, old); err != nil {
			return s.wrap(err)
		}
	}
	var unused, used int
	err := s.read.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM heads), (SELECT count(DISTINCT key) FROM files)`).Scan(&unused, &used)
	if err != nil || unused-used < max(garbage, 2*used) {
		return s.wrap(err)
	}
	for _, q := range []string{
		`DELETE FROM facts WHERE key NOT IN (SELECT key FROM files)`,
		`DELETE FROM heads WHERE key NOT IN (SELECT key FROM files)`,
	} {
		if _, err := s.write.ExecContext(ctx, q); err != nil {
			return s.wrap(err)
		}
	}
	return nil
}

func pack(v []uint32) []byte {
	b := make([]byte, 0, len(v)*4)
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

func unpack(b []byte) []uint32 {
	v := make([]uint32, len(b)/4)
	for i := range v {
		v[i] = binary.LittleEndian.Uint32(b[i*4:])
	}
	return v
}
