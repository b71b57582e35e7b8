package scenario

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func run(w *world, a []string) error {
	c := exec.Command(a[0], a[1:]...)
	c.Dir, c.Env = w.root, w.env
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// extern is what another program does to the disk.
func extern(w *world, a []string) error {
	path := w.path(a[1])
	need := func(n int) (string, error) {
		if len(a) <= n {
			return "", fmt.Errorf("extern %s needs %d arguments", a[0], n)
		}
		return a[n], nil
	}
	switch a[0] {
	case "delete":
		return os.RemoveAll(path)
	case "mkdir":
		return os.MkdirAll(path, 0o755)
	case "touch":
		later := time.Now().Add(5 * time.Second)
		return os.Chtimes(path, later, later)
	}
	arg, err := need(2)
	if err != nil {
		return err
	}
	switch a[0] {
	case "write":
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return writeInPlace(path, os.O_TRUNC, arg)
	case "append":
		return writeInPlace(path, os.O_APPEND, arg)
	case "replace": // a new file renamed over the old one, as many programs save
		if err := os.WriteFile(path+".new", []byte(arg), 0o644); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	case "rename":
		return os.Rename(path, w.path(arg))
	case "link":
		return os.Link(path, w.path(arg))
	case "xattr":
		name, value, _ := strings.Cut(arg, "=")
		return setXattr(path, name, value)
	case "symlink":
		return os.Symlink(arg, path)
	case "chmod":
		var mode os.FileMode
		if _, err := fmt.Sscanf(arg, "%o", &mode); err != nil {
			return err
		}
		return os.Chmod(path, mode)
	}
	return fmt.Errorf("extern cannot %q", a[0])
}

func writeInPlace(path string, flag int, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
