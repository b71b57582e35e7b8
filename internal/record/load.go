package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/go-git/go-git/v5/plumbing"
)

// position is where a loaded session stands, for the commits that follow.
type position struct {
	head    plumbing.Hash
	beliefs *believed
}

// meta reads and checks meta.json. The version is looked at before anything
// else is understood.
func (s *Store) meta(id string, files map[string]plumbing.Hash) (meta, error) {
	var v struct {
		Version int `json:"version"`
	}
	if err := s.readJSON(files, "meta.json", &v); err != nil {
		return meta{}, err
	}
	if v.Version > Version {
		return meta{}, fmt.Errorf("%w (it has version %d, this program knows %d)", ErrNewer, v.Version, Version)
	}
	var h meta
	if err := s.readJSON(files, "meta.json", &h); err != nil {
		return meta{}, err
	}
	if h.Session != id {
		return meta{}, damaged("the ref %s leads to session %q", id, h.Session)
	}
	return h, nil
}

// head reads what a list needs.
func (s *Store) head(id string) (h Header, resume bool, err error) {
	at, err := s.refs.read(id)
	if err != nil {
		return h, false, err
	}
	if at.IsZero() {
		return h, false, ErrNotFound
	}
	root, _, err := s.readCommit(at)
	if err != nil {
		return h, false, err
	}
	files, err := s.readTree(root)
	if err != nil {
		return h, false, err
	}
	m, err := s.meta(id, files)
	return m.Header, m.Resume != nil, err
}

// load reads a whole session: the state from its newest commit, transcript and
// edits from all of them.
func (s *Store) load(ctx context.Context, id string) (*Loaded, position, error) {
	at, err := s.refs.read(id)
	if err != nil {
		return nil, position{}, err
	}
	if at.IsZero() {
		return nil, position{}, ErrNotFound
	}
	root, parent, err := s.readCommit(at)
	if err != nil {
		return nil, position{}, err
	}
	files, err := s.readTree(root)
	if err != nil {
		return nil, position{}, err
	}
	m, err := s.meta(id, files)
	if err != nil {
		return nil, position{}, err
	}
	l := &Loaded{Header: m.Header, State: m.State, Resume: m.Resume, store: s}
	pos := position{head: at}
	if pos.beliefs, l.Beliefs, err = s.readBeliefs(files); err != nil {
		return nil, position{}, err
	}
	err = s.history(ctx, l, files, parent, func(err error) error { return err })
	l.relocate()
	return l, pos, err
}

// history walks from the newest commit to the first and collects. What fails is
// given to bad; where that returns nil the walk goes on without it. An error
// leaves in l what was collected so far.
func (s *Store) history(ctx context.Context, l *Loaded, files map[string]plumbing.Hash, parent plumbing.Hash, bad func(error) error) error {
	var edits []commitEdit
	defer func() {
		slices.Reverse(l.Transcript)
		slices.Reverse(edits)
		l.Edits = replay(l.Session, edits)
	}()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.added(files, l, &edits); err != nil {
			if err = bad(err); err != nil {
				return err
			}
		}
		if parent.IsZero() {
			return nil
		}
		root, next, err := s.readCommit(parent)
		if err != nil {
			return err
		}
		if files, err = s.readTree(root); err != nil {
			return err
		}
		parent = next
	}
}

// added collects what one commit brought.
func (s *Store) added(files map[string]plumbing.Hash, l *Loaded, edits *[]commitEdit) error {
	if h, ok := files["entry.json"]; ok {
		body, err := s.jsonBlob(h)
		if err != nil {
			return err
		}
		l.Transcript = append(l.Transcript, body)
	}
	if _, ok := files["edit.json"]; ok {
		e := commitEdit{before: files["before"], after: files["after"]}
		if err := s.readJSON(files, "edit.json", &e.editFile); err != nil {
			return err
		}
		*edits = append(*edits, e)
	}
	return nil
}

// Salvage is what can be read of a session whose record as a whole cannot be:
// header, transcript and edits, as far as they are sound. It has no beliefs,
// since some of them would be worse than none, and nothing of a newer format.
func (s *Store) Salvage(ctx context.Context, id string) *Loaded {
	l := &Loaded{Header: Header{Session: id, Root: s.root}, store: s}
	if checkName(id) != nil {
		return l
	}
	at, err := s.refs.read(id)
	if err != nil || at.IsZero() {
		return l
	}
	root, parent, err := s.readCommit(at)
	if err != nil {
		return l
	}
	files, err := s.readTree(root)
	if err != nil {
		return l
	}
	switch m, err := s.meta(id, files); {
	case err == nil:
		l.Header, l.State = m.Header, m.State
	case errors.Is(err, ErrNewer):
		return l
	}
	_ = s.history(ctx, l, files, parent, func(error) error { return nil }) // as far as it goes
	l.relocate()
	return l
}

// commitEdit is what one commit says of an edit.
type commitEdit struct {
	editFile
	before, after plumbing.Hash
}

// replay turns what was said of edits, oldest first, into how they stand.
func replay(session string, said []commitEdit) []Edit {
	var out []Edit
	index := map[string]int{}
	for _, c := range said {
		i, ok := index[c.ID]
		if !ok {
			i = len(out)
			index[c.ID] = i
			out = append(out, Edit{})
		}
		e := Edit{EditRecord: c.record(session), State: c.State, before: out[i].before, after: out[i].after}
		if !c.before.IsZero() {
			e.before.hash = c.before
		}
		if !c.after.IsZero() {
			e.after.hash = c.after
		}
		out[i] = e
	}
	return out
}

// jsonBlob reads a blob that must hold JSON.
func (s *Store) jsonBlob(h plumbing.Hash) (json.RawMessage, error) {
	body, err := s.objects.getKind(h, plumbing.BlobObject)
	if err == nil && !json.Valid(body) {
		err = damaged("object %s is not JSON", h)
	}
	return body, err
}

func sortNewest(list []Info) {
	sort.SliceStable(list, func(i, j int) bool { return list[i].Updated.After(list[j].Updated) })
}
