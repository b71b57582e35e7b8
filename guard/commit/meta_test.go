//go:build linux

package commit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestModesAreKept(t *testing.T) {
	for _, mode := range []os.FileMode{0o755, 0o600, 0o644, 0o660, 0o4755} {
		t.Run(fmt.Sprintf("%o", mode), func(t *testing.T) {
			b := newBench(t)
			b.write("run.sh", "one\n")
			if err := unix.Chmod(b.path("run.sh"), uint32(mode)); err != nil {
				t.Fatal(err)
			}
			if _, err := b.replace("run.sh", "one\n", "two\n"); err != nil {
				t.Fatal(err)
			}
			var st unix.Stat_t
			unix.Stat(b.path("run.sh"), &st)
			if st.Mode&0o7777 != uint32(mode) {
				t.Errorf("mode is %o", st.Mode&0o7777)
			}
		})
	}
}

// TestModeChangedMeanwhile: a chmod between the copy of the metadata and the exchange.
func TestModeChangedMeanwhile(t *testing.T) {
	b := newBench(t)
	b.write("run.sh", "one\n")
	b.hook = func(p string) {
		if p == "intent-ready" {
			os.Chmod(b.path("run.sh"), 0o755)
		}
	}
	if _, err := b.replace("run.sh", "one\n", "two\n"); err != nil {
		t.Fatal(err)
	}
	if st, _ := os.Stat(b.path("run.sh")); st.Mode() != 0o755 {
		t.Errorf("mode is %v", st.Mode())
	}
}

func TestOwnerAndSetgidDirectory(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to give files away")
	}
	b := newBench(t)
	sub := b.path("sub")
	os.Mkdir(sub, 0o755)
	if err := errors.Join(os.Chown(sub, 0, 4242), unix.Chmod(sub, 0o2775)); err != nil {
		t.Fatal(err)
	}
	b.write("sub/kept.go", "one\n")
	if err := os.Chown(b.path("sub/kept.go"), 1717, 1818); err != nil {
		t.Fatal(err)
	}
	if _, err := b.replace("sub/kept.go", "one\n", "two\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Create(bg, Request{Path: b.path("sub/new.go"), Root: b.dir, Candidate: []byte("new\n")}); err != nil {
		t.Fatal(err)
	}
	var kept, fresh unix.Stat_t
	unix.Stat(b.path("sub/kept.go"), &kept)
	unix.Stat(b.path("sub/new.go"), &fresh)
	if kept.Uid != 1717 || kept.Gid != 1818 {
		t.Errorf("owner is %d:%d", kept.Uid, kept.Gid)
	}
	if fresh.Gid != 4242 {
		t.Errorf("a new file in a set-gid directory has group %d", fresh.Gid)
	}
}

func TestAttributesAreKept(t *testing.T) {
	b := newBench(t)
	path := b.write("a.go", "one\n")
	big := bytes.Repeat([]byte("v"), 3000)
	if err := unix.Setxattr(path, "user.x", []byte("1"), 0); err != nil {
		t.Skipf("no extended attributes here: %v", err)
	}
	// A POSIX access list: owner rw, user 1717 rw, group r, mask rw, others none.
	acl := []byte("\x02\x00\x00\x00" + "\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x06\x00\xb5\x06\x00\x00" +
		"\x04\x00\x04\x00\xff\xff\xff\xff" + "\x10\x00\x06\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff")
	aclErr := unix.Setxattr(path, "system.posix_acl_access", acl, 0)
	unix.Setxattr(path, "user.big", big, 0)
	res, err := b.replace("a.go", "one\n", "two\n")
	if err != nil || len(res.Warnings) > 0 {
		t.Fatalf("got %+v, %v", res, err)
	}
	get := func(name string) string {
		buf := make([]byte, 8192)
		n, err := unix.Getxattr(path, name, buf)
		if err != nil {
			return err.Error()
		}
		return string(buf[:n])
	}
	if get("user.x") != "1" || get("user.big") != string(big) {
		t.Errorf("user.x is %q", get("user.x"))
	}
	if aclErr == nil && get("system.posix_acl_access") != string(acl) {
		t.Errorf("the access list is %q", get("system.posix_acl_access"))
	}
	if st, _ := os.Stat(path); aclErr == nil && st.Mode() != 0o660 {
		t.Errorf("mode is %v", st.Mode())
	}
}

// TestInheritedAccessList: a default list of the directory does not land on a file that had none.
func TestInheritedAccessList(t *testing.T) {
	b := newBench(t)
	path := b.write("a.go", "one\n")
	def := []byte("\x02\x00\x00\x00" + "\x01\x00\x07\x00\xff\xff\xff\xff" + "\x02\x00\x06\x00\xb5\x06\x00\x00" +
		"\x04\x00\x05\x00\xff\xff\xff\xff" + "\x10\x00\x07\x00\xff\xff\xff\xff" + "\x20\x00\x05\x00\xff\xff\xff\xff")
	if err := unix.Setxattr(b.dir, "system.posix_acl_default", def, 0); err != nil {
		t.Skipf("no access lists here: %v", err)
	}
	if _, err := b.replace("a.go", "one\n", "two\n"); err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Getxattr(path, "system.posix_acl_access", make([]byte, 100)); err == nil {
		t.Errorf("the file got an access list of %d bytes", n)
	}
}

