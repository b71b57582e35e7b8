//go:build linux

package commit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// BenchmarkReplace is a commit of 40 KB; BenchmarkDurableRename is the usual
// durable write (temporary, fsync, rename, fsync of the directory) beside it.
func BenchmarkReplace(b *testing.B) {
	dir := b.TempDir()
	e, err := New(Options{StateDir: b.TempDir(), MaxParked: 1 << 14})
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, "a.go")
	now := content40K(0)
	os.WriteFile(path, now, 0o644)
	for i := 1; b.Loop(); i++ {
		next := content40K(i)
		if _, err := e.Replace(bg, Request{Path: path, Root: dir, Expect: workspace.DigestOf(now), Candidate: next}); err != nil {
			b.Fatal(err)
		}
		now = next
	}
	b.StopTimer()
	e.Close(bg)
}

func BenchmarkDurableRename(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "a.go")
	os.WriteFile(path, content40K(0), 0o644)
	for i := 1; b.Loop(); i++ {
		if err := writeSynced(path, content40K(i)); err != nil {
			b.Fatal(err)
		}
	}
}

func content40K(i int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "line %034d\n", i), 1000)
}
