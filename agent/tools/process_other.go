//go:build unix && !linux

package tools

import (
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func startAndWait(cmd *exec.Cmd) (<-chan error, error) { return plainStart(cmd) }

// killGroup ends the command's group; processes that left it are not found here.
func killGroup(cmd *exec.Cmd, _ string) int {
	signalGroup(cmd)
	return 0
}
