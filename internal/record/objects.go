package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// maxObject bounds what is read back into memory.
const maxObject = 256 << 20

// Temporaries are named as git names its own, so that git's clean-up knows
// them, then by the session that writes: whoever holds the session's lock may
// remove what an earlier holder left.
const (
	tmpPack = "tmp_pack_"
	tmpIdx  = "tmp_idx_"
)

// faultFunc is called between any two effects on the disk; tests kill the
// process or fail there. It is nil otherwise.
type faultFunc func(point string) error

func (f faultFunc) at(point string) error {
	if f == nil {
		return nil
	}
	return f(point)
}

// objects is the object database of one repository. What a commit needs is
// written as one pack: making files is what a step costs, and a step then makes
// two of them, however much it holds.
type objects struct {
	repo  string
	dir   string // .../objects/pack
	fault faultFunc
	// joinAt is how many packs of a size are joined.
	joinAt int

	mu    sync.Mutex // guards index and bad
	index map[string]*packIndex
	bad   map[string]error // indexes that cannot be read
}

func newObjects(repo string, fault faultFunc) *objects {
	return &objects{repo: repo, dir: filepath.Join(repo, "objects", "pack"), fault: fault, joinAt: packsPerSize, index: map[string]*packIndex{}, bad: map[string]error{}}
}

// put makes objects durable; name is the pack that holds them. A crash before
// it returns leaves temporaries, or a pack that nothing refers to.
func (o *objects) put(session string, list []pending) (name string, err error) {
	seen := map[plumbing.Hash]bool{}
	var fresh []pending
	for _, p := range list {
		if !seen[p.hash] {
			seen[p.hash] = true
			fresh = append(fresh, p)
		}
	}
	pack, idx, name, err := makePack(fresh)
	if err != nil {
		return "", err
	}
	return name, o.install(session, name, idx, func(w io.Writer) error {
		_, err := w.Write(pack)
		return err
	})
}

// install writes a pack and its index under temporary names, syncs them, and
// gives them their names: the pack first, since an index makes it count.
func (o *objects) install(session, name string, idx []byte, pack func(io.Writer) error) error {
	temps := [2]string{}
	done := false
	defer func() {
		for _, t := range temps {
			if !done && t != "" {
				_ = os.Remove(t) // renamed by now, or else removed at the next start
			}
		}
	}()
	write := func(i int, prefix string, content func(io.Writer) error) (err error) {
		temps[i], err = o.writeTemp(prefix+session+"~", content)
		return err
	}
	err := o.both(
		func() error { return write(0, tmpPack, pack) },
		func() error {
			return write(1, tmpIdx, func(w io.Writer) error { _, err := w.Write(idx); return err })
		})
	if err != nil {
		return err
	}
	for i, ext := range []string{".pack", ".idx"} {
		if err := errors.Join(os.Rename(temps[i], filepath.Join(o.dir, name+ext)), o.fault.at("renamed "+ext)); err != nil {
			return err
		}
	}
	done = true
	if err := errors.Join(syncDir(o.dir), o.fault.at("pack directory synced")); err != nil {
		return err
	}
	x, err := parseIndex(name, idx)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.index[name] = x
	return nil
}

// both runs two things at once, where no test counts the order: the file system
// joins syncs that arrive together.
func (o *objects) both(a, b func() error) error {
	if o.fault != nil {
		if err := a(); err != nil {
			return err
		}
		return b()
	}
	ch := make(chan error, 1)
	go func() { ch <- b() }()
	return errors.Join(a(), <-ch)
}

func (o *objects) writeTemp(pattern string, content func(io.Writer) error) (string, error) {
	f, err := os.CreateTemp(o.dir, pattern+"*")
	if err != nil {
		return "", err
	}
	err = o.fault.at("temporary made")
	if err == nil {
		err = errors.Join(content(f), o.fault.at("temporary written"))
	}
	if err == nil {
		err = errors.Join(f.Chmod(0o400), f.Sync(), o.fault.at("temporary synced"))
	}
	return f.Name(), errors.Join(err, f.Close())
}

