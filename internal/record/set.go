package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// SetOptions make a Set.
type SetOptions struct {
	Home string // $STELLA_HOME
	// Roots are the workspace's folders as they are now; the first takes what
	// belongs to none.
	Roots func() []string
	// Now stamps commits; nil is time.Now.
	Now func() time.Time
	// Failed hears once of each reason why the record of a root cannot be opened.
	Failed func(root string, err error)
	// Fault is called between any two effects on the disk; tests die there.
	Fault func(point string) error
}

// Set is the records of all roots of one server: a session is kept in the
// record of the root that it works in, so that a folder's sessions are found
// whichever other folders it is opened with. Stores are opened at their first
// need; one that cannot be is tried again at the next. It is safe for concurrent
// use.
type Set struct {
	o SetOptions

	mu    sync.Mutex // guards slots and told; held for memory only
	slots map[string]*slot
	told  map[string]bool
}

// slot is one root's store.
type slot struct {
	opening sync.Mutex
	store   atomic.Pointer[Store] // nil: not opened yet
}

var _ guard.Recorder = (*Set)(nil)

// NewSet opens nothing yet.
func NewSet(o SetOptions) *Set {
	if o.Failed == nil {
		o.Failed = func(string, error) {}
	}
	return &Set{o: o, slots: map[string]*slot{}, told: map[string]bool{}}
}

// ErrNoRoot: no folder is open.
var ErrNoRoot = errors.New("no folder is open, so there is no work record")

// Store is the record of the root that dir lies in.
func (s *Set) Store(dir string) (*Store, error) {
	root := s.rootOf(dir)
	if root == "" {
		return nil, wrap("open", "", ErrNoRoot)
	}
	s.mu.Lock()
	p := s.slots[root]
	if p == nil {
		p = &slot{}
		s.slots[root] = p
	}
	s.mu.Unlock()
	p.opening.Lock()
	defer p.opening.Unlock()
	if store := p.store.Load(); store != nil {
		return store, nil
	}
	store, err := Open(Options{Home: s.o.Home, Root: root, Now: s.o.Now, fault: s.o.Fault})
	if err != nil {
		s.failed(root, err)
		return nil, err
	}
	p.store.Store(store)
	return store, nil
}

func (s *Set) failed(root string, err error) {
	s.mu.Lock()
	known := s.told[err.Error()]
	s.told[err.Error()] = true
	s.mu.Unlock()
	if !known {
		s.o.Failed(root, err)
	}
}

// rootOf is the innermost root that dir lies in, else the first.
func (s *Set) rootOf(dir string) string {
	roots := s.o.Roots()
	if len(roots) == 0 {
		return ""
	}
	inner := ""
	for _, r := range roots {
		if len(r) > len(inner) && (within(r, dir) || within(r, resolved(dir))) {
			inner = r
		}
	}
	return cmp.Or(inner, roots[0])
}

func within(root, path string) bool {
	_, ok := workspace.Below(root, path)
	return ok
}

func resolved(dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return dir
	}
	return real
}

// stores are those of the present roots, and of former ones that were used. Two
// roots may be one directory, and then are one record.
func (s *Set) stores() (list []*Store, err error) {
	for _, root := range s.o.Roots() {
		store, openErr := s.Store(root)
		if openErr != nil {
			err = errors.Join(err, openErr)
			continue
		}
		list = appendStore(list, store)
	}
	for _, store := range s.opened() {
		list = appendStore(list, store)
	}
	return list, err
}

func appendStore(list []*Store, store *Store) []*Store {
	if slices.ContainsFunc(list, func(o *Store) bool { return o.dir == store.dir }) {
		return list
	}
	return append(list, store)
}

// Create begins a session's record in that of its root.
func (s *Set) Create(ctx context.Context, h Header) (*Session, error) {
	store, err := s.Store(h.Root)
	if err != nil {
		return nil, err
	}
	return store.Create(ctx, h)
}

