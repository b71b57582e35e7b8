package agent

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/stella-ls/stella-ls/guard"
)

// head is what git has checked out in the work tree of root, for people:
// "main at 1a2b3c4d"; "" without a work tree. A branch switch changes many files
// at once, and saying so is worth more than the list of them.
func (m *Manager) head(ctx context.Context, root string) string {
	dir := m.gitDir(ctx, root)
	if dir == "" {
		return ""
	}
	text := m.line(ctx, filepath.Join(dir, "HEAD"))
	ref, symbolic := strings.CutPrefix(text, "ref: ")
	if !symbolic {
		return short(text)
	}
	branch := strings.TrimPrefix(ref, "refs/heads/")
	common := dir
	if other := m.line(ctx, filepath.Join(dir, "commondir")); other != "" {
		common = filepath.Join(dir, other)
	}
	if at := m.line(ctx, filepath.Join(common, filepath.FromSlash(ref))); at != "" {
		return branch + " at " + short(at)
	}
	return branch // its commit is packed
}

func short(commit string) string { return commit[:min(len(commit), 8)] }

// gitDir is the repository that root belongs to; a work tree of its own names it
// in a file.
func (m *Manager) gitDir(ctx context.Context, root string) string {
	for d := root; ; d = filepath.Dir(d) {
		git := filepath.Join(d, ".git")
		if to, ok := strings.CutPrefix(m.line(ctx, git), "gitdir: "); ok {
			if !filepath.IsAbs(to) {
				to = filepath.Join(d, to)
			}
			return to
		}
		if m.line(ctx, filepath.Join(git, "HEAD")) != "" {
			return git
		}
		if d == filepath.Dir(d) {
			return ""
		}
	}
}

// line is the first line of a file, "" when there is none.
func (m *Manager) line(ctx context.Context, file string) string {
	name, err := m.o.Workspace.Resolve("", file)
	if err != nil {
		return ""
	}
	view, err := m.o.Workspace.View(ctx, name)
	if err != nil || !view.Exists() {
		return ""
	}
	text, _, _ := strings.Cut(string(view.Truth()), "\n")
	return strings.TrimSpace(text)
}

// tellStale announces files that moved under the model, each once and all of
// one moment in one notice.
func (t *turn) tellStale(since string) {
	stale := t.s.guard.Stale(t.ctx)
	was := t.s.head
	if len(stale) > 0 || !t.s.headSeen { // outside git too it is looked up once, not at every step
		t.s.head, t.s.headSeen = t.s.m.head(t.ctx, t.s.root), true
	}
	if len(stale) == 0 {
		return
	}
	opening := since + " these files, which you had seen, were changed."
	people := staleForPeople(stale)
	if now := t.s.head; was != "" && now != "" && now != was {
		moved := "HEAD moved from " + was + " to " + now
		opening = moved + ". " + opening
		people = moved + "; " + people
	}
	t.tell(staleNotice(stale, opening))
	t.notice(people)
}

func staleForPeople(files []guard.Guarded) string {
	if len(files) == 1 {
		return files[0].Display + " changed since the session saw it; it will have to read it again"
	}
	return plural(len(files)) + " changed since the session saw them; it will have to read them again"
}
