//go:build !linux

package lsp

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// exitWaiter returns a function that waits for d and reports whether the process
// is gone. On Windows finding a process opens it, which fails when it is gone;
// elsewhere signal 0 asks.
func exitWaiter(pid int) (wait func(d time.Duration) bool, release func()) {
	return func(d time.Duration) bool {
		time.Sleep(d)
		p, err := os.FindProcess(pid)
		if err != nil {
			return true
		}
		defer func() { _ = p.Release() }()
		return runtime.GOOS != "windows" && p.Signal(syscall.Signal(0)) == os.ErrProcessDone
	}, func() {}
}
