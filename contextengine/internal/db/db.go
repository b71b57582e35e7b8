// Package db opens the engine's SQLite databases so that twenty processes can
// do it at once, and so that a damaged file is never taken for an empty one.
//
// A healthy database opens without any lock. Creating, migrating and setting
// aside run under an exclusive file lock beside it. A file that is damaged is
// renamed, a new one is made, every row that can still be read is copied over,
// and a sentence says so. A file of a newer version is refused.
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Spec describes one database.
type Spec struct {
	// Migrations[i] brings version i to i+1; user_version is len(Migrations).
	Migrations []string
	// Salvage are the tables to copy out of a damaged file, referenced first.
	Salvage []string
	// AfterSalvage repairs what is derived (a full-text index).
	AfterSalvage func(ctx context.Context, tx *sql.Tx) error
}

// ErrAbsent is returned by OpenExisting when there is no file.
var ErrAbsent = errors.New("no database yet")

// NewerError is a database written by a later version of this program.
type NewerError struct {
	Path       string
	Has, Knows int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s has format %d and this version of stella-ls knows up to %d: use the newer stella-ls, or move the file away",
		e.Path, e.Has, e.Knows)
}

// DB is an open database. It notices when its file was replaced (set aside by
// another process, or deleted) and goes on with the file that is there now.
type DB struct {
	path   string
	spec   Spec
	report func(string)
	now    func() time.Time
	check  sync.WaitGroup // the background integrity check
	stop   context.CancelFunc
	live   context.Context // ends with Close

	mu     sync.RWMutex // guards the handles; held for reading while one is in use
	write  *sql.DB
	read   *sql.DB
	handle *Handle // over read
	file   os.FileInfo
	closed bool
}

// checkLimit is the size up to which a database is checked whole at open; a
// larger one is checked in the background, since opening must stay quick.
const checkLimit = 4 << 20

// Open opens or creates the database at path.
func Open(ctx context.Context, path string, spec Spec, now func() time.Time, report func(string)) (*DB, error) {
	d := &DB{path: path, spec: spec, now: now}
	d.live, d.stop = context.WithCancel(context.WithoutCancel(ctx))
	d.report = func(sentence string) {
		if sentence != "" && report != nil {
			report(sentence)
		}
	}
	if d.now == nil {
		d.now = time.Now
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.openLocked(ctx); err != nil {
		d.stop()
		return nil, err
	}
	return d, nil
}

// OpenExisting opens the database, or fails with ErrAbsent; it creates nothing.
func OpenExisting(ctx context.Context, path string, spec Spec, now func() time.Time, report func(string)) (*DB, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrAbsent
	}
	return Open(ctx, path, spec, now, report)
}

// Close ends the handles; a running background check is waited for.
func (d *DB) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	d.stop()
	err := d.closeHandles()
	d.mu.Unlock()
	d.check.Wait()
	return err
}

func (d *DB) closeHandles() error {
	var err error
	if d.read != nil {
		err = d.read.Close()
	}
	if d.write != nil {
		err = errors.Join(d.write.Close(), err)
	}
	d.read, d.write = nil, nil
	return err
}

func (d *DB) openLocked(ctx context.Context) error {
	if ok, err := d.tryOpen(ctx); ok || err != nil {
		return err
	}
	lock := flock.New(d.path + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock %s: %w", d.path, err)
	}
	defer func() { _ = lock.Unlock() }()
	// Another process may have made or repaired it while we waited.
	if ok, err := d.tryOpen(ctx); ok || err != nil {
		return err
	}
	return d.create(ctx)
}

// tryOpen opens a file that is there, of our version and in order. ok is false
// when the exclusive lock is needed; an error is final.
func (d *DB) tryOpen(ctx context.Context) (ok bool, err error) {
	info, err := os.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := d.handles(); err != nil {
		return false, err
	}
	version, err := d.version(ctx)
	if err == nil && version > len(d.spec.Migrations) {
		_ = d.closeHandles()
		return false, &NewerError{d.path, version, len(d.spec.Migrations)}
	}
	if err == nil && version == len(d.spec.Migrations) {
		err = d.healthy(ctx, info.Size())
	}
	if err != nil || version != len(d.spec.Migrations) {
		_ = d.closeHandles()
		if err != nil && !Corrupt(err) {
			return false, fmt.Errorf("open %s: %w", d.path, err)
		}
		return false, nil
	}
	d.file = info
	return true, nil
}

func (d *DB) version(ctx context.Context) (v int, err error) {
	err = d.read.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
	return v, err
}

func (d *DB) healthy(ctx context.Context, size int64) error {
	if size <= checkLimit {
		return quickCheck(ctx, d.read)
	}
	read := d.read
	d.check.Go(func() {
		if err := quickCheck(d.live, read); err != nil && Corrupt(err) {
			d.report(d.recover(d.live, read))
		}
	})
	return nil
}

type damaged struct{ what string }

func (e *damaged) Error() string { return "damaged: " + e.what }

func quickCheck(ctx context.Context, h *sql.DB) error {
	var answer string
	if err := h.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&answer); err != nil {
		return err
	}
	if answer != "ok" {
		return &damaged{strings.ReplaceAll(answer, "\n", " ")}
	}
	return nil
}