// TestLinkChain is G01 and G02: the caller resolves, the links stay links.
func TestLinkChain(t *testing.T) {
	b := newBench(t)
	os.MkdirAll(b.path("real/deep"), 0o755)
	b.write("real/deep/f.go", "one\n")
	os.Symlink("real", b.path("linked"))
	os.Symlink("linked/deep/f.go", b.path("l1"))
	os.Symlink("l1", b.path("l2"))
	target, err := filepath.EvalSymlinks(b.path("l2"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Replace(bg, Request{Path: target, Root: b.dir, Expect: digest("one\n"), Candidate: []byte("two\n")}); err != nil {
		t.Fatal(err)
	}
	for _, l := range []string{"l1", "l2", "linked"} {
		if st, err := os.Lstat(b.path(l)); err != nil || st.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", l)
		}
	}
	b.want("real/deep/f.go", "two\n")
	b.want("l2", "two\n")
	if _, err := b.replace("l1", "two\n", "three\n"); !errors.Is(err, ErrSwapped) {
		t.Errorf("an unresolved link: got %v", err)
	}
	if _, err := b.Delete(bg, Request{Path: b.path("l2"), Root: b.dir, Expect: digest("two\n")}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.path("l2")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the link is still there")
	}
	b.want("l1", "two\n")
	if _, err := b.Move(bg, Request{Path: b.path("l1"), To: b.path("l3"), Root: b.dir, Expect: digest("two\n")}); err != nil {
		t.Fatal(err)
	}
	b.want("l3", "two\n")
}

func TestReadOnlyIsRefused(t *testing.T) {
	b := newBench(t)
	path := b.write("a.go", "one\n")
	os.Chmod(path, 0o444)
	if _, err := b.replace("a.go", "one\n", "two\n"); !errors.Is(err, ErrReadOnly) {
		t.Errorf("replace: %v", err)
	}
	if _, err := b.Delete(bg, Request{Path: path, Expect: digest("one\n")}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("delete: %v", err)
	}
	if st, _ := os.Stat(path); st.Mode() != 0o444 {
		t.Errorf("mode is %v", st.Mode())
	}
	b.want("a.go", "one\n")
}

func TestNotRegular(t *testing.T) {
	b := newBench(t)
	os.Mkdir(b.path("d"), 0o755)
	if err := unix.Mkfifo(b.path("p"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"d", "p"} {
		if _, err := b.replace(n, "", "x"); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v", n, err)
		}
	}
}

func TestHardLinks(t *testing.T) {
	b := newBench(t)
	b.write("a.go", "one and a half\n")
	os.Chmod(b.path("a.go"), 0o755)
	os.Link(b.path("a.go"), b.path("b.go"))
	res, err := b.replace("a.go", "one and a half\n", "two\n")
	if err != nil || res.Mode != ModeLeaseInPlace {
		t.Fatalf("got %+v, %v", res, err)
	}
	b.want("a.go", "two\n")
	b.want("b.go", "two\n")
	var st unix.Stat_t
	unix.Stat(b.path("b.go"), &st)
	if st.Nlink != 2 || st.Mode&0o7777 != 0o755 {
		t.Errorf("links %d, mode %o", st.Nlink, st.Mode&0o7777)
	}
	if _, err := b.Delete(bg, Request{Path: b.path("b.go"), Root: b.dir, Expect: digest("two\n")}); err != nil {
		t.Fatal(err)
	}
	b.want("a.go", "two\n")
}

// TestHardLinkWriters: another process writes through the other name in each window.
func TestHardLinkWriters(t *testing.T) {
	for _, style := range []string{"truncate", "append"} {
		for _, point := range []string{"in-place-ready", "in-place-compared", "in-place-half", "in-place-written"} {
			t.Run(style+"/"+point, func(t *testing.T) {
				b, w := newBench(t), newWriter(t)
				b.write("a.go", "base\n")
				os.Link(b.path("a.go"), b.path("b.go"))
				waits := false
				b.hook = func(p string) {
					if p == point {
						waits = w.try(style, b.path("b.go"), theirs)
					}
				}
				_, err := b.replace("a.go", "base\n", "ours\n")
				if waits {
					w.end()
				} else if point != "in-place-ready" {
					t.Error("the writer was not held back")
				}
				content, _ := os.ReadFile(b.path("a.go"))
				if !strings.Contains(string(content), theirs) {
					t.Errorf("their version is lost: %q, the call said %v", content, err)
				}
				if err != nil && strings.Contains(string(content), "ours") {
					t.Errorf("the call said %v, the path holds %q", err, content)
				}
			})
		}
	}
}

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	p, err := Probe(dir)
	if err != nil || p.Mode != ModeLease || !p.Exclusive || len(p.Notes) > 0 {
		t.Fatalf("got %+v, %v", p, err)
	}
	if all, _ := os.ReadDir(dir); len(all) > 0 {
		t.Errorf("left: %v", all)
	}
}
