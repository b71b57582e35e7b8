package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// server identifies this process in marks: the number alone could be another's
// in another container, or later.
var server = sync.OnceValue(func() string {
	return pidSpace("self") + "." + strconv.Itoa(os.Getpid()) + "." + startTime(os.Getpid())
})

// pidSpace is the identity of a process's number space, "0" when unknown.
func pidSpace(pid string) string {
	to, err := os.Readlink("/proc/" + pid + "/ns/pid") // pid:[4026531836]
	if err != nil {
		return "0"
	}
	return strings.Trim(strings.TrimPrefix(to, "pid:"), "[]")
}

// startTime is when a process began, in clock ticks since the machine did; "0"
// when there is none of that number.
func startTime(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "0"
	}
	// The name in brackets may hold anything; the 20th field after it is the time.
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) < 20 {
		return "0"
	}
	return string(fields[19])
}

// Sweep ends what servers that were killed left running, and returns how many
// processes that were. A process of a server that still lives is left alone, as
// is every one that this process cannot be sure about.
func Sweep() (ended int) {
	for _, p := range processes() {
		mark, ok := markOf(p)
		if !ok || !orphaned(mark) {
			continue
		}
		if syscall.Kill(p, syscall.SIGKILL) == nil {
			ended++
		}
	}
	return ended
}

// orphaned reports whether the server that a mark names is gone.
func orphaned(mark string) bool {
	f := strings.Split(mark, ".")
	if len(f) != 4 || f[0] == "0" || f[0] != pidSpace("self") {
		return false
	}
	pid, err := strconv.Atoi(f[1])
	return err == nil && f[2] != "0" && startTime(pid) != f[2]
}
