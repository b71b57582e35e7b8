package commit

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Probed says what a directory's file system lets the engine do.
type Probed struct {
	Mode      string // the mode of a Replace there
	Lease     bool
	Exchange  bool
	Exclusive bool     // rename to a free name only
	Links     bool     // a file may have several names
	Notes     []string // what is missing and what that means
}

func (p Probed) mode() string {
	switch {
	case p.Exchange || p.Links:
		return (&attempt{lease: p.Lease}).mode(p.Exchange)
	case p.Lease:
		return ModeLeaseInPlace
	}
	return ModeInPlace
}

// Probe tries the engine's steps on temporaries in dir, which are removed.
func Probe(dir string) (Probed, error) {
	d, _, _, err := openDir(dir, filepath.Join(dir, "x"), false)
	if err != nil {
		return Probed{}, err
	}
	defer d.close()
	a, b, c := tempPrefix+newID(), tempPrefix+newID(), tempPrefix+newID()
	for _, n := range []string{a, b} {
		f, err := d.create(n, 0o600)
		if err != nil {
			return Probed{}, err
		}
		defer d.unlink(n)
		f.Close()
	}
	var p Probed
	f, err := d.open(a, false)
	if err != nil {
		return Probed{}, err
	}
	defer f.Close()
	if err := takeLease(f, readLease); err == nil || errors.Is(err, ErrBusy) {
		p.Lease = true
		dropLease(f)
	} else {
		p.Notes = append(p.Notes, "no leases here: a writer that takes longer than a second between opening a file and writing to it can be missed")
	}
	if err := d.exchange(a, b); err == nil {
		p.Exchange = true
	} else {
		p.Notes = append(p.Notes, fmt.Sprintf("names cannot be exchanged here (%v): a file renamed over the target within microseconds of a commit can be missed", err))
	}
	if err := d.renameNew(a, d, c); err == nil {
		p.Exclusive = true
		d.unlink(c)
	} else {
		p.Notes = append(p.Notes, fmt.Sprintf("no exclusive rename here (%v): new files are placed by a second or a reserved name", err))
	}
	if err := d.link(b, d, c); err == nil {
		p.Links = true
		d.unlink(c)
	} else if !p.Exchange {
		p.Notes = append(p.Notes, fmt.Sprintf("no hard links here either (%v): files are overwritten in place", err))
	}
	p.Mode = p.mode()
	return p, nil
}
