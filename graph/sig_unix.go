//go:build unix && !darwin

package graph

import (
	"io/fs"
	"syscall"

	"github.com/stella-ls/stella-ls/graph/store"
)

// signature is what stat says. It decides only what a pass reads again; the
// change time cannot be set by programs, so a file with an old mtime is seen.
func signature(fi fs.FileInfo) store.Sig {
	s := store.Sig{Size: fi.Size(), MTime: fi.ModTime().UnixNano()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.CTime, s.Ino = st.Ctim.Nano(), int64(st.Ino)
	}
	return s
}
