package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/stella-ls/stella-ls/internal/secret"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Limits of what is read and written.
const (
	MaxMemory = 2000    // characters of one memory
	maxFile   = 256_000 // bytes of any file that is read
	maxFiles  = 20_000  // files of one kind
)

// Origins of a memory, in falling trust.
const (
	User    = "user"    // a person wrote it, or took it over
	Agent   = "agent"   // a session wrote it from files of the workspace
	Derived = "derived" // a session wrote it after reading something else
)

var slugShape = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

// ValidSlug reports whether s may name a memory, rule or skill.
func ValidSlug(s string) bool { return slugShape.MatchString(s) }

// Problem is a file that could not be taken as it is.
type Problem struct {
	Path string // relative to the root
	What string
	// Guards is true of a rule that may forbid something and cannot be told what.
	Guards bool
}

func problem(rel, what string) Problem { return Problem{Path: rel, What: what} }

func (p Problem) String() string { return p.Path + ": " + p.What }

// Memory is one file of memories/.
type Memory struct {
	Slug   string
	Path   string // relative to the root
	Text   string // without the head, trimmed
	Origin string
	// Domains are the tags that its head names.
	Domains []string
	Digest  workspace.Digest // of the whole file
	Raw     string
}

// Rule is one file of rules/.
type Rule struct {
	Slug, Path, Description, Body string
	Guard                         RuleGuard
	// Memory is the id that it was promoted from.
	Memory string
}

// RuleGuard is what a rule denies. A rule can only deny.
type RuleGuard struct {
	Tools    []string // names or globs of tools; alone: those tools are denied
	Paths    []string // globs of paths below the root that may not be changed
	Commands []string // words of a command, or a glob over all of it
}

// Denies reports whether the rule forbids a call: tool is its name, paths what
// it would change (relative to the root, slash separated), command what it runs.
func (g RuleGuard) Denies(tool string, paths []string, command string) bool {
	if len(g.Tools) > 0 && !anyMatch(g.Tools, tool) {
		return false
	}
	if len(g.Paths) == 0 && len(g.Commands) == 0 {
		return len(g.Tools) > 0
	}
	for _, p := range paths {
		for _, pattern := range g.Paths {
			if ok, _ := doublestar.Match(pattern, path.Clean(p)); ok {
				return true
			}
		}
	}
	command = strings.Join(strings.Fields(command), " ")
	for _, c := range g.Commands {
		if command != "" && matchCommand(strings.Join(strings.Fields(c), " "), command) {
			return true
		}
	}
	return false
}

func anyMatch(globs []string, name string) bool {
	for _, g := range globs {
		if ok, _ := path.Match(g, name); ok {
			return true
		}
	}
	return false
}

// matchCommand: a pattern with a star must match the whole command, "*" for any
// run of characters; one without matches wherever its words stand in a row.
func matchCommand(pattern, command string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern != "" && strings.Contains(" "+command+" ", " "+pattern+" ")
	}
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(command, parts[0])
	if !ok {
		return false
	}
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// Skill is one skills/<slug>/SKILL.md.
type Skill struct {
	Slug, Path, Name, Description, Body, Origin string
	Domains                                     []string
}

// Memories reads memories/*.md in path order.
func (l Layout) ReadMemories() ([]Memory, []Problem, error) {
	names, err := markdown(l.Memories())
	if err != nil {
		return nil, nil, err
	}
	var out []Memory
	var problems []Problem
	for _, name := range names {
		m, bad := l.readMemory(filepath.Join(l.Memories(), name))
		problems = append(problems, bad...)
		if m != nil {
			out = append(out, *m)
		}
	}
	return out, problems, nil
}

// ReadMemory reads one memory; nil with a problem when it cannot be used, nil
// without when it is not there.
func (l Layout) ReadMemory(slug string) (*Memory, []Problem) {
	path := l.Memory(slug)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return l.readMemory(path)
}

func (l Layout) readMemory(path string) (*Memory, []Problem) {
	rel := l.Rel(path)
	raw, digest, err := readText(path)
	if err != nil {
		return nil, []Problem{problem(rel, err.Error())}
	}
	m, problems := ParseMemory(raw)
	m.Slug, m.Path = strings.TrimSuffix(filepath.Base(path), ".md"), rel
	m.Digest, m.Raw = digest, raw
	out := make([]Problem, 0, len(problems))
	for _, p := range problems {
		out = append(out, problem(rel, p))
	}
	switch {
	case !ValidSlug(m.Slug):
		return nil, append(out, problem(rel, "the name must be made of a-z, 0-9, _ and -, at most 64 characters"))
	case m.Text == "":
		return nil, append(out, problem(rel, "there is no text"))
	case unusable(m.Text) != "":
		return nil, append(out, problem(rel, unusable(m.Text)))
	case len(problems) > 0 && ParseDocument(raw).Unclosed:
		return nil, out // what is head and what is text cannot be told
	}
	return &m, out
}

