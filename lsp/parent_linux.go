package lsp

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// exitWaiter returns a function that waits up to d and reports whether the
// process has ended. A pidfd knows the one process, also when its number is used
// again, and reports one that has ended and was not collected yet.
func exitWaiter(pid int) (wait func(d time.Duration) bool, release func()) {
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return func(time.Duration) bool { return true }, func() {}
	case err != nil: // an old kernel, a sandbox
		return func(d time.Duration) bool {
			time.Sleep(d)
			return errors.Is(unix.Kill(pid, 0), unix.ESRCH)
		}, func() {}
	}
	return func(d time.Duration) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(d.Milliseconds()))
		return err == nil && n > 0
	}, func() { _ = unix.Close(fd) }
}
