package record

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/gofrs/flock"
)

// Steps make small packs. Of each size there may be so many before they are
// joined into one of the next, so that every byte is copied a few times in its
// life and the number of packs stays small.
const packsPerSize = 24

// sizes are the upper bounds of what is joined; bigger packs stay as they are.
var sizes = []int64{256 << 10, 4 << 20, 32 << 20}

// maxJoined bounds one join, which is laid out in memory.
const maxJoined = 64 << 20

// maintainer names the temporaries of joins; no session can be called so.
const maintainer = "+join"

// tidy joins packs in the background when there are many. One at a time; a
// process that is busy with it lets others go on.
func (s *Store) tidy() {
	s.objects.mu.Lock()
	many := len(s.objects.index) >= s.objects.joinAt
	s.objects.mu.Unlock()
	if !many || !s.tidying.CompareAndSwap(false, true) {
		return
	}
	s.background.Go(func() {
		defer s.tidying.Store(false)
		_ = s.Join() // what could not be joined now is joined later; nothing depends on it
	})
}

// Join joins small packs. It takes nothing away that anybody could need: the
// joined pack is durable before the others go, and a reader that finds one gone
// looks again.
func (s *Store) Join() error {
	return wrap("join", "", s.maintain(func() error {
		for _, limit := range sizes {
			if err := s.objects.joinSize(limit); err != nil {
				return err
			}
		}
		return nil
	}))
}

// maintain runs f as the only one to rearrange packs; if somebody does already,
// that is as good.
func (s *Store) maintain(f func() error) error {
	lock := flock.New(filepath.Join(s.dir, "stella", "maintain"))
	ok, err := lock.TryLock()
	if err != nil || !ok {
		return err
	}
	defer func() { _ = lock.Unlock() }() // the file is closed either way
	if err := s.objects.sweep(maintainer); err != nil {
		return err
	}
	if err := s.objects.reload(); err != nil {
		return err
	}
	return f()
}

// joinSize joins packs below limit, and above the size before it, if there are many.
func (o *objects) joinSize(limit int64) error {
	least := int64(0)
	if i := slices.Index(sizes, limit); i > 0 {
		least = sizes[i-1]
	}
	type sized struct {
		*packIndex
		size int64
	}
	var list []sized
	for _, x := range o.indexes() {
		info, err := os.Stat(filepath.Join(o.dir, x.name+".pack"))
		if err == nil && info.Size() >= least && info.Size() < limit {
			list = append(list, sized{x, info.Size()})
		}
	}
	if len(list) < o.joinAt {
		return nil
	}
	slices.SortFunc(list, func(a, b sized) int { return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.name, b.name)) })
	j := &joiner{seen: map[plumbing.Hash]bool{}}
	total := int64(0)
	for _, x := range list {
		if total += x.size; total > maxJoined {
			break
		}
		// A pack that does not prove sound stays where it is: joining it would
		// hide the damage behind a new checksum.
		if err := j.add(o.dir, x.packIndex, nil); err != nil && !errors.Is(err, errUnsound) {
			return err
		}
	}
	if len(j.packs) < 2 {
		return nil
	}
	return o.replace(j)
}

func (o *objects) indexes() []*packIndex {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []*packIndex
	for _, x := range o.index {
		out = append(out, x)
	}
	return out
}

// errUnsound: a pack is damaged, or holds deltas, which cannot be copied alone.
var errUnsound = errors.New("the pack cannot be copied")

// joiner collects objects of packs, as they lie there.
type joiner struct {
	body  bytes.Buffer // objects, without head and trailer
	index []packed
	seen  map[plumbing.Hash]bool
	packs []*packIndex // what was taken in
}

// add takes in a pack's objects, or those that keep names.
func (j *joiner) add(dir string, x *packIndex, keep map[plumbing.Hash]bool) error {
	raw, err := os.ReadFile(filepath.Join(dir, x.name+".pack"))
	if err != nil {
		return err
	}
	body := raw[:max(0, len(raw)-hashSize)]
	sum := sha1.Sum(body)
	if len(raw) < packHeader+hashSize || !bytes.Equal(sum[:], raw[len(body):]) || fmt.Sprintf("pack-%x", sum) != x.name {
		return fmt.Errorf("%w: %s", errUnsound, x.name) // damaged, or git's own
	}
	list := make([]packed, x.n)
	for i := range list {
		list[i].hash = plumbing.Hash(x.hash(i))
		at, big, ok := x.find(list[i].hash)
		if !ok || big || at < packHeader || at >= int64(len(body)) {
			return fmt.Errorf("%w: %s", errUnsound, x.name)
		}
		list[i].offset = uint32(at)
	}
	slices.SortFunc(list, func(a, b packed) int { return cmp.Compare(a.offset, b.offset) })
	for i, p := range list {
		end := len(body)
		if i+1 < len(list) {
			end = int(list[i+1].offset)
		}
		if j.seen[p.hash] || (keep != nil && !keep[p.hash]) {
			continue
		}
		j.seen[p.hash] = true
		object := body[p.offset:end]
		j.index = append(j.index, packed{p.hash, uint32(packHeader + j.body.Len()), crc32.ChecksumIEEE(object)})
		j.body.Write(object)
	}
	j.packs = append(j.packs, x)
	return nil
}

