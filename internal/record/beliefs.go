package record

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// shards is over how many files the beliefs are spread.
const shards = 64

const (
	shardPrefix   = "beliefs-"
	contentPrefix = "content-"
)

// stored is a belief as it stands in a shard.
type stored struct {
	guard.Belief
	// Content is the git name of the content's blob; empty when there is none.
	Content string `json:"content,omitempty"`
	// RawPath and RawDisplay hold names that are not UTF-8, which JSON cannot.
	RawPath    []byte `json:"rawPath,omitempty"`
	RawDisplay []byte `json:"rawDisplay,omitempty"`
}

func shardOf(p workspace.Path) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p)) // never fails
	return int(h.Sum32() % shards)
}

func shardName(i int) string { return fmt.Sprintf(shardPrefix+"%02d.json", i) }

// believed keeps what the last commit holds, so that a step encodes and writes
// only the shards that changed, and the contents that are new.
type believed [shards]shard

type shard struct {
	hash     plumbing.Hash // of its file; zero: no belief
	beliefs  []guard.Belief
	contents map[workspace.Digest]plumbing.Hash
}

// encode lays beliefs out. It returns the state that holds once everything is
// written, the changed files, and the contents that this commit brings: each
// must hang from its tree, or nothing would keep it.
func (t *believed) encode(beliefs []guard.Belief) (next *believed, changed []pending, contents map[string]pending, err error) {
	next = new(believed)
	contents = map[string]pending{}
	for _, b := range beliefs {
		b.Seen = slices.Clone(b.Seen) // its owner may change it in place
		s := &next[shardOf(b.Path)]
		s.beliefs = append(s.beliefs, b)
	}
	for i := range next {
		old, s := &t[i], &next[i]
		switch {
		case len(s.beliefs) == 0:
			continue
		case reflect.DeepEqual(s.beliefs, old.beliefs): // contents are compared by pointer first
			*s = *old
			continue
		}
		text, err := s.encode(old, contents)
		if err != nil {
			return nil, nil, nil, err
		}
		blob := encoded(plumbing.BlobObject, text)
		s.hash = blob.hash
		changed = append(changed, blob)
	}
	return next, changed, contents, nil
}

// encode is one shard's file. New contents go to contents by their tree names.
func (s *shard) encode(old *shard, contents map[string]pending) ([]byte, error) {
	s.contents = map[workspace.Digest]plumbing.Hash{}
	rows := make([]stored, len(s.beliefs))
	for i, b := range s.beliefs {
		rows[i].Belief = b
		if !utf8.ValidString(string(b.Path)) {
			rows[i].RawPath = []byte(b.Path)
		}
		if !utf8.ValidString(b.Display) {
			rows[i].RawDisplay = []byte(b.Display)
		}
		if b.Blob == nil {
			continue
		}
		digest := b.Text
		hash, known := old.contents[digest]
		if !known {
			digest = workspace.DigestOf(b.Blob) // b.Text, unless the blob is something else
			blob := encoded(plumbing.BlobObject, b.Blob)
			hash = blob.hash
			contents[contentPrefix+strings.TrimPrefix(string(digest), "sha256:")] = blob
		}
		s.contents[digest], rows[i].Content = hash, hash.String()
	}
	return json.Marshal(rows)
}

// readBeliefs reads all beliefs of a commit's tree with their contents.
func (s *Store) readBeliefs(files map[string]plumbing.Hash) (*believed, []guard.Belief, error) {
	t := new(believed)
	var out []guard.Belief
	for name, h := range files {
		number, ok := strings.CutPrefix(name, shardPrefix)
		if !ok {
			continue
		}
		i, err := strconv.Atoi(strings.TrimSuffix(number, ".json"))
		if err != nil || i < 0 || i >= shards {
			return nil, nil, damaged("%s is no part of a record", name)
		}
		t[i] = shard{hash: h, contents: map[workspace.Digest]plumbing.Hash{}}
		var rows []stored
		if err := s.readJSON(files, name, &rows); err != nil {
			return nil, nil, err
		}
		for _, r := range rows {
			b, err := s.belief(r, t[i].contents)
			if err != nil {
				return nil, nil, err
			}
			out = append(out, b)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return t, out, nil
}

func (s *Store) belief(r stored, contents map[workspace.Digest]plumbing.Hash) (guard.Belief, error) {
	b := r.Belief
	if r.RawPath != nil {
		b.Path = workspace.Path(r.RawPath)
	}
	if r.RawDisplay != nil {
		b.Display = string(r.RawDisplay)
	}
	if r.Content == "" {
		return b, nil
	}
	if !plumbing.IsHash(r.Content) {
		return b, damaged("the content of %s has no name", b.Display)
	}
	hash := plumbing.NewHash(r.Content)
	body, err := s.objects.getKind(hash, plumbing.BlobObject)
	if err != nil {
		return b, err
	}
	b.Blob = body
	contents[workspace.DigestOf(body)] = hash
	return b, nil
}