// get reads an object and proves that it is the one that was asked for.
func (o *objects) get(h plumbing.Hash) (plumbing.ObjectType, []byte, error) {
	kind, body, found, err := o.look(h)
	if !found || errors.Is(err, fs.ErrNotExist) {
		// Another process wrote or joined packs since the indexes were read.
		if err := o.reload(); err != nil {
			return 0, nil, err
		}
		kind, body, found, err = o.look(h)
	}
	if !found || errors.Is(err, errDelta) {
		return o.foreign(h)
	}
	if err == nil && hashOf(kind, body) != h {
		err = errors.New("it holds something else")
	}
	if err != nil {
		return 0, nil, damaged("object %s: %v", h, err)
	}
	return kind, body, nil
}

func (o *objects) look(h plumbing.Hash) (kind plumbing.ObjectType, body []byte, found bool, err error) {
	name, offset := "", int64(0)
	o.mu.Lock()
	for _, x := range o.index {
		at, big, ok := x.find(h)
		if ok && !big {
			name, offset = x.name, at
			break
		}
	}
	o.mu.Unlock()
	if name == "" {
		return 0, nil, false, nil
	}
	f, err := os.Open(filepath.Join(o.dir, name+".pack"))
	if err != nil {
		return 0, nil, true, err
	}
	defer func() { _ = f.Close() }() // only read
	kind, body, _, err = readAt(f, offset)
	return kind, body, true, err
}

// reload reads the indexes that are new and forgets those that are gone.
func (o *objects) reload() error {
	names, err := o.packs()
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	old := o.index
	o.index, o.bad = map[string]*packIndex{}, map[string]error{}
	for _, name := range names {
		if x, ok := old[name]; ok {
			o.index[name] = x
			continue
		}
		raw, err := os.ReadFile(filepath.Join(o.dir, name+".idx"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // joined with others just now
		}
		var x *packIndex
		if err == nil {
			x, err = parseIndex(name, raw)
		}
		if err != nil {
			o.bad[name] = err // other sessions may not need it
			continue
		}
		o.index[name] = x
	}
	return nil
}

// packs are the names of all packs that have an index, in order.
func (o *objects) packs() ([]string, error) {
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".idx"); ok && strings.HasPrefix(name, "pack-") {
			out = append(out, name)
		}
	}
	return out, nil
}

// foreign reads what only git writes: loose objects and deltas, after somebody
// ran git's own clean-up on the record.
func (o *objects) foreign(h plumbing.Hash) (plumbing.ObjectType, []byte, error) {
	o.mu.Lock()
	var why error
	for _, err := range o.bad {
		why = err
	}
	o.mu.Unlock()
	store := filesystem.NewStorage(osfs.New(o.repo), cache.NewObjectLRU(8<<20))
	obj, err := store.EncodedObject(plumbing.AnyObject, h)
	if err != nil && why != nil {
		return 0, nil, why
	}
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return 0, nil, damaged("object %s is missing", h)
	}
	if err != nil {
		return 0, nil, damaged("object %s cannot be read (%v)", h, err)
	}
	r, err := obj.Reader()
	if err != nil {
		return 0, nil, damaged("object %s cannot be read (%v)", h, err)
	}
	body, err := io.ReadAll(io.LimitReader(r, maxObject))
	err = errors.Join(err, r.Close())
	if err != nil || hashOf(obj.Type(), body) != h {
		return 0, nil, damaged("object %s is cut off or altered (%v)", h, err)
	}
	return obj.Type(), body, nil
}

// getKind is get with a wanted type.
func (o *objects) getKind(h plumbing.Hash, want plumbing.ObjectType) ([]byte, error) {
	kind, body, err := o.get(h)
	if err == nil && kind != want {
		err = damaged("object %s is a %s where a %s belongs", h, kind, want)
	}
	return body, err
}

// sweep removes the temporaries that a session's dead process left. The
// session's lock must be held.
func (o *objects) sweep(session string) error {
	var errs []error
	for _, prefix := range []string{tmpPack, tmpIdx} {
		list, err := filepath.Glob(filepath.Join(o.dir, prefix+session+"~*"))
		errs = append(errs, err)
		for _, t := range list {
			if err := os.Remove(t); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// still fails when a pack that was put is gone with what it held: a removal of
// old sessions spares what is younger than an hour, but a machine can sleep for
// longer than that. Joined with other packs it is not gone.
func (o *objects) still(pack string, holds plumbing.Hash) error {
	_, err := os.Stat(filepath.Join(o.dir, pack+".idx"))
	if err == nil {
		_, err = os.Stat(filepath.Join(o.dir, pack+".pack"))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, _, err := o.get(holds); err != nil {
		return fmt.Errorf("what was written is gone again: %w", err)
	}
	return nil
}
