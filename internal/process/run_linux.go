package process

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// OwnGroup gives the command its own process group, and ties its life to ours
// so that nothing survives a killed server.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// Start starts cmd and reports its end. The kernel sends Pdeathsig when
// the thread that started the child ends, not the process, so that thread is
// kept until the child is gone.
func Start(cmd *exec.Cmd) (<-chan error, error) {
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

// dieTime bounds the wait for killed processes to be gone; one that hangs in the
// kernel may take for ever.
const dieTime = time.Second

// KillGroup ends the command's group and every process that carries its mark,
// wherever it moved to (setsid, double fork), and returns when none of them is
// there any more: how many it found that were not the command itself.
func KillGroup(cmd *exec.Cmd, mark string) int {
	if cmd.Process == nil {
		return 0
	}
	left := map[int]bool{}
	// Each pass may race with a fork, and a killed process takes a moment to end.
	for end := time.Now().Add(dieTime); ; time.Sleep(time.Millisecond) {
		found := marked(mark)
		signalGroup(cmd)
		for _, pid := range found {
			if pid != cmd.Process.Pid && syscall.Kill(pid, syscall.SIGKILL) == nil {
				left[pid] = true
			}
		}
		if len(found) == 0 || time.Now().After(end) {
			break
		}
	}
	return len(left)
}

// marked lists the living processes that were started with the mark.
func marked(mark string) (pids []int) {
	for _, pid := range processes() {
		if m, ok := markOf(pid); ok && m == mark {
			pids = append(pids, pid)
		}
	}
	return pids
}

// processes are all but this one.
func processes() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read is looked at
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// markOf is the mark that a process was started with. A zombie has no
// environment left, and so none.
func markOf(pid int) (string, bool) {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if v, ok := bytes.CutPrefix(kv, []byte(runMark+"=")); ok {
			return string(v), true
		}
	}
	return "", false
}