// replace writes what was collected as one pack, and then removes the packs it
// came from.
func (o *objects) replace(j *joiner) error {
	if len(j.index) > 0 {
		head := packHead(len(j.index))
		h := sha1.New()
		_, _ = h.Write(head) // never fails
		_, _ = h.Write(j.body.Bytes())
		sum := h.Sum(nil)
		name := fmt.Sprintf("pack-%x", sum)
		err := o.install(maintainer, name, makeIndex(j.index, sum), func(w io.Writer) error {
			for _, b := range [][]byte{head, j.body.Bytes(), sum} {
				if _, err := w.Write(b); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		j.packs = slices.DeleteFunc(j.packs, func(x *packIndex) bool { return x.name == name })
	}
	return o.removePacks(j.packs)
}

// removePacks takes the index first: without it git does not see the pack.
func (o *objects) removePacks(list []*packIndex) error {
	for _, x := range list {
		o.mu.Lock()
		delete(o.index, x.name)
		o.mu.Unlock()
		for _, ext := range []string{".idx", ".pack"} {
			if err := os.Remove(filepath.Join(o.dir, x.name+ext)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := o.fault.at("removed " + ext); err != nil {
				return err
			}
		}
	}
	return syncDir(o.dir)
}

// removeStrays removes packs whose process died before it could give them an
// index: they do not count. A young one may be about to get it.
func (o *objects) removeStrays(grace time.Duration) error {
	list, err := filepath.Glob(filepath.Join(o.dir, "pack-*.pack"))
	for _, path := range list {
		info, statErr := os.Stat(path)
		_, idxErr := os.Stat(strings.TrimSuffix(path, ".pack") + ".idx")
		if statErr == nil && errors.Is(idxErr, fs.ErrNotExist) && time.Since(info.ModTime()) >= grace {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// grace spares packs whose session may not have moved its ref yet.
const grace = time.Hour

// Prune removes sessions that were last written before a time and that nobody
// has open, each with all that belongs to it, and then what only they held. It
// returns their ids. Of one that cannot be read the age is its ref's; while such
// a one stays, nothing but refs is removed.
func (s *Store) Prune(ctx context.Context, before time.Time) ([]string, error) {
	ids, err := s.refs.list()
	if err != nil {
		return nil, wrap("prune", "", err)
	}
	var gone []string
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return gone, err
		}
		ok, err := s.pruneSession(id, before)
		if err != nil {
			return gone, wrap("prune", id, err)
		}
		if ok {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	return gone, wrap("prune", "", s.maintain(func() error { return s.collect(ctx) }))
}

func (s *Store) pruneSession(id string, before time.Time) (bool, error) {
	if !s.updated(id).Before(before) {
		return false, nil
	}
	lock, err := s.lockSession(id)
	if errors.Is(err, ErrBusy) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = lock.Unlock() }() // the file is closed either way
	if !s.updated(id).Before(before) {
		return false, nil // continued in between
	}
	if at, err := s.refs.read(id); err == nil {
		err = s.refs.remove(id, at)
		if err != nil {
			return false, err
		}
	} else if err := s.refs.removeDamaged(id); err != nil {
		return false, err
	}
	_ = os.Remove(s.lockPath(id)) // who waits for it looks again (takeLock); Windows keeps it
	return true, nil
}

// updated is when a session was last written.
func (s *Store) updated(id string) time.Time {
	if h, _, err := s.head(id); err == nil {
		return h.Updated
	}
	if info, err := os.Stat(s.refs.path(id)); err == nil {
		return info.ModTime()
	}
	return s.now() // packed by git and unreadable: a person was here
}

// collect removes packs, or parts of packs, that no session needs.
func (s *Store) collect(ctx context.Context) error {
	now := time.Now() // file times are the system's
	if err := s.objects.removeStrays(s.grace); err != nil {
		return err
	}
	list := s.objects.indexes()
	needed, err := s.reachable(ctx)
	if err != nil {
		return err
	}
	for _, x := range list {
		info, err := os.Stat(filepath.Join(s.objects.dir, x.name+".pack"))
		if err != nil || now.Sub(info.ModTime()) < s.grace {
			continue
		}
		n := 0
		for i := range x.n {
			if needed[plumbing.Hash(x.hash(i))] {
				n++
			}
		}
		switch {
		case n == 0:
			err = s.objects.removePacks([]*packIndex{x})
		case n <= x.n/2 && info.Size() <= maxJoined:
			j := &joiner{seen: map[plumbing.Hash]bool{}}
			if err = j.add(s.objects.dir, x, needed); err == nil {
				err = s.objects.replace(j)
			}
		}
		if err != nil && !errors.Is(err, errUnsound) {
			return err
		}
	}
	return nil
}

// reachable is every object that some session holds on to.
func (s *Store) reachable(ctx context.Context) (map[plumbing.Hash]bool, error) {
	ids, err := s.refs.list()
	if err != nil {
		return nil, err
	}
	out := map[plumbing.Hash]bool{}
	for _, id := range ids {
		at, err := s.refs.read(id)
		if err != nil {
			return nil, err
		}
		for !at.IsZero() && !out[at] {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			root, parent, err := s.readCommit(at)
			if err != nil {
				return nil, err
			}
			files, err := s.readTree(root)
			if err != nil {
				return nil, err
			}
			out[at], out[root] = true, true
			for _, h := range files {
				out[h] = true
			}
			at = parent
		}
	}
	return out, nil
}
