package commit

import "golang.org/x/sys/unix"

const searchFlags = unix.O_PATH

func changeTime(st *unix.Stat_t) [2]int64 { return [2]int64{int64(st.Ctim.Sec), int64(st.Ctim.Nsec)} }

// exchange swaps two names of d in one step.
func (d *dir) exchange(a, b string) error {
	if lacking.exchange.Load() {
		return unix.EINVAL
	}
	return unix.Renameat2(d.fd, a, d.fd, b, unix.RENAME_EXCHANGE)
}

// renameNew renames to a name that must be free.
func (d *dir) renameNew(from string, to *dir, name string) error {
	if lacking.exclusive.Load() {
		return unix.EINVAL
	}
	return unix.Renameat2(d.fd, from, to.fd, name, unix.RENAME_NOREPLACE)
}
