package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/gofrs/flock"
)

// Session is the open record of one session. It is safe for concurrent use;
// its commits come one after the other.
type Session struct {
	store *Store
	lock  *flock.Flock

	id string

	mu      sync.Mutex // guards all below; held while a commit is written
	closed  bool
	orphan  bool // see Store.orphan
	meta    meta
	head    plumbing.Hash
	beliefs *believed
	edits   map[string]*Edit
}

// ID is the session's.
func (n *Session) ID() string { return n.id }

// Header is the session's header as of the last commit.
func (n *Session) Header() Header {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.meta.Header
}

// Step records a step boundary. When it returns nil, everything up to here
// survives the death of process and machine; when it fails, the next Step
// carries the beliefs again.
func (n *Session) Step(ctx context.Context, s Step) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	next, changed, contents, err := n.beliefs.encode(s.Beliefs)
	if err != nil {
		return wrap("step", n.id, err)
	}
	m := n.meta
	m.Turn = max(m.Turn, s.Turn)
	m.Step++
	m.Guarded = len(s.Beliefs)
	m.Resume = s.Resume
	if s.Title != "" {
		m.Title = s.Title
	}
	if s.Model != "" {
		m.Model = s.Model
	}
	if s.State != nil {
		m.State = s.State
	}
	c := change{meta: m, beliefs: next, objects: changed}
	for name, blob := range contents {
		c.add(name, blob)
	}
	if s.Entry != nil {
		c.add("entry.json", encoded(plumbing.BlobObject, s.Entry))
	}
	message := fmt.Sprintf("step %d of %s, turn %d", m.Step, m.Session, m.Turn)
	return wrap("step", n.id, n.commit(ctx, message, c))
}

// meta is meta.json.
type meta struct {
	Header
	State  json.RawMessage `json:"state,omitempty"`
	Resume json.RawMessage `json:"resume,omitempty"`
}

// change is what a commit makes of the session.
type change struct {
	meta    meta
	beliefs *believed
	objects []pending
	// entries are files of this commit only.
	entries []entry
}

func (c *change) add(name string, blob pending) {
	c.objects = append(c.objects, blob)
	c.entries = append(c.entries, entry{name, filemode.Regular, blob.hash})
}

// commit writes one commit and moves the ref to it. n.mu is held. The session's
// state changes only when all of it is durable.
func (n *Session) commit(ctx context.Context, message string, c change) error {
	if n.closed {
		return errors.New("the session's record is closed")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s, at := n.store, n.store.now()
	c.meta.Version, c.meta.Updated = Version, at.UTC()
	c.meta.at(s.place)
	root, err := c.layout()
	if err != nil {
		return err
	}
	made := commit(root.hash, n.head, at, message)
	pack, err := s.objects.put(n.id, append(c.objects, root, made))
	if err != nil {
		return err
	}
	if err = s.refs.swap(n.id, n.head, made.hash, func() error { return s.objects.still(pack, made.hash) }); err != nil {
		// The ref may have moved and only its last sync failed: then the next
		// commit must go on from there.
		if now, readErr := s.refs.read(n.id); readErr != nil || now != made.hash {
			return err
		}
	}
	n.head, n.meta, n.beliefs = made.hash, c.meta, c.beliefs
	s.tidy()
	return err
}

// layout makes the commit's root tree.
func (c *change) layout() (pending, error) {
	text, err := json.Marshal(c.meta)
	if err != nil {
		return pending{}, err
	}
	c.add("meta.json", encoded(plumbing.BlobObject, text))
	for i, s := range c.beliefs {
		if !s.hash.IsZero() {
			c.entries = append(c.entries, entry{shardName(i), filemode.Regular, s.hash})
		}
	}
	return tree(c.entries), nil
}

// Close gives the session up, for this or another process to resume.
func (n *Session) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil
	}
	n.closed = true
	n.store.mu.Lock()
	maps.DeleteFunc(n.store.open, func(_ string, o *Session) bool { return o == n })
	n.store.mu.Unlock()
	return wrap("close", n.id, n.lock.Unlock())
}
