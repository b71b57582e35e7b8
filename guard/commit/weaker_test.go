//go:build linux

package commit

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// without takes abilities of the system away for one test.
func without(t *testing.T, what ...*atomic.Bool) {
	for _, w := range what {
		w.Store(true)
		t.Cleanup(func() { w.Store(false) })
	}
}

// TestWeakerModes: what is left still commits, refuses, names its mode, and
// loses nothing in the windows that it can see.
func TestWeakerModes(t *testing.T) {
	for _, c := range []struct {
		mode  string
		lacks []*atomic.Bool
	}{
		{ModeExchange, []*atomic.Bool{&lacking.lease}},
		{ModeLeaseRename, []*atomic.Bool{&lacking.exchange}},
		{ModeRename, []*atomic.Bool{&lacking.exchange, &lacking.lease}},
		{ModeLease, []*atomic.Bool{&lacking.exclusive}},
		{ModeLeaseInPlace, []*atomic.Bool{&lacking.exclusive, &lacking.exchange, &lacking.links}},
		{ModeInPlace, []*atomic.Bool{&lacking.exclusive, &lacking.exchange, &lacking.links, &lacking.lease}},
	} {
		for _, style := range []string{"rename", "truncate", "append", "late-truncate", "late-append"} {
			for _, point := range []string{"", "intent-ready", "compared", "checked", "exchanged", "parked"} {
				if strings.HasPrefix(style, "late") != (point == "parked") {
					continue
				}
				t.Run(c.mode+"/"+style+"/"+point, func(t *testing.T) {
					without(t, c.lacks...)
					b, w := newBench(t), newWriter(t)
					path := b.write("a.go", "base\n")
					waits := false
					var once sync.Once
					b.hook = func(p string) {
						if p == point {
							once.Do(func() { waits = w.try(style, path, theirs) })
						}
					}
					res, err := b.replace("a.go", "base\n", "ours\n")
					if err == nil && res.Mode != c.mode {
						t.Errorf("mode is %s", res.Mode)
					}
					b.Close(bg)
					if waits {
						w.end()
					}
					content, _ := os.ReadFile(path)
					if point == "" || !reached(c.mode, point) {
						if err != nil || string(content) != "ours\n" {
							t.Errorf("got %v, the path holds %q", err, content)
						}
						return
					}
					if !strings.Contains(string(content), theirs) && !b.storedLike(theirs) {
						t.Errorf("their version is lost; the path holds %q, the call said %v", content, err)
					}
					if err != nil && strings.Contains(string(content), "ours") {
						t.Errorf("the call said %v, the path holds %q", err, content)
					}
				})
			}
		}
	}
}

// reached: a write in place has nothing to exchange and nothing to park.
func reached(mode, point string) bool {
	return mode != ModeLeaseInPlace && mode != ModeInPlace || point != "exchanged" && point != "parked"
}

func TestWithoutExclusiveRename(t *testing.T) {
	without(t, &lacking.exclusive)
	createAndMove(t)
}

