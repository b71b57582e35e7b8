package contextengine

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/stella-ls/stella-ls/contextengine/files"
	"github.com/stella-ls/stella-ls/contextengine/internal/text"
	"github.com/stella-ls/stella-ls/contextengine/store"
)

// Skill mining.
const (
	similar          = 0.4 // word-set likeness of lessons that say one thing
	restatements     = 3   // how often it must have been said
	skillsPerSession = 2
)

// cluster is one lesson in all its wordings.
type cluster struct {
	lead    logged
	set     text.Set
	turns   map[string]bool
	domains []string
	members []logged
}

// clusters groups lessons that say the same. The input is sorted first, so any
// order of it gives the same groups; each group is led by its first member.
func clusters(lines []logged) []cluster {
	lines = slices.Clone(lines)
	slices.SortFunc(lines, func(a, b logged) int {
		return cmp.Or(cmp.Compare(a.Lesson, b.Lesson), cmp.Compare(a.OccurredAt, b.OccurredAt), cmp.Compare(a.Turn, b.Turn))
	})
	var out []cluster
	for _, l := range lines {
		set := text.SetOf(l.Lesson)
		i := slices.IndexFunc(out, func(c cluster) bool { return c.set.Jaccard(set) >= similar })
		if i < 0 {
			out = append(out, cluster{lead: l, set: set, turns: map[string]bool{}})
			i = len(out) - 1
		}
		c := &out[i]
		c.members = append(c.members, l)
		c.turns[l.Turn+"|"+l.OccurredAt] = true
		for _, d := range l.Domains {
			if !slices.Contains(c.domains, d) {
				c.domains = append(c.domains, d)
			}
		}
	}
	return out
}

// mineSkills writes a skill for each lesson that keeps coming back, at most two
// a session, never over an existing file, never what people took away.
func (e *Engine) mineSkills(ctx context.Context, session string) ([]string, error) {
	lines, err := readLog(e.lay.Reflections())
	if err != nil {
		return nil, err
	}
	const newest = 2000 // what is older has had its chance
	lines = lines[max(0, len(lines)-newest):]
	lines = slices.DeleteFunc(lines, func(l logged) bool { return l.Origin == files.Derived })
	skills, _, err := e.lay.ReadSkills()
	if err != nil {
		return nil, err
	}
	s, err := e.openStore(ctx, true)
	if err != nil {
		return nil, err
	}
	buried, err := s.Nodes(ctx, store.When{}, true, kindTombstone)
	if err != nil {
		return nil, err
	}
	var made []string
	for _, c := range clusters(lines) {
		if len(c.turns) < restatements || knownSkill(c, skills) || buriedLesson(c, buried) {
			continue
		}
		if !e.mayMine(session) {
			break
		}
		slug, err := e.writeSkill(c)
		if err != nil {
			return made, err
		}
		if slug != "" {
			made = append(made, slug)
			e.mu.Lock()
			e.mined[session]++
			e.mu.Unlock()
		}
	}
	if len(made) > 0 {
		err = e.mirrorInto(ctx, s)
	}
	return made, err
}

func (e *Engine) mayMine(session string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mined[session] < skillsPerSession
}

func knownSkill(c cluster, skills []files.Skill) bool {
	return slices.ContainsFunc(skills, func(sk files.Skill) bool {
		return slices.ContainsFunc(c.members, func(l logged) bool {
			return text.SetOf(sk.Description).Jaccard(text.SetOf(l.Lesson)) >= similar || strings.Contains(sk.Body, l.Lesson)
		})
	})
}

func buriedLesson(c cluster, buried []store.Node) bool {
	return slices.ContainsFunc(buried, func(n store.Node) bool {
		set := text.SetOf(n.Content)
		return slices.ContainsFunc(c.members, func(l logged) bool {
			return set.Jaccard(text.SetOf(l.Lesson)) >= similar || strings.Contains(n.Content, l.Lesson)
		})
	})
}

// writeSkill makes the file; "" when its name is taken.
func (e *Engine) writeSkill(c cluster) (slug string, err error) {
	slug = slugOf(strings.Join(strings.Fields(c.lead.Lesson)[:min(7, len(strings.Fields(c.lead.Lesson)))], " "))
	slices.Sort(c.domains)
	var doc files.Document
	doc.Set("name", slug)
	doc.Set("description", text.Clip(c.lead.Lesson, 200))
	doc.Set("origin", "auto")
	if len(c.domains) > 0 {
		doc.SetList("domains", c.domains)
	}
	var b strings.Builder
	b.WriteString("Learned again and again in this workspace:\n\n")
	seen := map[string]bool{}
	for _, l := range c.members {
		if !seen[l.Lesson] && len(seen) < 8 {
			seen[l.Lesson] = true
			b.WriteString("- " + l.Lesson + "\n")
		}
	}
	doc.Body = b.String()
	err = files.Create(e.lay.Skill(slug), []byte(doc.String()))
	if errors.Is(err, fs.ErrExist) {
		return "", nil
	}
	return slug, err
}
