package process

import (
	"os/exec"
	"syscall"
)

func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func Start(cmd *exec.Cmd) (<-chan error, error) { return plainStart(cmd) }

// KillGroup ends the command itself; its children are not followed here.
func KillGroup(cmd *exec.Cmd, _ string) int {
	if cmd.Process != nil {
		_ = cmd.Process.Kill()
	}
	return 0
}
