//go:build linux

package commit

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

const theirs = "theirs: unique\n"

// replacePoints are all places of a Replace between two steps, in order.
var replacePoints = []string{"intent-prepared", "temp-created", "temp-written", "intent-ready", "leased", "compared", "checked",
	"exchanged", "dir-synced", "parked", "before-retire", "unlinked"}

// TestReplaceRaces lets another process write in each window of a Replace, in
// each style. Whatever the call answers: their version is at the path or in the
// store at the end, or the call compared it first; and a call that fails left
// nothing of its candidate at the path.
func TestReplaceRaces(t *testing.T) {
	for _, style := range []string{"rename", "truncate", "append"} {
		for _, point := range replacePoints {
			t.Run(style+"/"+point, func(t *testing.T) {
				b, w := newBench(t), newWriter(t)
				path := b.write("a.go", "base\n")
				waits := false
				var once sync.Once
				b.hook = func(p string) {
					if p == point {
						once.Do(func() { waits = w.try(style, path, theirs) })
					}
				}
				_, err := b.replace("a.go", "base\n", "ours\n")
				if err := b.Close(bg); err != nil {
					t.Fatal(err)
				}
				if waits {
					w.end()
				}
				content, readErr := os.ReadFile(path)
				if readErr != nil {
					t.Fatal(readErr)
				}
				at := strings.Contains(string(content), theirs)
				if !at && !b.stored("a.go", theirs) && !b.stored("a.go", "base\n"+theirs) {
					t.Errorf("their version is lost; the path holds %q, the call said %v", content, err)
				}
				if err != nil && strings.Contains(string(content), "ours") {
					t.Errorf("the call said %v, the path holds %q", err, content)
				}
				var stale *StaleError
				if err != nil && !errors.As(err, &stale) && !errors.Is(err, ErrBusy) {
					t.Errorf("unexpected kind of error: %v", err)
				}
			})
		}
	}
}

// TestLateWriter is the writer that had found the old file before the exchange.
func TestLateWriter(t *testing.T) {
	for _, style := range []string{"late-truncate", "late-append"} {
		for _, point := range []string{"parked", "before-retire"} {
			t.Run(style+"/"+point, func(t *testing.T) {
				b, w := newBench(t), newWriter(t)
				path := b.write("a.go", "base\n")
				waits := false
				var once sync.Once
				b.hook = func(p string) {
					if p == point {
						once.Do(func() { waits = w.try(style, path, theirs) })
					}
				}
				if _, err := b.replace("a.go", "base\n", "ours\n"); err != nil {
					t.Fatal(err)
				}
				if err := b.Close(bg); err != nil {
					t.Fatal(err)
				}
				if !waits {
					t.Error("the writer was not held back by the lease")
				} else {
					w.end()
				}
				want := theirs
				if style == "late-append" {
					want = "base\n" + theirs
				}
				b.want("a.go", want)
				if !b.stored("a.go", want) {
					t.Error("their version is not in the store")
				}
				r := <-b.race
				if !r.Restored || r.Theirs != digest(want) || r.Ours != digest("ours\n") {
					t.Errorf("got %+v", r)
				}
			})
		}
	}
}

// TestLateWriterAfterUnlink comes when the parked file has no name any more.
func TestLateWriterAfterUnlink(t *testing.T) {
	b, w := newBench(t), newWriter(t)
	path := b.write("a.go", "base\n")
	waits := false
	b.hook = func(p string) {
		switch p {
		case "parked":
			w.do("late-hold", path, "")
		case "unlinked":
			waits = w.try("late-held", path, theirs)
		}
	}
	if _, err := b.replace("a.go", "base\n", "ours\n"); err != nil {
		t.Fatal(err)
	}
	b.Close(bg)
	if !waits {
		t.Fatal("the writer was not held back by the lease")
	}
	w.end()
	b.want("a.go", "ours\n")
	if !b.stored("a.go", theirs) {
		t.Error("their version is lost")
	}
	if r := <-b.race; r.Restored || r.Theirs != digest(theirs) {
		t.Errorf("got %+v", r)
	}
}

// TestLateWriterPathMovedOn: a second commit stands at the path already.
func TestLateWriterPathMovedOn(t *testing.T) {
	b, w := newBench(t), newWriter(t)
	path := b.write("a.go", "base\n")
	parked := make(chan struct{})
	goOn := make(chan struct{})
	var once sync.Once
	b.hook = func(p string) {
		if p == "parked" {
			once.Do(func() { close(parked); <-goOn })
		}
	}
	if _, err := b.replace("a.go", "base\n", "ours\n"); err != nil {
		t.Fatal(err)
	}
	<-parked
	waits := w.try("late-truncate", path, theirs)
	if _, err := b.replace("a.go", "ours\n", "ours again\n"); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	b.Close(bg)
	if waits {
		w.end()
	}
	b.want("a.go", "ours again\n")
	if !b.stored("a.go", theirs) {
		t.Error("their version is lost")
	}
	if r := <-b.race; r.Restored {
		t.Errorf("got %+v", r)
	}
}

