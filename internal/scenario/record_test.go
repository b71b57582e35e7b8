//go:build linux

package scenario

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// onSmallDisk runs a scenario whose state directory is a file system of its own,
// of one mebibyte. What needs the right to mount is skipped without it.
func onSmallDisk(t *testing.T, script string) {
	t.Helper()
	a, err := Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	c := config(t, "vscode")
	state := filepath.Join(c.Dir, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", state, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(state, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := Run(context.Background(), c, a); err != nil {
		t.Error(err)
	}
}

// The disk that holds Stella's state is full in the middle of a session: an edit
// whose former content cannot be kept is refused, the person is told, and
// everything goes on, recorded, once there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	onSmallDisk(t, `It is full.
-- script --
ask read a.py ; edit a.py "one" "two"
want disk a.py "two\n"
exec sh -c "head -c 2m /dev/zero > $STELLA_HOME/fill || true"
ask edit a.py "two" "three" ; edit b.py "b" "B" base=none ; create new.py "new\n"
want statuses edit_file guard_unavailable missing_base
want statuses write_file guard_unavailable
want result edit_file.1 text contains "no space left on device"
want notice contains "not recorded"
want disk a.py "two\n"
want absent new.py
exec sh -c "rm $STELLA_HOME/fill"
ask edit a.py "two" "three" ; create new.py "new\n"
want disk a.py "three\n"
restart
resume
want changes a.py new.py
ask edit a.py "three" "four"
want applied a.py
undoedit e1
want undo-refused a.py
-- a.py --
one
-- b.py --
b
`)
}

// It is full from the beginning: the session cannot be recorded until there is
// room, and is from then on.
func TestFullDiskAtStart(t *testing.T) {
	t.Parallel()
	onSmallDisk(t, `It is full at the start.
-- script --
open a.py
ask read a.py
exec sh -c "head -c 2m /dev/zero > $STELLA_HOME/fill || true"
session second
ask read a.py ; edit a.py "one" "two"
want refused guard_unavailable a.py
want notice contains "not recorded"
want buffer a.py "one\n"
exec sh -c "rm $STELLA_HOME/fill"
ask edit a.py "one" "two"
want applied
want disk a.py "two\n"
kill
start
resume
want changes a.py
undoturn
want disk a.py "one\n"
-- a.py --
one
`)
}

// The state directory can be read and not written: it is said, the session can
// be used for everything that needs no place to keep what a write takes away.
func TestReadOnlyState(t *testing.T) {
	t.Parallel()
	onSmallDisk(t, `It is read-only.
-- script --
session first
ask read a.py ; edit a.py "one" "two"
kill
exec sh -c "mount -o remount,ro $STELLA_HOME"
start
open b.py
session second
ask read a.py ; edit a.py "two" "three" ; read b.py ; edit b.py "b" "B"
want statuses edit_file guard_unavailable guard_unavailable
want message "files cannot be changed on disk now"
want result edit_file.1 text contains "read-only"
want result edit_file.2 text contains "read-only"
want notice contains "not recorded"
want disk a.py "two\n"
want buffer b.py "b\n"
exec sh -c "mount -o remount,rw $STELLA_HOME"
ask edit a.py "two" "three"
want applied
want disk a.py "three\n"
want changes a.py
-- a.py --
one
-- b.py --
b
`)
	onSmallDisk(t, `The record alone is read-only, from the start.
-- script --
ask read a.py ; edit a.py "one" "two"
kill
exec sh -c "mount --bind $STELLA_HOME/work $STELLA_HOME/work && mount -o remount,ro,bind $STELLA_HOME/work"
start
want listed idle
resume
want changes a.py
ask edit a.py "two" "three" ; read a.py ; create new.py "new\n"
want statuses edit_file guard_unavailable
want statuses write_file guard_unavailable
want result edit_file text contains "read-only"
want notice contains "not recorded"
want disk a.py "two\n"
want absent new.py
exec sh -c "umount -l $STELLA_HOME/work"
ask edit a.py "two" "three"
want disk a.py "three\n"
-- a.py --
one
`)
}

// spoiled plays one session, spoils its record between two servers, and plays
// what the second one must do.
func spoiled(t *testing.T, spoil string, then string) {
	t.Helper()
	a, err := Parse("The record is spoiled.\n-- script --\nask read a.py ; edit a.py \"one\" \"two\"\nkill\nexec sh -ec " + quoted(spoil) +
		"\nstart\n" + then + "\n-- a.py --\none\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(context.Background(), config(t, "vscode"), a); err != nil {
		t.Error(err)
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// What the session can do whose record cannot be read.
const unread = `
want message "cannot be read"
want message "Nothing of your files is lost"
ask edit a.py "two" "three" base=sha256:27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a
want refused guard_unavailable a.py
want disk a.py "two\n"
ask read a.py ; edit a.py "two" "three"
want disk a.py "three\n"
want changes a.py
undoturn
want disk a.py "two\n"
`

// TestSpoiledRecord cuts, bends and replaces each kind of file of the record.
func TestSpoiledRecord(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for name, spoil := range map[string]string{
		"ref empty":   `for f in "$STELLA_HOME"/work/*.git/refs/stella/sessions/*; do : > "$f"; done`,
		"ref cut":     `for f in "$STELLA_HOME"/work/*.git/refs/stella/sessions/*; do truncate -s 20 "$f"; done`,
		"packs empty": `for f in "$STELLA_HOME"/work/*.git/objects/pack/*.pack; do chmod 600 "$f"; : > "$f"; done`,
		"packs cut":   `for f in "$STELLA_HOME"/work/*.git/objects/pack/*.pack; do chmod 600 "$f"; truncate -s -30 "$f"; done`,
		"indexes cut": `for f in "$STELLA_HOME"/work/*.git/objects/pack/*.idx; do chmod 600 "$f"; truncate -s 1000 "$f"; done`,
		"newer": `cd "$STELLA_HOME"/work/*.git; id=$(ls refs/stella/sessions); blob=$(echo '{"version": 7, "session": 1}' | git --git-dir=. hash-object -w --stdin)
tree=$(printf '100644 blob %s\tmeta.json\n' "$blob" | git --git-dir=. mktree)
new=$(git --git-dir=. commit-tree -p refs/stella/sessions/$id -m newer $tree); git --git-dir=. update-ref refs/stella/sessions/$id $new`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			then := "resume\n" + unread
			if name == "newer" {
				then = strings.Replace(then, "want message \"Nothing", "want message \"newer stella-ls\"\nwant message \"Nothing", 1)
			}
			spoiled(t, spoil, then)
		})
	}
	t.Run("all of it", func(t *testing.T) {
		t.Parallel()
		spoiled(t, `rm -r "$STELLA_HOME"/work`, `want listed none
ask read a.py ; edit a.py "two" "three"
want applied`)
	})
	t.Run("list of workspaces", func(t *testing.T) {
		t.Parallel()
		spoiled(t, `echo '{"version": 7}' > "$STELLA_HOME"/work/workspaces.json`, `want listed none
want message "newer stella-ls"
ask read a.py ; edit a.py "two" "three"
want disk a.py "three\n"
want notice contains "not recorded"
undoturn
want disk a.py "two\n"`)
	})
}
