//go:build linux

package main

import (
	"errors"
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if args := os.Getenv(outsiderEnv); args != "" {
		if err := outsiderMain(args); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestTorture is the small form of the run: nothing lost. A short run may be
// void (its control loses nothing); that says something about the load only.
func TestTorture(t *testing.T) {
	rows, err := run(config{Writes: 400, Control: 400, Gap: 300 * time.Microsecond, Dir: t.TempDir(), Styles: allStyles, Seed: 1})
	if err != nil && !errors.Is(err, errVoid) {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Lost > 0 || r.Taken == 0 {
			t.Errorf("%+v", r)
		}
	}
}
