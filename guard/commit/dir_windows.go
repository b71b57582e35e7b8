package commit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

const modeWithoutBoth = ModeSharing

// dir is a directory below which names are changed. On Windows an os.Root holds
// it open; what os.Root cannot say is asked by path.
type dir struct {
	root *os.Root
	path string
}

func openDir(root, path string, mkdirs bool) (d *dir, base string, made []string, err error) {
	rel, err := below(root, path)
	if err != nil {
		return nil, "", nil, err
	}
	if root == "" {
		root = filepath.VolumeName(path) + `\`
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, "", nil, err
	}
	elems := strings.Split(rel, "/")
	at := filepath.Clean(root)
	for _, el := range elems[:len(elems)-1] {
		next, isNew, err := stepInto(r, el, mkdirs)
		r.Close()
		if isNew {
			made = append(made, filepath.Join(at, el))
		}
		if err != nil {
			return nil, "", made, err
		}
		r, at = next, filepath.Join(at, el)
	}
	return &dir{r, at}, elems[len(elems)-1], made, nil
}

func stepInto(r *os.Root, el string, mkdir bool) (next *os.Root, made bool, err error) {
	st, err := r.Lstat(el)
	if errors.Is(err, fs.ErrNotExist) && mkdir {
		if err = r.Mkdir(el, 0o777); err == nil {
			made = true
		}
		st, err = r.Lstat(el)
	}
	if err != nil {
		return nil, made, err
	}
	if !st.IsDir() || st.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
		return nil, made, ErrSwapped
	}
	next, err = r.OpenRoot(el)
	return next, made, err
}

func (d *dir) close() { d.root.Close() }

func (d *dir) dup() (*dir, error) {
	r, err := d.root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	return &dir{r, d.path}, nil
}

func (d *dir) sync() error { return nil } // directories cannot be synced here

func (d *dir) handle(name string, access, share uint32) (*os.File, error) {
	p, err := windows.UTF16PtrFromString(filepath.Join(d.path, name))
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateFile(p, access, share, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_OPEN_REPARSE_POINT|windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		return nil, ErrBusy
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), filepath.Join(d.path, name)), nil
}

// open denies write sharing: it fails while somebody has the file open for
// writing, and keeps others from it until it is closed. Renames are allowed.
func (d *dir) open(name string, write bool) (*os.File, error) {
	access := uint32(windows.GENERIC_READ)
	if write {
		access |= windows.GENERIC_WRITE
	}
	return d.handle(name, access, windows.FILE_SHARE_READ|windows.FILE_SHARE_DELETE)
}

func (d *dir) create(name string, perm fs.FileMode) (*os.File, error) {
	return d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
}

func (d *dir) lstat(name string) (info, error) {
	f, err := d.handle(name, windows.FILE_READ_ATTRIBUTES,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE)
	if err != nil {
		return info{}, err
	}
	defer f.Close()
	return fstat(f)
}

func fstat(f *os.File) (info, error) {
	var h windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &h); err != nil {
		return info{}, err
	}
	i := info{
		id:      fileID{uint64(h.VolumeSerialNumber), uint64(h.FileIndexHigh)<<32 | uint64(h.FileIndexLow)},
		links:   uint64(h.NumberOfLinks),
		size:    int64(h.FileSizeHigh)<<32 | int64(h.FileSizeLow),
		mode:    0o666,
		changed: [2]int64{h.LastWriteTime.Nanoseconds(), int64(h.FileAttributes)},
		link:    h.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0,
	}
	i.regular = !i.link && h.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY == 0
	if h.FileAttributes&windows.FILE_ATTRIBUTE_READONLY != 0 {
		i.mode = 0o444
	}
	return i, nil
}

func (d *dir) writable(_ string, i info) bool { return i.mode&0o222 != 0 }

func (d *dir) exchange(_, _ string) error { return errors.ErrUnsupported }

func (d *dir) renameNew(from string, to *dir, name string) error {
	a, errA := windows.UTF16PtrFromString(filepath.Join(d.path, from))
	b, errB := windows.UTF16PtrFromString(filepath.Join(to.path, name))
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	return windows.MoveFileEx(a, b, windows.MOVEFILE_WRITE_THROUGH) // never replaces
}

func (d *dir) rename(from string, to *dir, name string) error {
	if to.path == d.path {
		return d.root.Rename(from, name)
	}
	return os.Rename(filepath.Join(d.path, from), filepath.Join(to.path, name))
}

func (d *dir) link(from string, to *dir, name string) error {
	if to.path == d.path {
		return d.root.Link(from, name)
	}
	return os.Link(filepath.Join(d.path, from), filepath.Join(to.path, name))
}

func (d *dir) unlink(name string) error { return d.root.Remove(name) }
func (d *dir) rmdir(name string) error  { return d.root.Remove(name) }

func unsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, windows.ERROR_INVALID_FUNCTION) || errors.Is(err, windows.ERROR_NOT_SUPPORTED)
}

func isMountPoint(error) bool      { return false }
func isCrossDevice(err error) bool { return errors.Is(err, windows.ERROR_NOT_SAME_DEVICE) }

// copyMeta: a new file's permissions come from its directory here.
func copyMeta(_, _ *os.File, _ info) (warnings []string, err error) { return nil, nil }

func syncDir(string) error { return nil }

func lockFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
}