// unusable says why a text is never shown to a model, "" when it may be.
func unusable(text string) string {
	if n := utf8.RuneCountInString(text); n > MaxMemory {
		return fmt.Sprintf("%d characters; a memory has at most %d, so it is not used", n, MaxMemory)
	}
	if secret.Has(text) {
		return "it holds something that looks like a key or password, so it is not used: say where the secret is kept, not what it is"
	}
	return ""
}

// ParseMemory reads a memory's head and text. An origin that is not known counts
// as the least trusted one.
func ParseMemory(raw string) (m Memory, problems []string) {
	d := ParseDocument(raw)
	problems = d.Problems
	m.Text, m.Origin, m.Domains = strings.TrimSpace(d.Body), d.Get("origin"), d.List("domains")
	switch m.Origin {
	case User, Agent, Derived:
	case "":
		m.Origin = User
	default:
		problems = append(problems, fmt.Sprintf("origin %q is not user, agent or derived; it counts as derived", m.Origin))
		m.Origin = Derived
	}
	if len(d.Problems) > 0 && m.Origin == User && d.HasHead {
		// A head that cannot be read might have said "derived".
		m.Origin = Derived
	}
	return m, problems
}

// ReadRules reads rules/*.md in path order. A problem with Guards may hide
// something that is forbidden.
func (l Layout) ReadRules() ([]Rule, []Problem, error) {
	names, err := markdown(l.Rules())
	if err != nil {
		return nil, nil, err
	}
	var out []Rule
	var problems []Problem
	for _, name := range names {
		path := filepath.Join(l.Rules(), name)
		guards := func(what string) { problems = append(problems, Problem{Path: l.Rel(path), What: what, Guards: true}) }
		raw, _, err := readText(path)
		if err != nil {
			guards(err.Error())
			continue
		}
		d := ParseDocument(raw)
		for _, p := range d.Problems {
			guards(p)
		}
		for _, k := range d.Unknown("description", "guard-tool", "guard-deny-path", "guard-deny-command", "memory") {
			if strings.HasPrefix(k, "guard") {
				guards("unknown key " + k + "; known are guard-tool, guard-deny-path, guard-deny-command")
			} else {
				problems = append(problems, problem(l.Rel(path), "unknown key "+k))
			}
		}
		r := Rule{
			Slug: strings.TrimSuffix(name, ".md"), Path: l.Rel(path), Description: d.Get("description"),
			Body: strings.TrimSpace(d.Body), Memory: d.Get("memory"),
			Guard: RuleGuard{Tools: d.List("guard-tool"), Paths: d.List("guard-deny-path"), Commands: d.List("guard-deny-command")},
		}
		for _, g := range r.Guard.Paths {
			if !doublestar.ValidatePattern(g) {
				guards(fmt.Sprintf("guard-deny-path %q is not a valid pattern", g))
			}
		}
		for _, g := range r.Guard.Tools {
			if _, err := filepath.Match(g, ""); err != nil {
				guards(fmt.Sprintf("guard-tool %q is not a valid pattern", g))
			}
		}
		out = append(out, r)
	}
	return out, problems, nil
}

// ReadSkills reads skills/*/SKILL.md in path order.
func (l Layout) ReadSkills() ([]Skill, []Problem, error) {
	entries, err := os.ReadDir(l.Skills())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var out []Skill
	var problems []Problem
	for _, e := range entries[:min(len(entries), maxFiles)] {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := l.Skill(e.Name())
		raw, _, err := readText(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			problems = append(problems, problem(l.Rel(path), err.Error()))
			continue
		}
		d := ParseDocument(raw)
		for _, p := range d.Problems {
			problems = append(problems, problem(l.Rel(path), p))
		}
		s := Skill{Slug: e.Name(), Path: l.Rel(path), Name: d.Get("name"), Description: d.Get("description"),
			Body: strings.TrimSpace(d.Body), Origin: d.Get("origin"), Domains: d.List("domains")}
		if s.Name == "" || s.Description == "" {
			problems = append(problems, problem(l.Rel(path), "a skill needs a name and a description in its head"))
			continue
		}
		if s.Origin == "" {
			s.Origin = User
		}
		out = append(out, s)
	}
	return out, problems, nil
}

// markdown lists the *.md of a directory in byte order; none when it is absent.
func markdown(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries { // os.ReadDir sorts by name, byte-wise
		if name := e.Name(); strings.HasSuffix(name, ".md") && !strings.HasPrefix(name, ".") && len(out) < maxFiles {
			out = append(out, name)
		}
	}
	return out, nil
}

// readText reads a regular file that is valid UTF-8 and not too large, with the
// digest of its bytes; the text has no BOM and LF line ends.
func readText(path string) (string, workspace.Digest, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return "", "", err
	case !info.Mode().IsRegular():
		return "", "", errors.New("not a regular file (links are not followed)")
	case info.Size() > maxFile:
		return "", "", fmt.Errorf("%d bytes; at most %d are read", info.Size(), maxFile)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	if !utf8.Valid(b) {
		return "", "", errors.New("not UTF-8")
	}
	return strings.ReplaceAll(strings.TrimPrefix(string(b), "\uFEFF"), "\r\n", "\n"), workspace.DigestOf(b), nil
}
