package graph

import (
	"context"
	"fmt"
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
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("d%d/f.py", i)] = "def f(): pass\n"
	}
	dir := tree(t, files)
	w := watch(t, dir, 0)
	st := w.Status()
	if st.Watches == 0 || st.Watches > 100 || !strings.Contains(st.Watching, "part") || st.Files != 300 {
		t.Errorf("%+v", st)
	}
	w.mu.Lock()
	notices := strings.Join(w.notices, "\n")
	w.mu.Unlock()
	if strings.Count(notices, "max_user_watches") != 1 {
		t.Errorf("notices: %s", notices)
	}
	// What is watched is seen, what is not is found by the next look.
	write(t, dir+"/d0/f.py", "def early(): pass\n")
	w.until(t, "a watched folder", w.has(t, OpDefinitions, "early", "d0/f.py:1 function early name"))
	write(t, dir+"/d299/f.py", "def late(): pass\n")
	w.Reindex()
	if err := w.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, w.Graph, OpDefinitions, "late", "d299/f.py:1 function late name")
}
