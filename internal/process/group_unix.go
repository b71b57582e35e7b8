//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// signalGroup kills the whole process group of a started command.
func signalGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
