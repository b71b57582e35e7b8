package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Dir is the folder's name below a workspace root.
const Dir = ".stella"

// Layout is where everything of one workspace lies.
type Layout struct{ Root string }

func (l Layout) Dir() string         { return filepath.Join(l.Root, Dir) }
func (l Layout) Memories() string    { return filepath.Join(l.Dir(), "memories") }
func (l Layout) Rules() string       { return filepath.Join(l.Dir(), "rules") }
func (l Layout) Skills() string      { return filepath.Join(l.Dir(), "skills") }
func (l Layout) Domains() string     { return filepath.Join(l.Dir(), "domains.toml") }
func (l Layout) ContextDB() string   { return filepath.Join(l.Dir(), "context.db") }
func (l Layout) StoreDB() string     { return filepath.Join(l.Dir(), "store.db") }
func (l Layout) Reflections() string { return filepath.Join(l.Dir(), "reflections.jsonl") }
func (l Layout) Ignore() string      { return filepath.Join(l.Dir(), ".gitignore") }

// Memory, Rule and Skill are the files of a slug.
func (l Layout) Memory(slug string) string { return filepath.Join(l.Memories(), slug+".md") }
func (l Layout) Rule(slug string) string   { return filepath.Join(l.Rules(), slug+".md") }
func (l Layout) Skill(slug string) string  { return filepath.Join(l.Skills(), slug, "SKILL.md") }

// Rel is a path as people know it, relative to the root and slash separated.
func (l Layout) Rel(path string) string {
	rel, err := filepath.Rel(l.Root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// Exists reports whether the folder is there.
func (l Layout) Exists() bool {
	info, err := os.Stat(l.Dir())
	return err == nil && info.IsDir()
}

// ignored are the names of local state. context.db* covers the write-ahead log
// and a damaged file that was set aside.
const ignored = `# Local state of stella-ls. Everything else here is meant to be committed.
context.db*
store.db*
reflections*.jsonl
*.lock
*.tmp-*
`

// Prepare makes the folder and, once, its .gitignore: before anything local is
// written, so that "git add -A" never stages it.
func (l Layout) Prepare() error {
	if err := makeDir(l.Dir()); err != nil {
		return err
	}
	err := Create(l.Ignore(), []byte(ignored))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// makeDir makes one directory, owner only; a parent that is missing is an error
// for the workspace root and made otherwise.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("%s is not a directory: move it away", dir)
		}
		return nil
	}
	return err
}

// makeDirs makes dir and the directories above it that lie inside .stella/.
func makeDirs(dir string) error {
	if err := makeDir(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if filepath.Base(dir) == Dir {
		return makeDir(dir)
	}
	if err := makeDirs(filepath.Dir(dir)); err != nil {
		return err
	}
	return makeDir(dir)
}

// NotIgnored are the local names that the .gitignore, which people may have
// edited, does not list.
func (l Layout) NotIgnored() (missing []string) {
	b, err := os.ReadFile(l.Ignore())
	if err != nil {
		return nil
	}
	lines := strings.Split(string(b), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	for _, want := range strings.Split(ignored, "\n") {
		if want != "" && !strings.HasPrefix(want, "#") && !slices.Contains(lines, want) && !slices.Contains(lines, "*") {
			missing = append(missing, want)
		}
	}
	return missing
}

// PrepareMemories makes the folder of the memories, owner only.
func (l Layout) PrepareMemories() error {
	if err := l.Prepare(); err != nil {
		return err
	}
	return makeDir(l.Memories())
}
