package record

import (
	"fmt"

	"golang.org/x/sys/windows"
)

func identify(dir string) (identity, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return identity{}, err
	}
	h, err := windows.CreateFile(name, 0, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil,
		windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return identity{}, fmt.Errorf("open %s: %w", dir, err)
	}
	defer func() { _ = windows.CloseHandle(h) }() // only looked at
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &info); err != nil {
		return identity{}, err
	}
	return identity{Dev: uint64(info.VolumeSerialNumber), Ino: uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow), Born: info.CreationTime.Nanoseconds()}, nil
}
