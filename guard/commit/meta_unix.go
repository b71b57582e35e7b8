//go:build linux || darwin

package commit

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// copyMeta gives dst the owner, extended attributes, access lists (which are
// attributes) and mode of src, whose info is i. What cannot be kept is returned
// as sentences. The mode comes last, because a change of owner clears set-id bits.
func copyMeta(dst, src *os.File, i info) (warnings []string, err error) {
	have, err := fstat(dst)
	if err != nil {
		return nil, err
	}
	fd := int(dst.Fd())
	if have.uid != i.uid || have.gid != i.gid {
		if unix.Fchown(fd, int(i.uid), int(i.gid)) != nil {
			if have.gid != i.gid && unix.Fchown(fd, -1, int(i.gid)) != nil {
				warnings = append(warnings, fmt.Sprintf("the group (%d) could not be kept", i.gid))
			}
			if have.uid != i.uid {
				warnings = append(warnings, fmt.Sprintf("the owner (%d) could not be kept", i.uid))
			}
		}
	}
	warnings = append(warnings, copyXattrs(fd, int(src.Fd()))...)
	return warnings, unix.Fchmod(fd, i.mode&0o7777)
}

// derivedXattr names attributes that belong to the old bytes or to the system.
func derivedXattr(name string) bool {
	switch name {
	case "security.capability", "security.ima", "security.evm":
		return true
	}
	return strings.HasPrefix(name, "com.apple.system.")
}

func copyXattrs(dst, src int) (warnings []string) {
	want, have := listXattrs(src), listXattrs(dst)
	keep := map[string]bool{}
	for _, name := range want {
		keep[name] = true
		if derivedXattr(name) {
			continue
		}
		v, ok := getXattr(src, name)
		if !ok {
			continue
		}
		if old, ok := getXattr(dst, name); ok && bytes.Equal(old, v) {
			continue
		}
		if err := unix.Fsetxattr(dst, name, v, 0); err != nil {
			warnings = append(warnings, fmt.Sprintf("the attribute %s could not be kept: %v", name, err))
		}
	}
	for _, name := range have { // inherited from the directory, such as a default access list
		if !keep[name] && !strings.HasPrefix(name, "security.") {
			unix.Fremovexattr(dst, name)
		}
	}
	return warnings
}

func listXattrs(fd int) []string {
	buf := make([]byte, 1024)
	for {
		n, err := unix.Flistxattr(fd, buf)
		if err == unix.ERANGE && len(buf) < 1<<20 {
			buf = make([]byte, 4*len(buf))
			continue
		}
		if err != nil || n <= 0 {
			return nil
		}
		return strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00")
	}
}

func getXattr(fd int, name string) ([]byte, bool) {
	buf := make([]byte, 1024)
	for {
		n, err := unix.Fgetxattr(fd, name, buf)
		if err == unix.ERANGE && len(buf) < 1<<20 {
			buf = make([]byte, 4*len(buf))
			continue
		}
		if err != nil {
			return nil, false
		}
		return buf[:n], true
	}
}
