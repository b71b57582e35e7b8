//go:build !linux && unix

package record

import (
	"fmt"
	"os"
	"syscall"
)

func identify(dir string) (identity, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return identity{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() {
		return identity{}, fmt.Errorf("%s is not a directory", dir)
	}
	return identity{Dev: uint64(st.Dev), Ino: uint64(st.Ino)}, nil
}