// TestRestoreLoop: while their first version is being put back, a second one
// arrives, by rename and by writing to what we had put at the path.
func TestRestoreLoop(t *testing.T) {
	for _, second := range []string{"rename", "truncate", "append", "delete"} {
		for _, point := range []string{"before-restore", "restored"} {
			t.Run(second+"/"+point, func(t *testing.T) {
				b, w := newBench(t), newWriter(t)
				path := b.write("a.go", "base\n")
				waits := false
				var first, again sync.Once
				b.hook = func(p string) {
					if p == "checked" {
						first.Do(func() { w.do("rename", path, theirs) })
					}
					if p == point {
						again.Do(func() { waits = w.try(second, path, "second\n") })
					}
				}
				_, err := b.replace("a.go", "base\n", "ours\n")
				b.Close(bg)
				if waits {
					w.end()
				}
				var raced *RacedError
				if !errors.As(err, &raced) || len(raced.Displaced) == 0 {
					t.Errorf("got %v, want a RacedError that names what was displaced", err)
				}
				content, _ := os.ReadFile(path)
				if strings.Contains(string(content), "ours") && second != "append" {
					t.Errorf("our candidate is at the path: %q", content)
				}
				overwritten := point == "restored" && second == "truncate" // by them, at the path, after it was put back
				if !overwritten && !b.storedLike(theirs) {
					t.Errorf("their first version passed through our hands and is not stored")
				}
				if second != "delete" && !strings.Contains(string(content), "second") && !b.storedLike("second") {
					t.Errorf("their second version is lost; the path holds %q", content)
				}
			})
		}
	}
}

// TestLateWriterOfWhatWasUndone: somebody found our candidate at the path while it
// was there for a moment, and writes to it when it is neither leased for the
// restore any more nor parked yet.
func TestLateWriterOfWhatWasUndone(t *testing.T) {
	b, w := newBench(t), newWriter(t)
	path := b.write("a.go", "base\n")
	var once, again sync.Once
	b.hook = func(p string) {
		switch p {
		case "checked":
			once.Do(func() { w.do("rename", path, theirs) })
		case "before-restore": // our candidate is appended to while it is at the path
			again.Do(func() { w.do("append", path, "second\n") })
		case "hands-stored":
			w.do("late-append", path, "third\n")
		}
	}
	_, err := b.replace("a.go", "base\n", "ours\n")
	var raced *RacedError
	if !errors.As(err, &raced) {
		t.Fatalf("got %v", err)
	}
	b.Close(bg)
	content, _ := os.ReadFile(path)
	for _, part := range []string{theirs, "second\n", "third\n"} {
		if !strings.Contains(string(content), part) && !b.storedLike(part) {
			t.Errorf("%q is lost; the path holds %q", part, content)
		}
	}
}

func (b *bench) storedLike(part string) bool {
	all, _ := b.store.List()
	for _, e := range all {
		if _, c, err := b.store.Get(e.ID); err == nil && strings.Contains(string(c), part) {
			return true
		}
	}
	return false
}

// TestWriterFinishesFirst: a writer that has the file open when the call starts
// and closes it within the wait is compared, not refused as busy.
func TestWriterFinishesFirst(t *testing.T) {
	b, w := newBench(t), newWriter(t)
	path := b.write("a.go", "base\n")
	w.do("open", path, "")
	b.hook = func(p string) {
		if p == "intent-ready" {
			w.do("write", path, "BASE\n")
			w.do("close", path, "")
		}
	}
	var stale *StaleError
	if _, err := b.replace("a.go", "base\n", "ours\n"); !errors.As(err, &stale) || string(stale.Bytes) != "BASE\n" {
		t.Fatalf("got %v", err)
	}
	b.want("a.go", "BASE\n")
}

func TestDeleteRaces(t *testing.T) {
	for _, style := range []string{"rename", "truncate", "append", "late-truncate"} {
		for _, point := range []string{"delete-ready", "leased", "compared", "moved-aside", "deleted", "parked", "before-retire"} {
			late := strings.HasPrefix(style, "late")
			if late != (point == "parked" || point == "before-retire") {
				continue // the name is gone by then, or not there yet
			}
			if (point == "moved-aside" || point == "deleted") && style == "append" {
				continue // nothing to append to
			}
			t.Run(style+"/"+point, func(t *testing.T) {
				b, w := newBench(t), newWriter(t)
				path := b.write("a.go", "base\n")
				waits := false
				var once sync.Once
				b.hook = func(p string) {
					if p == point {
						once.Do(func() { waits = w.try(style, path, theirs) })
					}
				}
				_, err := b.Delete(bg, Request{Path: path, Root: b.dir, Expect: digest("base\n")})
				b.Close(bg)
				if waits {
					w.end()
				}
				content, _ := os.ReadFile(path)
				if !strings.Contains(string(content), theirs) {
					t.Errorf("their version is lost: the path holds %q, the call said %v", content, err)
				}
			})
		}
	}
}

