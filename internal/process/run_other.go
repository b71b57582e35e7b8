//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func Start(cmd *exec.Cmd) (<-chan error, error) { return plainStart(cmd) }

// KillGroup ends the command's group; processes that left it are not found here.
func KillGroup(cmd *exec.Cmd, _ string) int {
	signalGroup(cmd)
	return 0
}
