package db

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// setAside renames the damaged file, makes a new one and copies what can still
// be read. It runs under the file lock and leaves the handles open. The
// sentence it returns is for people.
func (d *DB) setAside(ctx context.Context, why string) (string, error) {
	aside, err := d.freeName()
	if err != nil {
		return "", err
	}
	if err := os.Rename(d.path, aside); err != nil {
		return "", fmt.Errorf("set %s aside: %w", d.path, err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		// Left behind, the old log would be applied to the new file.
		if err := os.Rename(d.path+suffix, aside+suffix); err != nil && !os.IsNotExist(err) {
			return "", fmt.Errorf("set %s%s aside: %w", d.path, suffix, err)
		}
	}
	if err := d.initialise(ctx); err != nil {
		return "", err
	}
	rows := d.salvage(ctx, aside)
	return fmt.Sprintf("%s was damaged (%s). It was set aside as %s and made anew; %d records could be read and were kept.",
		filepath.Base(d.path), why, filepath.Base(aside), rows), nil
}

func (d *DB) freeName() (string, error) {
	stamp := d.now().UTC().Format("20060102T150405Z")
	for i := range 1000 {
		name := fmt.Sprintf("%s.damaged-%s", d.path, stamp)
		if i > 0 {
			name = fmt.Sprintf("%s-%d", name, i)
		}
		if _, err := os.Lstat(name); os.IsNotExist(err) {
			return name, nil
		}
	}
	return "", fmt.Errorf("no free name to set %s aside", d.path)
}

// salvage copies every row that can be read, table by table: forwards up to the
// damage, then backwards up to it.
func (d *DB) salvage(ctx context.Context, aside string) (rows int) {
	old, err := sql.Open("sqlite", "file:"+escapePath(aside)+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return 0
	}
	defer old.Close()
	tx, err := d.write.BeginTx(ctx, nil)
	if err != nil {
		return 0
	}
	defer func() { _ = tx.Rollback() }()
	for _, table := range d.spec.Salvage {
		for _, order := range []string{"ASC", "DESC"} {
			n, whole := copyRows(ctx, old, tx, table, order)
			rows += n
			if whole {
				break
			}
		}
	}
	if d.spec.AfterSalvage != nil {
		if err := d.spec.AfterSalvage(ctx, tx); err != nil {
			return 0
		}
	}
	if tx.Commit() != nil {
		return 0
	}
	return rows
}

// copyRows copies a table in the order of its first column, which is its key.
func copyRows(ctx context.Context, old *sql.DB, tx *sql.Tx, table, order string) (n int, whole bool) {
	rows, err := old.QueryContext(ctx, fmt.Sprintf("SELECT * FROM %s ORDER BY 1 %s", table, order))
	if err != nil {
		return 0, false
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return 0, false
	}
	marks := strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",")
	insert := fmt.Sprintf("INSERT OR IGNORE INTO %s(%s) VALUES(%s)", table, strings.Join(columns, ","), marks)
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if rows.Scan(targets...) != nil {
			return n, false
		}
		res, err := tx.ExecContext(ctx, insert, values...)
		if err != nil {
			continue // a row whose content is nonsense
		}
		added, _ := res.RowsAffected()
		n += int(added)
	}
	return n, rows.Err() == nil
}
