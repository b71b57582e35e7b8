//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const outsiderEnv = "STELLA_TORTURE_OUTSIDER"

// allStyles: "linked" is append to a file with two names, which is committed in
// place; "late" is append by writers that stall between finding the file and
// opening it.
var allStyles = []string{"rename", "truncate", "append", "linked", "late"}

const (
	lateWriters = 32
	latePause   = 50 * time.Millisecond // up to; a parked file waits for longer than a second
)

// outsider is the other program. It knows nothing of the engine.
type outsider struct {
	path string
	rng  *rand.Rand
	last *os.File // the file it wrote last, kept open for reading so that its inode is not used again
}

// outsiderMain runs "style|path|writes|gap|seed" and prints the ids that must be found.
func outsiderMain(args string) error {
	f := strings.Split(args, "|")
	if len(f) != 5 {
		return errors.New("bad arguments")
	}
	n, _ := strconv.Atoi(f[2])
	gap, _ := strconv.Atoi(f[3])
	seed, _ := strconv.ParseUint(f[4], 10, 64)
	o := &outsider{path: f[1], rng: rand.New(rand.NewPCG(seed, 1))}
	out := bufio.NewWriter(os.Stdout)
	if f[0] == "late" {
		return errors.Join(o.late(n, out), out.Flush())
	}
	write := map[string]func(int) (bool, error){"rename": o.rename, "truncate": o.truncate, "append": o.append, "linked": o.append}[f[0]]
	if write == nil {
		return fmt.Errorf("no style %q", f[0])
	}
	for id := 1; id <= n; id++ {
		taken, err := write(id)
		if err != nil {
			return err
		}
		if taken && id > 1 {
			fmt.Fprintln(out, id-1)
		}
		o.pause(gap)
	}
	fmt.Fprintln(out, n) // nothing of its own replaced the last one
	return out.Flush()
}

// pause waits between 0 and twice gap. Short waits spin, because the system's
// timers are coarser than the windows that are to be hit; a fifth of the writes
// follow without any pause.
func (o *outsider) pause(gap int) {
	if o.rng.IntN(5) == 0 || gap == 0 {
		return
	}
	d := time.Duration(o.rng.IntN(2 * gap))
	if d > 500*time.Microsecond {
		time.Sleep(d)
		return
	}
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

// state is a whole file of some size that carries the id.
func (o *outsider) state(id int) []byte {
	return fmt.Appendf(nil, "%s%d\n%s\n", idPrefix, id, strings.Repeat("x", o.rng.IntN(3000)))
}

// rename saves as most editors do. taken: the former state was not at the path any more.
func (o *outsider) rename(id int) (taken bool, err error) {
	tmp := o.path + ".save"
	if err := os.WriteFile(tmp, o.state(id), 0o644); err != nil {
		return false, err
	}
	next, err := os.Open(tmp)
	if err != nil {
		return false, err
	}
	before := o.last != nil && sameInode(o.last, o.path)
	if err := os.Rename(tmp, o.path); err != nil {
		return false, err
	}
	if o.last != nil {
		taken = !before || links(o.last) > 0
		o.last.Close()
	}
	o.last = next
	return taken, nil
}

// truncate saves in place.
func (o *outsider) truncate(id int) (taken bool, err error) {
	f, err := os.OpenFile(o.path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return false, err
	}
	taken = o.last == nil || inode(f) != inode(o.last)
	content := o.state(id)
	half := o.rng.IntN(len(content))
	_, err = f.Write(content[:half])
	if err == nil {
		_, err = f.Write(content[half:])
	}
	if taken && err == nil {
		if o.last != nil {
			o.last.Close()
		}
		// By descriptor: the path may name another file by now.
		o.last, err = os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	}
	return taken, errors.Join(err, f.Close())
}

// append adds a line, as a log or a shell's >> does. Every id must be found.
func (o *outsider) append(id int) (bool, error) {
	f, err := os.OpenFile(o.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return false, err
	}
	_, err = fmt.Fprintf(f, "%s%d\n", idPrefix, id)
	return true, errors.Join(err, f.Close())
}

// late appends n lines by several writers, each of which resolves the path, waits,
// and only then opens what it had found: the file may have left the path by then.
// All ids must be found. One that a busy machine kept from opening for over a
// second is printed with a minus: no parking waits for ever.
func (o *outsider) late(n int, out io.Writer) error {
	var next atomic.Int64
	var mu sync.Mutex // guards out
	var wg sync.WaitGroup
	errs := make(chan error, lateWriters)
	for range lateWriters {
		seed := o.rng.Uint64()
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 2))
			for id := next.Add(1); id <= int64(n); id = next.Add(1) {
				took, err := lateAppend(o.path, id, time.Duration(rng.Int64N(int64(latePause))))
				if err != nil {
					errs <- err
					return
				}
				mu.Lock()
				if took > time.Second {
					fmt.Fprintln(out, -id)
				} else {
					fmt.Fprintln(out, id)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// lateAppend returns how long it took from the path to the open file.
func lateAppend(path string, id int64, pause time.Duration) (took time.Duration, err error) {
	start := time.Now()
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	time.Sleep(pause)
	f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return 0, err
	}
	took = time.Since(start)
	_, err = fmt.Fprintf(f, "%s%d\n", idPrefix, id)
	return took, errors.Join(err, f.Close())
}

func stat(f *os.File) *syscall.Stat_t {
	st, err := f.Stat()
	if err != nil {
		panic(err) // an open descriptor can always be asked
	}
	return st.Sys().(*syscall.Stat_t)
}

func inode(f *os.File) uint64 { return stat(f).Ino }
func links(f *os.File) uint64 { return uint64(stat(f).Nlink) } //nolint:unconvert // width differs between systems

func sameInode(f *os.File, path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Sys().(*syscall.Stat_t).Ino == inode(f)
}
