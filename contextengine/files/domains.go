package files

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/stella-ls/stella-ls/internal/tomlfile"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Taxonomy is domains.toml.
type Taxonomy struct {
	Version    int      `toml:"version"`
	InferredBy string   `toml:"inferred_by"`
	Domains    []Domain `toml:"domain"`
	// Digest is of the file; empty when it was not read from one.
	Digest workspace.Digest `toml:"-"`
}

// Domain is one word of the vocabulary.
type Domain struct {
	Name        string   `toml:"name" json:"name"`
	Description string   `toml:"description" json:"description"`
	Paths       []string `toml:"paths" json:"paths"`
}

// ReadDomains reads the taxonomy; an empty one when there is no file.
func (l Layout) ReadDomains() (Taxonomy, error) {
	var t Taxonomy
	raw, digest, err := readText(l.Domains())
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("%s: %w", l.Rel(l.Domains()), err)
	}
	if _, err := tomlfile.Decode(raw, &t); err != nil {
		return Taxonomy{}, fmt.Errorf("%s: %w", l.Rel(l.Domains()), err)
	}
	if t.Version > 1 {
		return Taxonomy{}, fmt.Errorf("%s has version %d and this stella-ls knows version 1: use a newer one", l.Rel(l.Domains()), t.Version)
	}
	t.Digest = digest
	return t, nil
}

// Names are the vocabulary, sorted.
func (t Taxonomy) Names() []string {
	var out []string
	for _, d := range t.Domains {
		out = append(out, d.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Of are the domains that a path below the root belongs to, sorted. A prefix
// matches whole segments: "api" holds "api/x.py" and not "apiary/x.py".
func (t Taxonomy) Of(rel string) []string {
	rel = path.Clean(rel)
	var out []string
	for _, d := range t.Domains {
		for _, p := range d.Paths {
			p = strings.TrimSuffix(path.Clean(p), "/")
			if p == "." || rel == p || strings.HasPrefix(rel, p+"/") {
				out = append(out, d.Name)
				break
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Known keeps the names that are in the vocabulary, sorted, once each.
func (t Taxonomy) Known(names []string) (out []string) {
	known := t.Names()
	for _, n := range names {
		if slices.Contains(known, n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TOML writes the taxonomy, always the same way.
func (t Taxonomy) TOML() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# The workspace's domains. Edit freely: an edited file is never overwritten.\nversion = 1\ninferred_by = %s\n", quoteTOML(t.InferredBy))
	for _, d := range t.Domains {
		fmt.Fprintf(&b, "\n[[domain]]\nname = %s\ndescription = %s\npaths = [", quoteTOML(d.Name), quoteTOML(d.Description))
		for i, p := range d.Paths {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoteTOML(p))
		}
		b.WriteString("]\n")
	}
	return []byte(b.String())
}

// quoteTOML writes a basic string; Go's ASCII quoting is a subset of TOML's but
// for \x and \a, \v, which a clean text does not hold.
func quoteTOML(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.ReplaceAll(strconv.Quote(s), `\x`, `\u00`)
}