func TestMoveRaces(t *testing.T) {
	for _, style := range []string{"rename", "truncate", "append"} {
		for _, point := range []string{"leased", "compared", "moved"} {
			if point == "moved" && style == "append" {
				continue
			}
			t.Run(style+"/"+point, func(t *testing.T) {
				b, w := newBench(t), newWriter(t)
				path := b.write("a.go", "base\n")
				waits := false
				var once sync.Once
				b.hook = func(p string) {
					if p == point {
						once.Do(func() { waits = w.try(style, path, theirs) })
					}
				}
				_, err := b.Move(bg, Request{Path: path, To: b.path("b.go"), Root: b.dir, Expect: digest("base\n")})
				b.Close(bg)
				if waits {
					w.end()
				}
				from, _ := os.ReadFile(path)
				to, _ := os.ReadFile(b.path("b.go"))
				if !strings.Contains(string(from)+string(to), theirs) {
					t.Errorf("their version is lost: %q and %q, the call said %v", from, to, err)
				}
				if err == nil && string(to) != "base\n" && point != "moved" {
					t.Errorf("moved %q, which was not what was expected", to)
				}
			})
		}
	}
}

// TestLinkPutOver: in the moment of the exchange the file is replaced by a link.
// The link stays, and nothing is written through it.
func TestLinkPutOver(t *testing.T) {
	b := newBench(t)
	path := b.write("a.go", "base\n")
	b.write("target", "target\n")
	b.hook = func(p string) {
		if p == "checked" {
			os.Remove(path)
			os.Symlink("target", path)
		}
	}
	var stale *StaleError
	if _, err := b.replace("a.go", "base\n", "ours\n"); !errors.As(err, &stale) && !errors.Is(err, ErrSwapped) {
		t.Errorf("got %v", err)
	}
	b.Close(bg)
	if to, err := os.Readlink(path); err != nil || to != "target" {
		t.Errorf("the link: %q, %v", to, err)
	}
	b.want("target", "target\n")
}

// TestCleaner: hidden files are removed by somebody right after the exchange.
func TestCleaner(t *testing.T) {
	b := newBench(t)
	b.write("a.go", "base\n")
	b.hook = func(p string) {
		if p == "exchanged" {
			os.Remove(temporaryIn(b.dir))
		}
	}
	if _, err := b.replace("a.go", "base\n", "ours\n"); err != nil {
		t.Fatal(err)
	}
	b.Close(bg)
	b.want("a.go", "ours\n")
}

// TestDeleteOneOfTwoNames: a write through the other name brings nothing back.
func TestDeleteOneOfTwoNames(t *testing.T) {
	b, w := newBench(t), newWriter(t)
	path := b.write("a.go", "base\n")
	os.Link(path, b.path("b.go"))
	if _, err := b.Delete(bg, Request{Path: path, Root: b.dir, Expect: digest("base\n")}); err != nil {
		t.Fatal(err)
	}
	w.do("truncate", b.path("b.go"), theirs)
	b.Close(bg)
	b.want("b.go", theirs)
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the deleted name came back")
	}
}

// TestWatchersSeeTheFileArrive: the last that a watcher hears of the path is
// that a file moved there, also when a commit is undone.
func TestWatchersSeeTheFileArrive(t *testing.T) {
	for _, undone := range []bool{false, true} {
		b := newBench(t)
		path := b.write("a.go", "base\n")
		fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if undone {
			b.hook = func(p string) {
				if p == "checked" {
					writeAs("rename", path, theirs, nil)
				}
			}
		}
		if _, err := unix.InotifyAddWatch(fd, b.dir, unix.IN_ALL_EVENTS&^(unix.IN_OPEN|unix.IN_ACCESS|unix.IN_CLOSE|unix.IN_ATTRIB)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.replace("a.go", "base\n", "ours\n"); (err != nil) != undone {
			t.Fatal(err)
		}
		b.Close(bg)
		buf := make([]byte, 1<<16)
		n, err := unix.Read(fd, buf)
		if err != nil {
			t.Fatal(err)
		}
		var last uint32
		for buf = buf[:n]; len(buf) >= unix.SizeofInotifyEvent; {
			mask, size := binary.NativeEndian.Uint32(buf[4:]), int(binary.NativeEndian.Uint32(buf[12:]))
			name := strings.TrimRight(string(buf[16:16+size]), "\x00")
			if name == "a.go" {
				last = mask
			}
			buf = buf[16+size:]
		}
		if last != unix.IN_MOVED_TO {
			t.Errorf("undone %v: the last event of the path is %#x, want IN_MOVED_TO", undone, last)
		}
	}
}
