package commit

import "golang.org/x/sys/unix"

const searchFlags = 0x40000000 // O_SEARCH of Darwin, which x/sys does not name

func changeTime(st *unix.Stat_t) [2]int64 { return [2]int64{st.Ctim.Sec, st.Ctim.Nsec} }

func (d *dir) exchange(a, b string) error {
	return unix.RenameatxNp(d.fd, a, d.fd, b, unix.RENAME_SWAP)
}

func (d *dir) renameNew(from string, to *dir, name string) error {
	return unix.RenameatxNp(d.fd, from, to.fd, name, unix.RENAME_EXCL)
}
