package tools

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

// ownGroup gives the command its own process group, and ties its life to ours
// so that nothing survives a killed server.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// startAndWait starts cmd and reports its end. The kernel sends Pdeathsig when
// the thread that started the child ends, not the process, so that thread is
// kept until the child is gone.
func startAndWait(cmd *exec.Cmd) (<-chan error, error) {
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	return ended, <-started
}

// killGroup ends the command's group and every process that carries its mark,
// wherever it moved to (setsid, double fork). It returns how many it found that
// were not the command itself.
func killGroup(cmd *exec.Cmd, mark string) int {
	if cmd.Process == nil {
		return 0
	}
	left := map[int]bool{}
	// Each pass may race with a fork; a process that is seen is dead afterwards.
	for range 5 {
		found := marked(mark)
		signalGroup(cmd)
		for _, pid := range found {
			if pid != cmd.Process.Pid && syscall.Kill(pid, syscall.SIGKILL) == nil {
				left[pid] = true
			}
		}
		if len(found) == 0 {
			break
		}
	}
	return len(left)
}

// marked lists the living processes that were started with the mark.
func marked(mark string) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	want := []byte(runMark + "=" + mark + "\x00")
	var pids []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		// A zombie has no environment left, so it does not count.
		env, err := os.ReadFile("/proc/" + name + "/environ")
		if err == nil && bytes.Contains(env, want) {
			pids = append(pids, pid)
		}
	}
	return pids
}
