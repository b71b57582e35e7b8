package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
)

// Options open a Store.
type Options struct {
	Home string // $STELLA_HOME
	Root string // the workspace's root
	// Now stamps commits; nil is time.Now.
	Now func() time.Time

	fault faultFunc // tests
}

// Store is the record of one workspace. It is safe for concurrent use, and any
// number of processes may have it open.
type Store struct {
	id      string
	dir     string
	root    string
	place   string // root with links resolved
	now     func() time.Time
	objects *objects
	refs    refs

	grace time.Duration

	tidying    atomic.Bool
	background sync.WaitGroup

	mu   sync.Mutex // guards open
	open map[string]*Session
}

// Open finds or makes the record of the workspace at o.Root.
func Open(o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{root: o.Root, now: o.Now, open: map[string]*Session{}, grace: grace}
	id, err := workspaceID(o.Home, o.Root, func(id string) error {
		s.dir = filepath.Join(o.Home, "work", id+".git")
		s.objects, s.refs = newObjects(s.dir, o.fault), refs{dir: s.dir, fault: o.fault}
		return s.init()
	})
	if err == nil {
		s.id, s.place = id, resolved(o.Root)
		err = s.clear()
	}
	if err != nil {
		return nil, wrap("open", "", err)
	}
	return s, nil
}

// ID is the workspace's.
func (s *Store) ID() string { return s.id }

// Dir is the bare repository.
func (s *Store) Dir() string { return s.dir }

// config of the repository: git must not tidy up by itself, since it knows
// nothing of who is writing.
const gitConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
	logallrefupdates = false
	commitGraph = false
[gc]
	auto = 0
	writeCommitGraph = false
[maintenance]
	auto = false
