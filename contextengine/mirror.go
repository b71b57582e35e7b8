package contextengine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/contextengine/files"
	"github.com/stella-ls/stella-ls/contextengine/internal/text"
	"github.com/stella-ls/stella-ls/contextengine/store"
)

// labelLength bounds a label, in characters.
const labelLength = 120

func ignoreAbsent(err error) error {
	if errors.Is(err, store.ErrAbsent) {
		return nil
	}
	return err
}

// MemoryID is the id of a saved memory.
func MemoryID(slug string) string { return store.ID(kindMemory, memoryKey(slug)) }

func memoryKey(slug string) string { return "memory://" + slug }

// Mirror brings the store to what the plain files say: a changed file is a new
// revision, one that is gone is closed. create makes the store when there is none.
func (e *Engine) Mirror(ctx context.Context, create bool) error {
	s, err := e.openStore(ctx, create)
	if err != nil {
		return ignoreAbsent(err)
	}
	return e.mirrorInto(ctx, s)
}

func (e *Engine) mirrorInto(ctx context.Context, s *store.Store) error {
	memories, problems, err := e.lay.ReadMemories()
	if err != nil {
		return fmt.Errorf("read the memories: %w", err)
	}
	skills, more, err := e.lay.ReadSkills()
	if err != nil {
		return fmt.Errorf("read the skills: %w", err)
	}
	for _, p := range append(problems, more...) {
		e.tellOnce(p.String())
	}
	taxonomy, err := e.lay.ReadDomains()
	if err != nil {
		e.tellOnce(err.Error())
	}
	have, err := s.Nodes(ctx, store.When{}, false, kindMemory, kindSkill)
	if err != nil {
		return err
	}
	live := map[string]store.Node{}
	for _, n := range have {
		if n.ValidTo.IsZero() {
			live[n.ID] = n
		}
	}
	unreadable := map[string]bool{}
	for _, p := range append(problems, more...) {
		unreadable[p.Path] = true // it is there; nothing is known of its content
	}
	var changed []files.Memory
	for _, m := range memories {
		if n, ok := live[MemoryID(m.Slug)]; !ok || n.Attrs["file"] != string(m.Digest) {
			changed = append(changed, m)
		}
		delete(live, MemoryID(m.Slug))
	}
	// Anchors are resolved before the transaction: it waits for nothing but the disk.
	type resolved struct{ anchors, defined []store.Edge }
	anchors := map[string]resolved{}
	for _, m := range changed {
		a, d := e.anchorsOf(ctx, m.Text)
		anchors[m.Slug] = resolved{a, d}
	}
	return s.Write(ctx, "mirror the plain files", func(tx *store.Tx) error {
		for _, m := range changed {
			if err := putMemory(tx, m, anchors[m.Slug].anchors, anchors[m.Slug].defined, taxonomy); err != nil {
				return err
			}
		}
		for _, sk := range skills {
			id := store.ID(kindSkill, "skill://"+sk.Slug)
			delete(live, id)
			if err := putSkill(tx, sk, taxonomy); err != nil {
				return err
			}
		}
		for id, n := range live {
			if unreadable[n.Source] {
				continue
			}
			if err := bury(tx, id, "its file is gone"); err != nil {
				return err
			}
		}
		return nil
	})
}

func putMemory(tx *store.Tx, m files.Memory, anchors, defined []store.Edge, taxonomy files.Taxonomy) error {
	id := MemoryID(m.Slug)
	changed, err := tx.Put(store.Node{
		ID: id, Kind: kindMemory, Key: memoryKey(m.Slug), Label: m.Slug, Content: m.Text,
		Origin: m.Origin, Source: m.Path, Attrs: map[string]string{"file": string(m.Digest)},
	})
	if err != nil {
		return err
	}
	if !changed {
		return nil
	}
	if err := tx.SetEdges(id, relAnchor, anchors); err != nil {
		return err
	}
	if err := tx.SetEdges(id, relDefined, defined); err != nil {
		return err
	}
	tags := taxonomy.Known(m.Domains)
	for _, a := range anchors {
		if rel, ok := cutPrefix(a.Dst, "file:"); ok {
			tags = append(tags, taxonomy.Of(rel)...)
		}
	}
	if err := setDomains(tx, id, taxonomy.Known(tags)); err != nil {
		return err
	}
	_, err = tx.CloseNode(tombstoneID(id), time.Time{}, "the memory is back")
	return err
}

func cutPrefix(s, prefix string) (string, bool) {
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):], true
	}
	return "", false
}

func setDomains(tx *store.Tx, id string, names []string) error {
	var edges []store.Edge
	for _, n := range names {
		edges = append(edges, store.Edge{Dst: "domain:" + n})
	}
	return tx.SetEdges(id, relDomain, edges)
}

func putSkill(tx *store.Tx, sk files.Skill, taxonomy files.Taxonomy) error {
	id := store.ID(kindSkill, "skill://"+sk.Slug)
	changed, err := tx.Put(store.Node{
		ID: id, Kind: kindSkill, Key: "skill://" + sk.Slug, Label: sk.Name + ": " + text.Clip(sk.Description, labelLength),
		Content: sk.Description + "\n\n" + sk.Body, Origin: sk.Origin, Source: sk.Path,
	})
	if err != nil || !changed {
		return err
	}
	return setDomains(tx, id, taxonomy.Known(sk.Domains))
}

func tombstoneID(id string) string { return store.ID(kindTombstone, id) }

// bury closes a node and leaves a tombstone with its text, which keeps the same
// lesson from being learned again.
func bury(tx *store.Tx, id, reason string) error {
	n, ok, err := tx.LiveWithBody(id)
	if err != nil || !ok {
		return err
	}
	if _, err := tx.CloseNode(id, time.Time{}, reason); err != nil {
		return err
	}
	for _, rel := range []string{relAnchor, relDefined, relDomain} {
		if err := tx.SetEdges(id, rel, nil); err != nil {
			return err
		}
	}
	if n.Kind != kindMemory && n.Kind != kindReflection && n.Kind != kindSkill {
		return nil
	}
	_, err = tx.Put(store.Node{
		ID: tombstoneID(id), Kind: kindTombstone, Key: id, Label: n.Label, Content: n.Content,
		Origin: n.Origin, Source: n.Source, Attrs: map[string]string{"reason": reason}, Role: store.Hidden,
	})
	return err
}

// tellOnce reports a sentence once in this process.
func (e *Engine) tellOnce(sentence string) {
	e.tellMu.Lock()
	first := !e.told[sentence] && len(e.told) < 1000
	if first {
		e.told[sentence] = true
	}
	e.tellMu.Unlock()
	if first {
		e.report(sentence)
	}
}

// IsPlainFile reports whether an absolute path is one of the files that Mirror reads.
func (e *Engine) IsPlainFile(abs string) bool {
	rel, inside := e.rel(abs)
	return inside && (strings.HasPrefix(rel, ".stella/memories/") || strings.HasPrefix(rel, ".stella/skills/"))
}
