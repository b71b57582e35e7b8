package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"time"
)

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
