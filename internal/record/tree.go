package record

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// entry is one name in a tree.
type entry struct {
	name string
	mode filemode.FileMode
	hash plumbing.Hash
}

// tree encodes entries in git's order.
func tree(entries []entry) pending {
	t := object.Tree{}
	for _, e := range entries {
		t.Entries = append(t.Entries, object.TreeEntry{Name: e.name, Mode: e.mode, Hash: e.hash})
	}
	sort.Sort(object.TreeEntrySorter(t.Entries))
	return encode(plumbing.TreeObject, &t)
}

// author is nobody: the record says what a program did, and goes nowhere.
const author, email = "stella-ls", "stella-ls@localhost"

func commit(treeHash, parent plumbing.Hash, at time.Time, message string) pending {
	who := object.Signature{Name: author, Email: email, When: at.UTC()}
	c := object.Commit{Author: who, Committer: who, Message: message + "\n", TreeHash: treeHash}
	if !parent.IsZero() {
		c.ParentHashes = []plumbing.Hash{parent}
	}
	return encode(plumbing.CommitObject, &c)
}

func encode(kind plumbing.ObjectType, o interface {
	Encode(plumbing.EncodedObject) error
}) pending {
	m := &plumbing.MemoryObject{}
	m.SetType(kind)
	if err := o.Encode(m); err != nil {
		panic(fmt.Sprintf("encoding a %s of our own: %v", kind, err)) // memory only, names are ours
	}
	r, err := m.Reader()
	if err != nil {
		panic(err) // a memory object always reads
	}
	b, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return encoded(kind, b)
}

// readTree reads a tree as name to hash.
func (s *Store) readTree(h plumbing.Hash) (map[string]plumbing.Hash, error) {
	body, err := s.objects.getKind(h, plumbing.TreeObject)
	if err != nil {
		return nil, err
	}
	var t object.Tree
	if err := t.Decode(memory(plumbing.TreeObject, body)); err != nil {
		return nil, damaged("tree %s: %v", h, err)
	}
	out := make(map[string]plumbing.Hash, len(t.Entries))
	for _, e := range t.Entries {
		out[e.Name] = e.Hash
	}
	return out, nil
}

// readCommit reads a commit's tree and parent (zero for the first).
func (s *Store) readCommit(h plumbing.Hash) (treeHash, parent plumbing.Hash, err error) {
	body, err := s.objects.getKind(h, plumbing.CommitObject)
	if err != nil {
		return treeHash, parent, err
	}
	var c object.Commit
	if err := c.Decode(memory(plumbing.CommitObject, body)); err != nil {
		return treeHash, parent, damaged("commit %s: %v", h, err)
	}
	if len(c.ParentHashes) > 0 {
		parent = c.ParentHashes[0]
	}
	return c.TreeHash, parent, nil
}

func memory(kind plumbing.ObjectType, body []byte) *plumbing.MemoryObject {
	m := &plumbing.MemoryObject{}
	m.SetType(kind)
	_, _ = m.Write(body) // memory does not fail
	return m
}

// readJSON decodes the file called name of a tree.
func (s *Store) readJSON(files map[string]plumbing.Hash, name string, to any) error {
	h, ok := files[name]
	if !ok {
		return damaged("%s is missing", name)
	}
	body, err := s.objects.getKind(h, plumbing.BlobObject)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, to); err != nil {
		return damaged("%s: %v", name, err)
	}
	return nil
}
