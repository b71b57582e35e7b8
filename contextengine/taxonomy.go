package contextengine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/contextengine/files"
	"github.com/stella-ls/stella-ls/contextengine/internal/text"
	"github.com/stella-ls/stella-ls/contextengine/store"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// InitReport says what init did.
type InitReport struct {
	// Taxonomy is how the domains came about: "model", "heuristic", "kept"
	// (a person edited the file) or "unchanged" (nothing to ask about).
	Taxonomy string
	Domains  []string
	Added    []string
	Closed   []string
	Notes    []string
}

// Init makes .stella/, infers the domains with one model call (ask) or by a
// heuristic (nil), and brings the store to the files. Run again it records the
// difference: domains that are gone are closed, new ones added. An unchanged
// project is not asked about again.
func (e *Engine) Init(ctx context.Context, ask Ask) (InitReport, error) {
	var out InitReport
	if err := e.lay.Prepare(); err != nil {
		return out, err
	}
	if missing := e.lay.NotIgnored(); len(missing) > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s does not list %s: local state may end up in a commit", e.lay.Rel(e.lay.Ignore()), strings.Join(missing, ", ")))
	}
	s, err := e.openStore(ctx, true)
	if err != nil {
		return out, err
	}
	if _, err := e.openLedger(ctx, true); err != nil {
		return out, err
	}
	taxonomy, err := e.inferDomains(ctx, s, ask, &out)
	if err != nil {
		return out, err
	}
	out.Domains = taxonomy.Names()
	if err := e.recordDomains(ctx, s, taxonomy, &out); err != nil {
		return out, err
	}
	return out, e.mirrorInto(ctx, s)
}

// Keys of the store's settings about the taxonomy.
const (
	metaSurvey  = "taxonomy.survey"  // digest of the directories it was made from
	metaWritten = "taxonomy.written" // digest of the file as we wrote it
)

func (e *Engine) inferDomains(ctx context.Context, s *store.Store, ask Ask, out *InitReport) (files.Taxonomy, error) {
	have, err := e.lay.ReadDomains()
	if err != nil {
		return have, err
	}
	survey, err := surveyTree(e.o.Root)
	if err != nil {
		return have, err
	}
	sum := string(workspace.DigestOfString(survey.text()))
	surveyed, err := s.Meta(ctx, metaSurvey)
	if err != nil {
		return have, err
	}
	written, err := s.Meta(ctx, metaWritten)
	if err != nil {
		return have, err
	}
	switch {
	case have.Digest != "" && string(have.Digest) != written:
		out.Taxonomy = "kept"
		return have, nil
	case have.Digest != "" && surveyed == sum && (ask == nil || have.InferredBy != "heuristic"):
		out.Taxonomy = "unchanged"
		return have, nil
	}
	next := e.propose(ctx, survey, ask, out)
	if len(next.Domains) == 0 {
		return next, nil
	}
	if err := e.writeDomains(next, have.Digest); err != nil {
		return have, err
	}
	return next, s.Write(ctx, "survey", func(tx *store.Tx) error {
		if err := tx.SetMeta(metaSurvey, sum); err != nil {
			return err
		}
		return tx.SetMeta(metaWritten, string(workspace.DigestOf(next.TOML())))
	})
}

func (e *Engine) writeDomains(t files.Taxonomy, base workspace.Digest) error {
	if base == "" {
		return files.Create(e.lay.Domains(), t.TOML())
	}
	return files.Replace(e.lay.Domains(), t.TOML(), base)
}

// propose asks the model; without one, or when its answer is of no use, the
// directories speak for themselves.
func (e *Engine) propose(ctx context.Context, survey survey, ask Ask, out *InitReport) files.Taxonomy {
	if ask != nil {
		answer, err := ask(ctx, "taxonomy", taxonomySystem, survey.text())
		if err == nil {
			if domains := parseDomains(answer, survey); len(domains) > 0 {
				out.Taxonomy = "model"
				return files.Taxonomy{Version: 1, InferredBy: "model", Domains: domains}
			}
			err = errors.New("its answer holds no usable list")
		}
		out.Notes = append(out.Notes, "the domains were inferred from the directories; the model was of no help: "+err.Error())
	}
	out.Taxonomy = "heuristic"
	return files.Taxonomy{Version: 1, InferredBy: "heuristic", Domains: survey.domains()}
}

const taxonomySystem = `You name the domains of a software project from its directories. Answer with a JSON array and nothing else: ` +
	`4 to 10 objects {"name": "...", "description": "one sentence", "paths": ["dir/", ...]}. A name is one or two lower-case words joined by "-"; ` +
	`paths are prefixes from the list. Together they cover what people work on; leave out generated and third-party code.`

const maxDomains = 10

var domainName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// parseDomains reads the model's list and keeps what is well formed and names
// paths that exist.
func parseDomains(answer string, survey survey) (out []files.Domain) {
	decodeSpan(answer, '[', func(v []files.Domain) bool {
		out = out[:0]
		for _, d := range v {
			d.Name = strings.ToLower(strings.TrimSpace(d.Name))
			d.Description = text.Clip(strings.Join(strings.Fields(d.Description), " "), 200)
			var paths []string
			for _, p := range d.Paths {
				if p = strings.Trim(path.Clean(strings.ReplaceAll(p, "\\", "/")), "/"); survey.has(p) {
					paths = append(paths, p)
				}
			}
			known := slices.ContainsFunc(out, func(o files.Domain) bool { return o.Name == d.Name })
			if d.Paths = paths; domainName.MatchString(d.Name) && len(paths) > 0 && !known && len(out) < maxDomains {
				out = append(out, d)
			}
		}
		return len(out) >= 2
	})
	return out
}

// recordDomains diffs the taxonomy against what the store holds.
func (e *Engine) recordDomains(ctx context.Context, s *store.Store, t files.Taxonomy, out *InitReport) error {
	have, err := s.Nodes(ctx, store.When{}, false, kindDomain)
	if err != nil {
		return err
	}
	return s.Write(ctx, "domains", func(tx *store.Tx) error {
		out.Added, out.Closed = nil, nil
		for _, n := range have {
			if !slices.Contains(t.Names(), n.Key) {
				closed, err := tx.CloseNode(n.ID, time.Time{}, "not in the taxonomy any more")
				if err != nil {
					return err
				}
				if closed {
					out.Closed = append(out.Closed, n.Key)
				}
			}
		}
		for _, d := range t.Domains {
			isNew := !slices.ContainsFunc(have, func(n store.Node) bool { return n.Key == d.Name })
			if _, err := tx.Put(store.Node{Kind: kindDomain, Key: d.Name, Label: d.Name, Content: d.Description + "\n" + strings.Join(d.Paths, "\n"),
				Origin: t.InferredBy, Source: "domains.toml", Role: store.Hidden}); err != nil {
				return err
			}
			if isNew {
				out.Added = append(out.Added, d.Name)
			}
		}
		return nil
	})
}

// survey is the project's directories with the number of source files in each.
type survey struct {
	dirs  []string // sorted
	count map[string]int
}

// skipped directories hold nothing that people write.
var skipped = map[string]bool{"node_modules": true, "vendor": true, "target": true, "dist": true, "build": true, "out": true,
	"venv": true, "__pycache__": true, "coverage": true, "bin": true, "obj": true, "third_party": true}

// groups are directories whose children are the parts of a project.
var groups = map[string]bool{"src": true, "lib": true, "libs": true, "packages": true, "crates": true, "services": true, "apps": true,
	"modules": true, "components": true, "internal": true, "pkg": true, "cmd": true, "app": true}

// surveyTree walks at most three levels and 50,000 entries; it reads no file.
func surveyTree(root string) (survey, error) {
	s := survey{count: map[string]int{}}
	entries := 0
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if d != nil && d.IsDir() && p != root {
				return fs.SkipDir
			}
			return err
		}
		if entries++; entries > 50_000 {
			return fs.SkipAll
		}
		rel, err := filepath.Rel(root, p)
		if err != nil || rel == "." {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") || skipped[d.Name()] {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(p, ".git")); err == nil {
				return fs.SkipDir // a checkout of its own
			}
			if strings.Count(rel, "/") < 3 {
				s.dirs = append(s.dirs, rel)
			}
			return nil
		}
		if d.Type().IsRegular() && extension.MatchString(d.Name()) {
			for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
				s.count[dir]++
			}
		}
		return nil
	})
	sort.Strings(s.dirs)
	return s, err
}

func (s survey) has(dir string) bool { return slices.Contains(s.dirs, dir) }

// text lists the directories; it holds no counts, so that adding a file to a
// directory is no reason to ask again.
func (s survey) text() string {
	var b strings.Builder
	b.WriteString("Directories:\n")
	n := 0
	for _, d := range s.dirs {
		if s.count[d] > 0 {
			if n++; n > 300 {
				b.WriteString("(more left out)\n")
				break
			}
			b.WriteString(d + "/\n")
		}
	}
	return b.String()
}

// domains is the heuristic: top directories, those that only group others
// replaced by their children, the fullest ten.
func (s survey) domains() []files.Domain {
	var tops []string
	for _, d := range s.dirs {
		parent, base := path.Dir(d), path.Base(d)
		top := parent == "." || groups[path.Base(parent)] && strings.Count(d, "/") <= 2 && allGroups(parent)
		if !top || s.count[d] == 0 || groups[base] && s.hasChildren(d) {
			continue
		}
		tops = append(tops, d)
	}
	slices.SortStableFunc(tops, func(a, b string) int { return s.count[b] - s.count[a] })
	byName := map[string]*files.Domain{}
	var order []string
	for _, d := range tops {
		name := domainNameOf(path.Base(d))
		if name == "" {
			continue
		}
		if byName[name] == nil {
			if len(order) == maxDomains {
				continue
			}
			byName[name] = &files.Domain{Name: name, Description: "What lies below " + d + "/"}
			order = append(order, name)
		}
		byName[name].Paths = append(byName[name].Paths, d)
	}
	slices.Sort(order)
	var out []files.Domain
	for _, n := range order {
		slices.Sort(byName[n].Paths)
		out = append(out, *byName[n])
	}
	return out
}

func allGroups(dir string) bool {
	for _, part := range strings.Split(dir, "/") {
		if !groups[part] {
			return false
		}
	}
	return true
}

func (s survey) hasChildren(dir string) bool {
	return slices.ContainsFunc(s.dirs, func(d string) bool { return path.Dir(d) == dir && s.count[d] > 0 })
}

func domainNameOf(base string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, base), "-")
	if !domainName.MatchString(name) {
		return ""
	}
	return name
}
