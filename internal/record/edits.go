package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// image is one side of an edit.
type image struct {
	hash plumbing.Hash // zero: nothing was there, or it is not kept
}

// editFile is edit.json.
type editFile struct {
	ID           string           `json:"id"`
	State        EditState        `json:"state"`
	Turn         int              `json:"turn"`
	Step         int              `json:"step"`
	Tool         string           `json:"tool"`
	CallID       string           `json:"callId,omitempty"`
	Kind         guard.ChangeKind `json:"kind"`
	Path         string           `json:"path"`
	Display      string           `json:"display"`
	To           string           `json:"to,omitempty"`
	BeforeAbsent bool             `json:"beforeAbsent,omitempty"`
	AfterAbsent  bool             `json:"afterAbsent,omitempty"`
	InBuffer     bool             `json:"inBuffer,omitempty"`
	CreatedDirs  []string         `json:"createdDirs,omitempty"`
	// Raw holds the names when one of them is not UTF-8, which JSON cannot:
	// path, display, to, created directories.
	Raw [][]byte `json:"raw,omitempty"`
}

func editJSON(e guard.EditRecord, state EditState) ([]byte, error) {
	f := editFile{e.ID, state, e.Turn, e.Step, e.Tool, e.CallID, e.Kind, string(e.Path), e.Display, e.To, e.BeforeAbsent, e.AfterAbsent, e.InBuffer, e.CreatedDirs, nil}
	names := append([]string{f.Path, f.Display, f.To}, e.CreatedDirs...)
	if slices.ContainsFunc(names, func(s string) bool { return !utf8.ValidString(s) }) {
		for _, s := range names {
			f.Raw = append(f.Raw, []byte(s))
		}
	}
	return json.Marshal(f)
}

func (f editFile) record(session string) guard.EditRecord {
	if len(f.Raw) >= 3 {
		f.Path, f.Display, f.To, f.CreatedDirs = string(f.Raw[0]), string(f.Raw[1]), string(f.Raw[2]), nil
		for _, d := range f.Raw[3:] {
			f.CreatedDirs = append(f.CreatedDirs, string(d))
		}
	}
	return guard.EditRecord{ID: f.ID, Session: session, Origin: guard.Origin{Turn: f.Turn, Step: f.Step, Tool: f.Tool, CallID: f.CallID},
		Kind: f.Kind, Path: workspace.Path(f.Path), Display: f.Display, To: f.To,
		BeforeAbsent: f.BeforeAbsent, AfterAbsent: f.AfterAbsent, InBuffer: f.InBuffer, CreatedDirs: f.CreatedDirs}
}

var _ guard.Recorder = (*Store)(nil)

// Images is an edit of an open session with both images, as they were recorded.
func (s *Store) Images(_ context.Context, session, id string) (guard.EditRecord, error) {
	n := s.opened(session)
	if n == nil {
		return guard.EditRecord{}, wrap("load", session, ErrNotFound)
	}
	return n.Record(id)
}

// PreImage makes an edit's images durable before its write. A session that has
// no record yet (a client of `stella-ls mcp`, or one whose beginning met a full
// disk) gets one.
func (s *Store) PreImage(ctx context.Context, e guard.EditRecord) error {
	n := s.opened(e.Session)
	if n == nil {
		var err error
		if n, err = s.orphan(ctx, Header{Session: e.Session, Title: "edits without a session"}); err != nil {
			return err
		}
	}
	return n.edit(ctx, e, EditPending)
}

// orphan begins a record that a later Create of the same session takes over.
func (s *Store) orphan(ctx context.Context, h Header) (*Session, error) {
	n, err := s.Create(ctx, h)
	if errors.Is(err, ErrExists) || errors.Is(err, ErrDamaged) {
		n, err = s.Continue(ctx, h.Session, h)
	}
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.orphan = true
	return n, nil
}

// adopt is an open orphan, now with its header; nil if there is none.
func (s *Store) adopt(h Header) *Session {
	n := s.opened(h.Session)
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.orphan {
		return nil
	}
	n.orphan = false
	n.meta.Title, n.meta.Model, n.meta.Root = h.Title, h.Model, h.Root
	return n
}

// Applied says durably that the write happened.
func (s *Store) Applied(ctx context.Context, e guard.EditRecord) error {
	n := s.opened(e.Session)
	if n == nil {
		return wrap("record", e.Session, ErrNotFound)
	}
	return n.edit(ctx, e, EditApplied)
}

// Abandoned says durably that it did not.
func (s *Store) Abandoned(ctx context.Context, session, id string) error {
	n := s.opened(session)
	if n == nil {
		return wrap("record", session, ErrNotFound)
	}
	n.mu.Lock()
	old := n.edits[id]
	n.mu.Unlock()
	if old == nil {
		return wrap("record", session, fmt.Errorf("edit %s has no pre-image", id))
	}
	return n.edit(ctx, old.EditRecord, EditAbandoned)
}

// edit commits one edit's state, with the images that are new.
func (n *Session) edit(ctx context.Context, e guard.EditRecord, state EditState) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	text, err := editJSON(e, state)
	if err != nil {
		return wrap("record", n.id, err)
	}
	made := &Edit{EditRecord: e, State: state}
	made.Before, made.After = nil, nil
	if old := n.edits[e.ID]; old != nil {
		made.before, made.after = old.before, old.after
	}
	c := change{meta: n.meta, beliefs: n.beliefs}
	c.add("edit.json", encoded(plumbing.BlobObject, text))
	for _, side := range []struct {
		name string
		body []byte
		to   *image
	}{{"before", e.Before, &made.before}, {"after", e.After, &made.after}} {
		if side.body == nil || state == EditAbandoned {
			continue
		}
		blob := encoded(plumbing.BlobObject, side.body)
		if blob.hash != side.to.hash {
			side.to.hash = blob.hash
			c.add(side.name, blob)
		}
	}
	if state == EditApplied {
		c.meta.Edits++
	}
	if err := n.commit(ctx, fmt.Sprintf("edit %s of %s: %s", e.ID, n.id, state), c); err != nil {
		return wrap("record", n.id, err)
	}
	n.edits[e.ID] = made
	return nil
}

// Record is an edit of a loaded session with both images.
func (l *Loaded) Record(id string) (guard.EditRecord, error) {
	for _, e := range l.Edits {
		if e.ID == id {
			return e.read(l.store)
		}
	}
	return guard.EditRecord{}, wrap("load", l.Session, fmt.Errorf("there is no edit %s", id))
}

// Record is an edit with both images, as they were recorded.
func (n *Session) Record(id string) (guard.EditRecord, error) {
	n.mu.Lock()
	e := n.edits[id]
	n.mu.Unlock()
	if e == nil {
		return guard.EditRecord{}, wrap("load", n.ID(), fmt.Errorf("there is no edit %s", id))
	}
	return e.read(n.store)
}

func (e Edit) read(s *Store) (guard.EditRecord, error) {
	out := e.EditRecord
	var errs []error
	for _, side := range []struct {
		from   image
		absent bool
		to     *[]byte
	}{{e.before, e.BeforeAbsent, &out.Before}, {e.after, e.AfterAbsent, &out.After}} {
		if side.absent || side.from.hash.IsZero() {
			continue
		}
		body, err := s.objects.getKind(side.from.hash, plumbing.BlobObject)
		if body == nil && err == nil {
			body = []byte{} // an empty file is not an absent one
		}
		*side.to = body
		errs = append(errs, err)
	}
	return out, wrap("load", e.Session, errors.Join(errs...))
}
