package tools

import (
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func startAndWait(cmd *exec.Cmd) (<-chan error, error) { return plainStart(cmd) }

// killGroup ends the command itself; its children are not followed here.
func killGroup(cmd *exec.Cmd, _ string) int {
	if cmd.Process != nil {
		_ = cmd.Process.Kill()
	}
	return 0
}
