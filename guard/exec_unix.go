//go:build unix

package guard

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command the head of a process group that is killed whole.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
