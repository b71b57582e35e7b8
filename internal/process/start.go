//go:build !linux

package process

import "os/exec"

// plainStart starts cmd and reports its end.
func plainStart(cmd *exec.Cmd) (<-chan error, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return ended, nil
}
