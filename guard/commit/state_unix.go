//go:build linux || darwin

package commit

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncDir makes names in a directory of the state durable.
func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// lockFile takes the lock that says that the owner of an intents directory
// lives. It ends with the process, however that ends.
func lockFile(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}
