package graph

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// I03 with the kernel's own limit: in a user namespace of its own, where 100 watches
// is all there are, the test runs again.
func TestRealWatchLimit(t *testing.T) {
	const role, limit = "STELLA_GRAPH_WATCH_LIMIT", "/proc/sys/user/max_inotify_watches"
	if os.Getenv(role) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRealWatchLimit$", "-test.v")
		cmd.Env = append(os.Environ(), role+"=100")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		if err != nil && len(out) == 0 {
			t.Skipf("no user namespace here: %v", err)
		}
		if strings.Contains(string(out), "--- SKIP") {
			t.Skip(string(out))
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	if err := os.WriteFile(limit, []byte(os.Getenv(role)), 0); err != nil {
		t.Skip(err)
	}
	watchInPart(t, 0)
}