// TestWithoutSecondNames: exFAT and many FUSE volumes have neither an exclusive
// rename nor hard links.
func TestWithoutSecondNames(t *testing.T) {
	without(t, &lacking.exclusive, &lacking.exchange, &lacking.links)
	createAndMove(t)
	t.Run("delete", func(t *testing.T) {
		b := newBench(t)
		b.write("a.go", "one\n")
		if _, err := b.Delete(bg, Request{Path: b.path("a.go"), Expect: digest("one\n")}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("reservation taken", func(t *testing.T) {
		b := newBench(t)
		b.hook = func(p string) {
			if p == "reserved" {
				writeAs("rename", b.path("n.go"), theirs, nil)
			}
		}
		if _, err := b.Create(bg, Request{Path: b.path("n.go"), Candidate: []byte("new\n")}); !errors.Is(err, ErrExists) {
			t.Errorf("got %v", err)
		}
		b.want("n.go", theirs)
	})
	t.Run("reservation written to", func(t *testing.T) {
		b, w := newBench(t), newWriter(t)
		b.hook = func(p string) {
			switch p {
			case "reserved":
				w.do("open", b.path("n.go"), "")
			case "placed":
				w.do("write", b.path("n.go"), theirs)
			}
		}
		if _, err := b.Create(bg, Request{Path: b.path("n.go"), Candidate: []byte("new\n")}); err != nil {
			t.Fatal(err)
		}
		b.want("n.go", "new\n")
		if !b.stored("n.go", theirs) {
			t.Error("what was written to the reserved file is lost")
		}
	})
	// The store fails: what was done is said to be done, and nothing is lost.
	t.Run("reservation written to, no store", func(t *testing.T) {
		for _, move := range []bool{false, true} {
			b, w := newBench(t), newWriter(t)
			var told []string
			b.opt.Tell = func(s string) { told = append(told, s) }
			b.write("old.go", "new\n")
			b.hook = func(p string) {
				switch p {
				case "reserved":
					w.do("open", b.path("n.go"), "")
				case "placed":
					w.do("write", b.path("n.go"), theirs)
					b.store.dir = filepath.Join(b.write("file", ""), "no-directory")
				}
			}
			var err error
			if move {
				_, err = b.Move(bg, Request{Path: b.path("old.go"), To: b.path("n.go"), Expect: digest("new\n")})
			} else {
				_, err = b.Create(bg, Request{Path: b.path("n.go"), Candidate: []byte("new\n")})
			}
			if err != nil {
				t.Errorf("move %v: %v", move, err)
			}
			b.want("n.go", "new\n")
			kept, _ := filepath.Glob(b.path("n.go.kept-*"))
			if len(kept) != 1 || len(told) != 1 || !strings.Contains(told[0], filepath.Base(kept[0])) {
				t.Fatalf("kept %v, told %q", kept, told)
			}
			if raw, err := os.ReadFile(kept[0]); err != nil || string(raw) != theirs {
				t.Errorf("kept %q, %v", raw, err)
			}
		}
	})
	t.Run("crash", func(t *testing.T) {
		b := newBench(t)
		b.write("n.go", "")
		if r := reservedEmpty(b.path("n.go")); r == nil || !strings.Contains(r.What, "is empty") {
			t.Errorf("got %+v", r)
		}
		b.write("n.go", "x")
		if r := reservedEmpty(b.path("n.go")); r != nil {
			t.Errorf("got %+v", r)
		}
	})
}

func createAndMove(t *testing.T) {
	t.Helper()
	b := newBench(t)
	if _, err := b.Create(bg, Request{Path: b.path("n.go"), Candidate: []byte("new\n")}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Create(bg, Request{Path: b.path("n.go"), Candidate: []byte("other\n")}); !errors.Is(err, ErrExists) {
		t.Errorf("got %v", err)
	}
	b.write("taken.go", "taken\n")
	if _, err := b.Move(bg, Request{Path: b.path("n.go"), To: b.path("taken.go"), Expect: digest("new\n")}); !errors.Is(err, ErrExists) {
		t.Errorf("got %v", err)
	}
	if _, err := b.Move(bg, Request{Path: b.path("n.go"), To: b.path("m.go"), Expect: digest("new\n")}); err != nil {
		t.Fatal(err)
	}
	b.want("m.go", "new\n")
	b.want("taken.go", "taken\n")
	if _, err := os.Lstat(b.path("n.go")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the old name is still there")
	}
}

// TestBindMount: a single file that is a mount point cannot be renamed over.
func TestBindMount(t *testing.T) {
	b := newBench(t)
	path, other := b.write("a.go", "one\n"), b.write("other", "one\n")
	if err := unix.Mount(other, path, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("no mounts here: %v", err)
	}
	defer unix.Unmount(path, unix.MNT_DETACH)
	res, err := b.replace("a.go", "one\n", "two\n")
	if err != nil || res.Mode != ModeLeaseInPlace {
		t.Fatalf("got %+v, %v", res, err)
	}
	b.want("a.go", "two\n")
}

// TestMoveAcrossFileSystems copies with the metadata, then deletes.
func TestMoveAcrossFileSystems(t *testing.T) {
	b := newBench(t)
	os.Mkdir(b.path("m"), 0o755)
	if err := unix.Mount("tmpfs", b.path("m"), "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no mounts here: %v", err)
	}
	defer unix.Unmount(b.path("m"), unix.MNT_DETACH)
	os.Chmod(b.write("a.sh", "one\n"), 0o755)
	if _, err := b.Move(bg, Request{Path: b.path("a.sh"), To: b.path("m/b.sh"), Root: b.dir, Expect: digest("one\n")}); err != nil {
		t.Fatal(err)
	}
	b.want("m/b.sh", "one\n")
	if st, _ := os.Stat(b.path("m/b.sh")); st.Mode() != 0o755 {
		t.Errorf("mode is %v", st.Mode())
	}
	if _, err := os.Lstat(b.path("a.sh")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the old name is still there")
	}
}

// TestDiskFull: a candidate that does not fit leaves everything as it was.
func TestDiskFull(t *testing.T) {
	b := newBench(t)
	os.Mkdir(b.path("m"), 0o755)
	if err := unix.Mount("tmpfs", b.path("m"), "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no mounts here: %v", err)
	}
	defer unix.Unmount(b.path("m"), unix.MNT_DETACH)
	b.write("m/a.go", "one\n")
	big := strings.Repeat("x", 100_000)
	if _, err := b.replace("m/a.go", "one\n", big); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("replace: %v", err)
	}
	if _, err := b.Create(bg, Request{Path: b.path("m/sub/n.go"), Root: b.dir, Candidate: []byte(big)}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("create: %v", err)
	}
	if _, err := os.Stat(b.path("m/sub")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the failed create left its directory")
	}
	os.Link(b.path("m/a.go"), b.path("m/b.go"))
	if _, err := b.replace("m/a.go", "one\n", big); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("in place: %v", err)
	}
	b.want("m/a.go", "one\n")
	b.want("m/b.go", "one\n")
	if left := temporaries(b.path("m")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestAnotherOwnersFile: a person without rights to leases commits to a file of
// somebody else's in a directory that both may write.
func TestAnotherOwnersFile(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	dir, state := t.TempDir(), t.TempDir()
	for p := dir; p != "/tmp" && p != "/"; p = p[:strings.LastIndex(p, "/")] {
		os.Chmod(p, 0o777)
	}
	os.Chmod(state, 0o777)
	os.WriteFile(dir+"/a.go", []byte(baseText), 0o666)
	os.Chmod(dir+"/a.go", 0o666)
	exe := dir + "/test"
	if b, err := os.ReadFile(os.Args[0]); err != nil || os.WriteFile(exe, b, 0o755) != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(childEnv(), crashEnv+"=replace|0|"+dir+"|"+state)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1717, Gid: 1717}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := string(out); !strings.Contains(got, "mode="+ModeExchange) || !strings.Contains(got, "the owner (0) could not be kept") {
		t.Errorf("the child said %q", got)
	}
	if content, _ := os.ReadFile(dir + "/a.go"); string(content) != oursText {
		t.Errorf("the file holds %d bytes", len(content))
	}
	if left := temporaries(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
