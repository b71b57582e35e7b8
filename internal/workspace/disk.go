package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// MaxFile bounds what View reads into memory, in bytes.
const MaxFile = 256 << 20

// readDisk reads the whole of a regular file. Absence is a Disk.
func readDisk(path string) (Disk, error) {
	f, err := openRegular(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotDir):
		return Disk{}, nil
	case err != nil:
		return Disk{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return Disk{}, &PathError{Op: "view", Path: path, Err: err}
	}
	if fi.Size() > MaxFile {
		return Disk{}, &PathError{Op: "view", Path: path, Err: ErrTooLarge, Hint: "files over 256 MiB are not handled"}
	}
	b, err := readAll(f, fi.Size())
	if err != nil {
		return Disk{}, unreadable(path, err)
	}
	return Disk{
		Exists: true, Bytes: b, Digest: DigestOf(b), Mode: fi.Mode(), ID: fileID(fi),
		ReadOnly: fi.Mode().Perm()&0o222 == 0 || !mayWrite(path),
	}, nil
}

// readAll reads to the end, which may lie before or behind size by now.
func readAll(r io.Reader, size int64) ([]byte, error) {
	buf := make([]byte, size+1) // one more, so that the end shows without growing
	n := 0
	for {
		m, err := r.Read(buf[n:])
		n += m
		if err == io.EOF {
			return buf[:n:n], nil
		}
		if err != nil {
			return nil, err
		}
		if n == len(buf) {
			if n > MaxFile {
				return nil, ErrTooLarge
			}
			buf = append(buf, make([]byte, n)...)
		}
	}
}

func openRegular(path string) (*os.File, error) {
	// A FIFO or device must not be opened at all: reading it could block or consume.
	fi, err := os.Lstat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
			return nil, err
		}
		return nil, unreadable(path, err)
	}
	switch {
	case fi.IsDir():
		return nil, &PathError{Op: "view", Path: path, Err: ErrDirectory, Hint: "list it instead"}
	case !fi.Mode().IsRegular() && fi.Mode()&fs.ModeSymlink == 0:
		return nil, &PathError{Op: "view", Path: path, Err: ErrNotRegular, Hint: "pipes, sockets and devices are not handled"}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, unreadable(path, err)
	}
	return f, nil
}

func unreadable(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	hint := "check its permissions and that its disk answers"
	if errors.Is(err, fs.ErrPermission) {
		hint = "the user that runs stella-ls may not read it"
	}
	return &PathError{Op: "view", Path: path, Err: errors.Join(ErrUnreadable, err), Hint: hint}
}
