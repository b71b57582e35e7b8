//go:build linux || darwin

package commit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// dir is an open directory. Everything the engine does to names goes through
// one, so that a parent that is moved or swapped during a call changes nothing.
type dir struct {
	fd   int
	path string // for messages and records only
}

const modeWithoutBoth = ModeRename

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC

// openDir opens the directory that holds path and returns path's last element.
// Below root no link is followed; with mkdirs missing directories are made and
// returned, outermost first.
func openDir(root, path string, mkdirs bool) (d *dir, base string, made []string, err error) {
	rel, err := below(root, path)
	if err != nil {
		return nil, "", nil, err
	}
	if root == "" {
		root = "/"
	}
	elems := strings.Split(rel, "/")
	base = elems[len(elems)-1]
	fd, err := unix.Open(root, dirFlags, 0)
	if err != nil {
		return nil, "", nil, err
	}
	at := filepath.Clean(root)
	for _, el := range elems[:len(elems)-1] {
		next, isNew, err := stepInto(fd, el, mkdirs)
		unix.Close(fd)
		if isNew {
			made = append(made, filepath.Join(at, el))
		}
		if err != nil {
			return nil, "", made, err
		}
		fd, at = next, filepath.Join(at, el)
	}
	return &dir{fd, at}, base, made, nil
}

func stepInto(fd int, el string, mkdir bool) (next int, made bool, err error) {
	next, err = unix.Openat(fd, el, dirFlags|unix.O_NOFOLLOW, 0)
	if err == unix.ENOENT && mkdir {
		switch err = unix.Mkdirat(fd, el, 0o777); err {
		case nil:
			made = true
			unix.Fsync(fd)
		case unix.EEXIST: // somebody made it meanwhile
		default:
			return -1, false, err
		}
		next, err = unix.Openat(fd, el, dirFlags|unix.O_NOFOLLOW, 0)
	}
	switch err {
	case unix.ELOOP, unix.ENOTDIR:
		err = ErrSwapped
	case unix.EACCES: // a directory may be searched but not listed; it then cannot be synced
		next, err = unix.Openat(fd, el, searchFlags|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	return next, made, err
}

func (d *dir) close() { unix.Close(d.fd) }

// dup returns a second handle that outlives d.
func (d *dir) dup() (*dir, error) {
	fd, err := unix.FcntlInt(uintptr(d.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &dir{fd, d.path}, nil
}

// sync makes renames durable. A directory that may not be opened for reading
// cannot be synced: that is no reason to undo a commit.
func (d *dir) sync() error {
	err := unix.Fsync(d.fd)
	if err == unix.EBADF || err == unix.EINVAL {
		return nil
	}
	return err
}

// open opens a regular file without following a link and without ever waiting
// for a lease: O_NONBLOCK turns that wait into EWOULDBLOCK, reported as ErrBusy.
func (d *dir) open(name string, write bool) (*os.File, error) {
	flags := unix.O_RDONLY
	if write {
		flags = unix.O_RDWR
	}
	fd, err := unix.Openat(d.fd, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	switch err {
	case nil:
	case unix.EWOULDBLOCK, unix.ETXTBSY:
		return nil, ErrBusy
	case unix.ELOOP:
		return nil, ErrSwapped
	case unix.ENXIO:
		return nil, ErrNotRegular
	default:
		return nil, err
	}
	unix.SetNonblock(fd, false)
	return os.NewFile(uintptr(fd), filepath.Join(d.path, name)), nil
}

// create makes a new file for reading and writing; the name must be free.
func (d *dir) create(name string, perm fs.FileMode) (*os.File, error) {
	fd, err := unix.Openat(d.fd, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(perm.Perm()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.path, name)), nil
}

func (d *dir) lstat(name string) (info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return info{}, err
	}
	return infoOf(&st), nil
}

func fstat(f *os.File) (info, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return info{}, err
	}
	return infoOf(&st), nil
}

func infoOf(st *unix.Stat_t) info {
	return info{
		id:    fileID{uint64(st.Dev), uint64(st.Ino)}, //nolint:unconvert // width differs between systems
		links: uint64(st.Nlink), size: st.Size, mode: uint32(st.Mode),
		uid: st.Uid, gid: st.Gid, changed: changeTime(st),
		regular: st.Mode&unix.S_IFMT == unix.S_IFREG,
		link:    st.Mode&unix.S_IFMT == unix.S_IFLNK,
	}
}

// writable reports whether this process may write the file; mode bits count for
// root too, because a person who takes them away means it.
func (d *dir) writable(name string, i info) bool {
	return i.mode&0o222 != 0 && unix.Faccessat(d.fd, name, unix.W_OK, unix.AT_EACCESS) == nil
}

func (d *dir) rename(from string, to *dir, name string) error {
	return unix.Renameat(d.fd, from, to.fd, name)
}
func (d *dir) link(from string, to *dir, name string) error {
	if lacking.links.Load() {
		return unix.EPERM
	}
	return unix.Linkat(d.fd, from, to.fd, name, 0)
}
func (d *dir) unlink(name string) error { return unix.Unlinkat(d.fd, name, 0) }
func (d *dir) rmdir(name string) error  { return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) }

func unsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOTSUP)
}

func isMountPoint(err error) bool  { return errors.Is(err, syscall.EBUSY) }
func isCrossDevice(err error) bool { return errors.Is(err, syscall.EXDEV) }
