//go:build unix

package workspace

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags: never wait, neither for a FIFO's writer nor for a lease to be given up.
const openFlags = syscall.O_NONBLOCK | syscall.O_CLOEXEC

var errNotDir error = syscall.ENOTDIR

func fileID(fi fs.FileInfo) FileID {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return FileID{Dev: uint64(st.Dev), Ino: st.Ino, Links: uint64(st.Nlink)}
	}
	return FileID{}
}

func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }
