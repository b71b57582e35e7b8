//go:build linux

package commit

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The test binary plays two more programs when it is started with these set:
// another program that writes files, and a process that dies within a call.
const (
	writerEnv = "STELLA_TEST_WRITER"
	crashEnv  = "STELLA_TEST_CRASH"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(writerEnv) != "":
		writerMain(os.Stdin, os.Stdout)
	case os.Getenv(crashEnv) != "":
		crashMain()
	default:
		os.Exit(m.Run())
	}
}

// childEnv keeps a race detector in the child from sleeping a second at exit.
func childEnv() []string { return append(os.Environ(), "GORACE=atexit_sleep_ms=0") }

// writer is the other program.
type writer struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan string // its answers
}

func newWriter(t *testing.T) *writer {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(childEnv(), writerEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &writer{t: t, in: in, lines: make(chan string, 16)}
	go func() {
		sc := bufio.NewScanner(out)
		for sc.Scan() {
			w.lines <- sc.Text()
		}
		close(w.lines)
	}()
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	return w
}

// start sends an order without waiting for its end.
func (w *writer) start(style, path, content string) {
	fmt.Fprintf(w.in, "%s\t%s\t%q\n", style, path, content)
}

// end waits for the answer to one order.
func (w *writer) end() {
	w.t.Helper()
	if got, ok := <-w.lines; !ok || got != "ok" {
		w.t.Errorf("the other program: %s", got)
	}
}

func (w *writer) do(style, path, content string) {
	w.t.Helper()
	w.start(style, path, content)
	w.end()
}

// try sends an order and returns when it was carried out or waits for a lease of
// this process. It reports whether it waits; then end is still to be called.
func (w *writer) try(style, path, content string) (waits bool) {
	w.t.Helper()
	broken, stop := breaks.watch()
	defer stop()
	w.start(style, path, content)
	select {
	case got := <-w.lines:
		if got != "ok" {
			w.t.Errorf("the other program: %s", got)
		}
		return false
	case <-broken:
		return true
	}
}

func writerMain(in io.Reader, out io.Writer) {
	sc := bufio.NewScanner(in)
	held := -1
	for sc.Scan() {
		f := strings.SplitN(sc.Text(), "\t", 3)
		var content string
		fmt.Sscanf(f[2], "%q", &content)
		if err := writeAs(f[0], f[1], content, &held); err != nil {
			fmt.Fprintln(out, f[0], err)
			continue
		}
		fmt.Fprintln(out, "ok")
	}
}

// writeAs carries out one order. The "late" styles write to the file that has a
// temporary's name, which is what a writer does that resolved the path before
// the exchange and opens it only afterwards.
func writeAs(style, path, content string, held *int) error {
	switch style {
	case "rename":
		tmp := path + ".save"
		if err := os.WriteFile(tmp, []byte(content), 0o644); err != nil {
			return err
		}
		return os.Rename(tmp, path)
	case "truncate":
		return os.WriteFile(path, []byte(content), 0o644)
	case "append":
		return appendTo(path, content)
	case "late-truncate":
		return os.WriteFile(temporaryIn(filepath.Dir(path)), []byte(content), 0)
	case "late-append":
		return appendTo(temporaryIn(filepath.Dir(path)), content)
	case "late-hold":
		fd, err := unix.Open(temporaryIn(filepath.Dir(path)), unix.O_PATH, 0)
		*held = fd
		return err
	case "late-held": // through a descriptor that was resolved before the name was removed
		return os.WriteFile(fmt.Sprintf("/proc/self/fd/%d", *held), []byte(content), 0)
	case "delete":
		return os.Remove(path)
	case "open":
		fd, err := unix.Open(path, unix.O_WRONLY, 0)
		*held = fd
		return err
	case "write":
		_, err := unix.Pwrite(*held, []byte(content), 0)
		return err
	case "close":
		return unix.Close(*held)
	}
	return syscall.EINVAL
}

func appendTo(path, content string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(content)
	return err
}

func temporaryIn(dir string) string {
	all, _ := filepath.Glob(filepath.Join(dir, tempPrefix+"*"))
	if len(all) != 1 {
		return fmt.Sprintf("%s/no-single-temporary-%d", dir, len(all))
	}
	return all[0]
}

var bg = context.Background()