// having is the store that knows a session, readable or not.
func (s *Set) having(id string) (*Store, error) {
	list, err := s.stores()
	for _, store := range list {
		if store.knows(id) {
			return store, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return nil, ErrNotFound
}

// Resume is Store.Resume, wherever the session is.
func (s *Set) Resume(ctx context.Context, id string) (*Session, *Loaded, error) {
	store, err := s.having(id)
	if err != nil {
		return nil, nil, wrap("resume", id, err)
	}
	return store.Resume(ctx, id)
}

// Load is Store.Load, wherever the session is.
func (s *Set) Load(ctx context.Context, id string) (*Loaded, error) {
	store, err := s.having(id)
	if err != nil {
		return nil, wrap("load", id, err)
	}
	return store.Load(ctx, id)
}

// Salvage is Store.Salvage, wherever the session is.
func (s *Set) Salvage(ctx context.Context, id string) *Loaded {
	store, err := s.having(id)
	if err != nil {
		return &Loaded{Header: Header{Session: id}}
	}
	return store.Salvage(ctx, id)
}

// Continue is Store.Continue, wherever the session is.
func (s *Set) Continue(ctx context.Context, id string, h Header) (*Session, error) {
	store, err := s.having(id)
	if err != nil {
		return nil, wrap("continue", id, err)
	}
	return store.Continue(ctx, id, h)
}

// Sessions lists those of all roots, newest first. With an error it is what
// could be listed.
func (s *Set) Sessions(ctx context.Context) ([]Info, error) {
	list, err := s.stores()
	var out []Info
	for _, store := range list {
		infos, listErr := store.Sessions(ctx)
		out, err = append(out, infos...), errors.Join(err, listErr)
	}
	sortNewest(out)
	return out, err
}

// Prune is Store.Prune of every root that is open now.
func (s *Set) Prune(ctx context.Context, before time.Time) ([]string, error) {
	list, err := s.stores()
	var gone []string
	for _, store := range list {
		ids, pruneErr := store.Prune(ctx, before)
		gone, err = append(gone, ids...), errors.Join(err, pruneErr)
	}
	return gone, err
}

// Close closes every store.
func (s *Set) Close() error {
	var errs []error
	for _, store := range s.opened() {
		errs = append(errs, store.Close())
	}
	return errors.Join(errs...)
}

// opened are the stores that were opened so far.
func (s *Set) opened() (list []*Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.slots {
		if store := p.store.Load(); store != nil {
			list = append(list, store)
		}
	}
	return list
}

// of is the store in which a session is open.
func (s *Set) of(session string) *Store {
	for _, store := range s.opened() {
		if store.opened(session) != nil {
			return store
		}
	}
	return nil
}

// PreImage is Store.PreImage. A session without a record gets one where the
// edited file lies; where no record can be opened it is guard.ErrNoRecord.
func (s *Set) PreImage(ctx context.Context, e guard.EditRecord) error {
	store := s.of(e.Session)
	if store == nil {
		var err error
		if store, err = s.Store(string(e.Path)); err != nil {
			return fmt.Errorf("%w: %w", guard.ErrNoRecord, err)
		}
	}
	return store.PreImage(ctx, e)
}

// Applied is Store.Applied.
func (s *Set) Applied(ctx context.Context, e guard.EditRecord) error {
	store := s.of(e.Session)
	if store == nil {
		return guard.ErrNoRecord
	}
	return store.Applied(ctx, e)
}

// Abandoned is Store.Abandoned.
func (s *Set) Abandoned(ctx context.Context, session, id string) error {
	store := s.of(session)
	if store == nil {
		return guard.ErrNoRecord
	}
	return store.Abandoned(ctx, session, id)
}

// Images is Store.Images.
func (s *Set) Images(ctx context.Context, session, id string) (guard.EditRecord, error) {
	store := s.of(session)
	if store == nil {
		return guard.EditRecord{}, guard.ErrNoRecord
	}
	return store.Images(ctx, session, id)
}