`

// init makes the repository if it is not there; one process at a time is here.
// HEAD, by which git knows a repository, comes last.
func (s *Store) init() error {
	if _, err := os.Stat(filepath.Join(s.dir, "HEAD")); err == nil {
		return nil
	}
	if err := removeTemps(s.dir); err != nil {
		return err
	}
	dirs := []string{"", "stella", "stella/locks", "objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/stella", refPrefix}
	for _, d := range dirs {
		if err := errors.Join(os.MkdirAll(filepath.Join(s.dir, filepath.FromSlash(d)), 0o700), s.objects.fault.at("init directory")); err != nil {
			return err
		}
	}
	if err := errors.Join(writeFile(filepath.Join(s.dir, "config"), []byte(gitConfig)), s.objects.fault.at("init config")); err != nil {
		return err
	}
	for _, d := range []string{"objects/pack", "objects", "refs", "refs/stella", refPrefix, "stella", ""} {
		if err := syncDir(filepath.Join(s.dir, filepath.FromSlash(d))); err != nil {
			return err
		}
	}
	if err := writeFile(filepath.Join(s.dir, "HEAD"), []byte("ref: refs/heads/none\n")); err != nil {
		return err
	}
	return syncDir(filepath.Dir(s.dir))
}

// clear removes what processes left that died in the middle of a commit. Their
// sessions' locks are free; what a living process is writing stays.
func (s *Store) clear() error {
	dead := map[string]bool{}
	for dir, pattern := range map[string]string{s.objects.dir: "tmp_*~*", filepath.Dir(s.refs.path("x")): "*.lock"} {
		list, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, path := range list {
			name, _, _ := strings.Cut(filepath.Base(path), "~")
			name = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(name, tmpPack), tmpIdx), ".lock")
			dead[name] = true
		}
	}
	for id := range dead {
		if id == maintainer {
			if err := s.maintain(func() error { return nil }); err != nil {
				return err
			}
			continue
		}
		lock, err := s.lockSession(id) // clears
		if errors.Is(err, ErrBusy) {
			continue
		}
		if err != nil {
			return err
		}
		if err := lock.Unlock(); err != nil {
			return err
		}
	}
	return nil
}

// Create begins the record of a session. The id must not be taken.
func (s *Store) Create(ctx context.Context, h Header) (*Session, error) {
	if err := checkName(h.Session); err != nil {
		return nil, wrap("create", h.Session, err)
	}
	if n := s.adopt(h); n != nil {
		return n, nil
	}
	lock, err := s.lockSession(h.Session)
	if err != nil {
		return nil, wrap("create", h.Session, err)
	}
	h.Version, h.Created = Version, s.now().UTC()
	if h.Root == "" {
		h.Root = s.root
	}
	n := &Session{store: s, id: h.Session, lock: lock, beliefs: &believed{}, edits: map[string]*Edit{}}
	n.mu.Lock()
	err = n.commit(ctx, "session "+h.Session, change{meta: meta{Header: h}, beliefs: n.beliefs})
	n.mu.Unlock()
	if err != nil {
		return nil, wrap("create", h.Session, errors.Join(err, lock.Unlock()))
	}
	s.register(n)
	return n, nil
}

// Resume opens a session to go on with it, and returns what it was. No other
// process can have it until Session.Close, or until this process dies.
func (s *Store) Resume(ctx context.Context, id string) (*Session, *Loaded, error) {
	if err := checkName(id); err != nil {
		return nil, nil, wrap("resume", id, err)
	}
	if !s.knows(id) {
		return nil, nil, wrap("resume", id, ErrNotFound)
	}
	lock, err := s.lockSession(id)
	if err != nil {
		return nil, nil, wrap("resume", id, err)
	}
	l, at, err := s.load(ctx, id)
	if err != nil {
		return nil, nil, wrap("resume", id, errors.Join(err, lock.Unlock()))
	}
	n := &Session{store: s, id: id, lock: lock, head: at.head, beliefs: at.beliefs, meta: meta{l.Header, l.State, l.Resume}, edits: map[string]*Edit{}}
	for i := range l.Edits {
		n.edits[l.Edits[i].ID] = &l.Edits[i]
	}
	s.register(n)
	return n, l, nil
}

// knows reports whether a session of that id is in the record, readable or not.
func (s *Store) knows(id string) bool {
	if checkName(id) != nil {
		return false
	}
	at, err := s.refs.read(id)
	return err != nil || !at.IsZero()
}

// Continue begins the record of a session whose own cannot be read: that one is
// left as it is, for a newer program or a person, and what follows is kept under
// the next free name, "ID.2". Until it is closed it answers to both ids.
func (s *Store) Continue(ctx context.Context, id string, h Header) (*Session, error) {
	if err := checkName(id); err != nil {
		return nil, wrap("continue", id, err)
	}
	if n := s.adopt(h); n != nil {
		return n, nil
	}
	for n := 2; n < 100; n++ {
		h.Session = fmt.Sprintf("%s.%d", id, n)
		made, err := s.Create(ctx, h)
		if errors.Is(err, ErrExists) || errors.Is(err, ErrBusy) || errors.Is(err, ErrDamaged) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		s.open[id] = made
		s.mu.Unlock()
		return made, nil
	}
	return nil, wrap("continue", id, ErrExists)
}

// Load reads a session without opening it.
func (s *Store) Load(ctx context.Context, id string) (*Loaded, error) {
	if err := checkName(id); err != nil {
		return nil, wrap("load", id, err)
	}
	l, _, err := s.load(ctx, id)
	return l, wrap("load", id, err)
}

// Sessions lists all, newest first. One that cannot be read is in the list,
// with the reason.
func (s *Store) Sessions(ctx context.Context) ([]Info, error) {
	ids, err := s.refs.list()
	if err != nil {
		return nil, wrap("list", "", err)
	}
	var out []Info
	for _, id := range ids {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		info := Info{Live: s.live(id)}
		var resume bool
		info.Header, resume, info.Err = s.head(id)
		if info.Err != nil {
			info.Header, info.Err = Header{Session: id}, wrap("load", id, info.Err)
		}
		info.Interrupted, info.Running = resume && !info.Live, resume && info.Live
		out = append(out, info)
	}
	sortNewest(out)
	return out, nil
}

func (s *Store) register(n *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[n.id] = n
}

func (s *Store) opened(id string) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id]
}

// Close gives up every session that is still open, and waits for what runs in
// the background.
func (s *Store) Close() error {
	s.mu.Lock()
	var list []*Session
	for _, n := range s.open {
		list = append(list, n)
	}
	s.mu.Unlock()
	var errs []error
	for _, n := range list {
		errs = append(errs, n.Close())
	}
	s.background.Wait()
	return errors.Join(errs...)
}

// lockSession takes a session for this process; the system gives it back when
// the process ends, however it ends.
func (s *Store) lockSession(id string) (*flock.Flock, error) {
	if s.opened(id) != nil {
		return nil, fmt.Errorf("%w: this one", ErrBusy)
	}
	lock, err := s.takeLock(id)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.refs.clearLock(id), s.objects.sweep(id)); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return lock, nil
}

// takeLock locks the file that has the session's name now: one that a removal
// of old sessions took away in between is nobody's lock.
func (s *Store) takeLock(id string) (*flock.Flock, error) {
	for {
		lock := flock.New(s.lockPath(id))
		ok, err := lock.TryLock()
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, ErrBusy
		}
		mine, errA := lock.Stat()
		named, errB := os.Stat(s.lockPath(id))
		if errA == nil && errB == nil && os.SameFile(mine, named) {
			return lock, nil
		}
		if err := lock.Unlock(); err != nil {
			return nil, err
		}
		if errB != nil && !errors.Is(errB, fs.ErrNotExist) {
			return nil, errB
		}
	}
}

func (s *Store) lockPath(id string) string { return filepath.Join(s.dir, "stella", "locks", id) }

// live reports whether some process, this one included, has a session open.
func (s *Store) live(id string) bool {
	if s.opened(id) != nil {
		return true
	}
	if _, err := os.Stat(s.lockPath(id)); err != nil {
		return false
	}
	lock := flock.New(s.lockPath(id))
	ok, err := lock.TryRLock()
	if ok {
		_ = lock.Unlock() // the file is closed either way
	}
	return err == nil && !ok
}
