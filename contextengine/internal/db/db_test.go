package db

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var spec = Spec{
	Migrations: []string{`CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT NOT NULL)`},
	Salvage:    []string{"t"},
}

type notes struct {
	mu   sync.Mutex
	said []string
}

func (n *notes) add(s string) { n.mu.Lock(); n.said = append(n.said, s); n.mu.Unlock() }
func (n *notes) all() string  { n.mu.Lock(); defer n.mu.Unlock(); return strings.Join(n.said, "\n") }

func open(t *testing.T, path string) (*DB, *notes) {
	t.Helper()
	n := &notes{}
	d, err := Open(context.Background(), path, spec, time.Now, n.add)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d, n
}

func insert(t *testing.T, d *DB, rows ...string) {
	t.Helper()
	err := d.Write(context.Background(), func(tx *sql.Tx) error {
		for _, v := range rows {
			if _, err := tx.Exec("INSERT INTO t(v) VALUES(?)", v); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, d *DB) (n int) {
	t.Helper()
	err := d.Read(context.Background(), func(h *Handle) error {
		return h.QueryRowContext(context.Background(), "SELECT count(*) FROM t").Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// many returns rows that fill about pages pages of 4 KiB.
func many(pages int) (rows []string) {
	for i := range pages * 4 {
		rows = append(rows, fmt.Sprintf("%06d %s", i, strings.Repeat("x", 900)))
	}
	return rows
}

func TestOverwrittenPageIsFoundSetAsideAndSalvaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	d, _ := open(t, path)
	insert(t, d, many(100)...)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("\xde\xad", 2048)), 50*4096); err != nil {
		t.Fatal(err)
	}
	f.Close()

	d, n := open(t, path)
	if !strings.Contains(n.all(), "damaged") {
		t.Fatalf("nothing was reported: %q", n.all())
	}
	if got := count(t, d); got < 380 || got >= 400 {
		t.Errorf("%d of 400 rows kept; want all but those of one page", got)
	}
	aside, _ := filepath.Glob(path + ".damaged-*")
	if len(aside) == 0 {
		t.Error("the damaged file is gone")
	}
	insert(t, d, "new")
}

func TestTruncatedAndForeignFilesAreReported(t *testing.T) {
	for name, spoil := range map[string]func(string) error{
		"empty":   func(p string) error { return os.Truncate(p, 0) },
		"half":    func(p string) error { return os.Truncate(p, 6000) },
		"garbage": func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("not a database ", 999)), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			d, _ := open(t, path)
			insert(t, d, many(10)...)
			_ = d.Close()
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			d, n := open(t, path)
			if !strings.Contains(n.all(), "set aside") {
				t.Errorf("reported %q", n.all())
			}
			insert(t, d, "new")
		})
	}
}

func TestDamageWhileInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	d, n := open(t, path)
	insert(t, d, many(3)...)
	if _, err := d.write.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-new", []byte(strings.Repeat("junk", 4096)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"-new", path); err != nil { // another file under the name
		t.Fatal(err)
	}
	insert(t, d, "after")
	if got := count(t, d); got != 1 {
		t.Errorf("%d rows", got)
	}
	if !strings.Contains(n.all(), "set aside") {
		t.Errorf("reported %q", n.all())
	}
}

func TestNewerFormatIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	d, _ := open(t, path)
	if err := d.Write(context.Background(), func(tx *sql.Tx) error { _, err := tx.Exec("PRAGMA user_version=9"); return err }); err != nil {
		t.Fatal(err)
	}
	_ = d.Close()
	_, err := Open(context.Background(), path, spec, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "newer stella-ls") {
		t.Errorf("err = %v", err)
	}
	if aside, _ := filepath.Glob(path + ".damaged*"); len(aside) > 0 {
		t.Error("a newer database was set aside")
	}
}

func TestAbsentStaysAbsent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	if _, err := OpenExisting(context.Background(), path, spec, nil, nil); err != ErrAbsent {
		t.Errorf("err = %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) > 0 {
		t.Errorf("created %v", left)
	}
}

func TestTwentyOpenersOfAFreshFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			d, err := Open(context.Background(), path, spec, nil, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer d.Close()
			for i := range 5 {
				err := d.Write(context.Background(), func(tx *sql.Tx) error {
					_, err := tx.Exec("INSERT INTO t(v) VALUES(?)", i)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	d, _ := open(t, path)
	if got := count(t, d); got != 100 {
		t.Errorf("%d of 100 writes", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