// Corrupt reports whether err says that the file itself is damaged.
func Corrupt(err error) bool {
	var own *damaged
	var se *sqlite.Error
	if errors.As(err, &own) {
		return true
	}
	if errors.As(err, &se) {
		code := se.Code() & 0xff
		return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
	}
	return false
}

// create runs under the file lock: it migrates an older file, sets aside a
// damaged one, and makes a new one.
func (d *DB) create(ctx context.Context) error {
	info, err := os.Stat(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d.initialise(ctx)
	case err != nil:
		return err
	case info.Size() == 0:
		note, err := d.setAside(ctx, "it was empty (truncated)")
		if err == nil {
			d.report(note)
		}
		return err
	}
	if err := d.handles(); err != nil {
		return err
	}
	_, err = d.version(ctx)
	if err == nil {
		err = quickCheck(ctx, d.read)
	}
	_ = d.closeHandles()
	if err == nil {
		return d.initialise(ctx)
	}
	if !Corrupt(err) {
		return fmt.Errorf("open %s: %w", d.path, err)
	}
	note, err := d.setAside(ctx, err.Error())
	if err == nil {
		d.report(note)
	}
	return err
}

// initialise creates the file or brings it to our version, in one transaction
// for each step, so that a process that dies in between leaves a whole version.
func (d *DB) initialise(ctx context.Context) error {
	if err := ownerOnly(d.path); err != nil {
		return err
	}
	if err := d.handles(); err != nil {
		return err
	}
	// Switching to WAL needs the file for itself, which the lock gives us.
	if _, err := d.write.ExecContext(ctx, "PRAGMA journal_mode=WAL"); err != nil {
		return fmt.Errorf("prepare %s: %w", d.path, err)
	}
	version, err := d.version(ctx)
	if err != nil {
		return err
	}
	for v := version; v < len(d.spec.Migrations); v++ {
		if err := d.migrate(ctx, v); err != nil {
			return fmt.Errorf("bring %s to format %d: %w", d.path, v+1, err)
		}
	}
	d.file, err = os.Stat(d.path)
	return err
}

func (d *DB) migrate(ctx context.Context, v int) error {
	tx, err := d.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, d.spec.Migrations[v]); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version=%d", v+1)); err != nil {
		return err
	}
	return tx.Commit()
}

// ownerOnly makes sure that the file exists with mode 0600 before SQLite opens
// it; SQLite gives its -wal and -shm files the same mode.
func ownerOnly(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func (d *DB) handles() (err error) {
	dsn := "file:" + escapePath(d.path) + "?_pragma=busy_timeout(5000)&_pragma=synchronous(NORMAL)"
	if d.write, err = sql.Open("sqlite", dsn+"&_txlock=immediate"); err != nil {
		return err
	}
	d.write.SetMaxOpenConns(1)
	if d.read, err = sql.Open("sqlite", dsn+"&_pragma=query_only(1)"); err != nil {
		return err
	}
	d.read.SetMaxOpenConns(4)
	d.read.SetMaxIdleConns(4)
	d.handle = newHandle(d.read)
	return nil
}

// escapePath makes a path safe in a SQLite file URI.
func escapePath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path))
}

// Write runs f in one immediate transaction. A damaged file is set aside and f
// runs once more on the new one.
func (d *DB) Write(ctx context.Context, f func(*sql.Tx) error) error {
	return d.with(ctx, func(h *handlePair) error {
		tx, err := h.write.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if err := f(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// Read runs f with a handle that cannot write.
func (d *DB) Read(ctx context.Context, f func(*Handle) error) error {
	return d.with(ctx, func(h *handlePair) error { return f(h.read) })
}

type handlePair struct {
	write *sql.DB
	read  *Handle
}

func (d *DB) with(ctx context.Context, f func(*handlePair) error) error {
	for attempt := 0; ; attempt++ {
		if err := d.follow(ctx); err != nil {
			return err
		}
		d.mu.RLock()
		if d.closed || d.read == nil {
			d.mu.RUnlock()
			return errors.New("the database is closed")
		}
		used := d.read
		err := f(&handlePair{d.write, d.handle})
		d.mu.RUnlock()
		if err == nil || !Corrupt(err) || attempt > 0 {
			return err
		}
		d.report(d.recover(ctx, used))
	}
}

// follow reopens when the path names another file than the one that is open.
func (d *DB) follow(ctx context.Context) error {
	info, err := os.Stat(d.path)
	d.mu.RLock()
	same := err == nil && d.file != nil && os.SameFile(info, d.file)
	closed := d.closed
	d.mu.RUnlock()
	if same || closed {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if info, err := os.Stat(d.path); d.closed || err == nil && d.file != nil && os.SameFile(info, d.file) {
		return nil
	}
	_ = d.closeHandles()
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		return err
	}
	return d.openLocked(ctx)
}

// recover sets the open file aside, unless somebody already did.
func (d *DB) recover(ctx context.Context, used *sql.DB) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.read != used {
		return ""
	}
	_ = d.closeHandles()
	lock := flock.New(d.path + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Sprintf("%s is damaged and could not be locked: %v", d.path, err)
	}
	defer func() { _ = lock.Unlock() }()
	if info, err := os.Stat(d.path); err == nil && d.file != nil && !os.SameFile(info, d.file) {
		if ok, err := d.tryOpen(ctx); ok {
			return ""
		} else if err != nil {
			return err.Error()
		}
	}
	note, err := d.setAside(ctx, "found while in use")
	if err != nil {
		return err.Error()
	}
	return note
}
