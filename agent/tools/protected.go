package tools

import (
	"path/filepath"
	"strings"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Protector says of a path, as a call spells it, whether writing there would
// give a session more than it has: forbidden says why it is never done, consent
// why a person must agree whatever the settings allow. Both are empty for all
// other paths.
type Protector func(spelled string) (forbidden, consent string)

// Protect is the Protector of a session whose paths env reads. home is
// $STELLA_HOME: the user's own settings, trust and records. Below a folder of the
// workspace, .stella holds hooks, tools, servers and rules that forbid, and .git
// holds hooks and commands that git runs. What the folder itself lies in says
// nothing: it may be a work tree under somebody's .git or .stella.
func Protect(ws *workspace.Workspace, env Env, home string) Protector {
	if canonical, err := ws.Resolve("", home); err == nil {
		home = string(canonical.Path)
	}
	return func(spelled string) (forbidden, consent string) {
		name, err := env.resolve(ws, spelled)
		if err != nil {
			return "", "" // no path of ours: the tool's own affair
		}
		for _, p := range []string{string(name.Path), name.Link} {
			if _, ours := workspace.Below(home, p); ours && home != "" {
				return name.Display + " lies in stella-ls's own state directory; no session writes there", ""
			}
			within := p
			if rel, inside := workspace.Below(name.Root, p); inside && name.Root != "" {
				within = rel
			}
			for _, element := range strings.Split(filepath.ToSlash(within), "/") {
				switch strings.ToLower(element) {
				case ".stella":
					consent = name.Display + " is part of what tells stella-ls what to run here and what not to do."
				case ".git":
					consent = name.Display + " is git's own, and git runs commands that stand there."
				}
			}
		}
		return "", consent
	}
}

// Keeper is a Mutator that alone decides where it writes and what: save_memory,
// which makes one file of .stella/memories/ and sets its origin. What the model
// names in its call is neither a path nor a head.
type Keeper interface {
	Mutator
	Keeps() bool
}

// protected asks the Protector about all that a call would write, and whether a
// rule that cannot be read may speak against it.
func (r *Registry) protected(p *pending) (forbidden, consent string) {
	if e := p.entry.spec.Effect; r.o.Rules != nil && (e == Mutates || e == Opaque) {
		consent = r.o.Rules.Unsure()
	}
	if r.o.Protect == nil || p.entry.spec.Effect == Reads {
		return "", consent
	}
	if k, ok := p.entry.tool.(Keeper); ok && k.Keeps() {
		return "", consent
	}
	for _, path := range p.paths() {
		f, c := r.o.Protect(path)
		if f != "" {
			return f, ""
		}
		if c != "" {
			consent = c
		}
	}
	return "", consent
}
