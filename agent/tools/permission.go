package tools

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/stella-ls/stella-ls/internal/config"
)

// Need is what a call must be allowed to do.
type Need struct {
	Permission Permission
	// Rule names the call for "always": "command:go test ./...".
	Rule string
	// Ask is true when a person must answer whatever the settings say, as for
	// files with a secret's name.
	Ask bool
	// Trust is true when the call runs only in a trusted workspace.
	Trust    bool
	Question Question
}

// The ids of a permission question's options.
const (
	Once   = "once"
	Always = "always"
	Deny   = "deny"
)

// Permissions decides whether a call may run, and asks the human where the
// settings say so. It is shared by all sessions.
type Permissions struct {
	// Settings is asked at each decision.
	Settings func() config.Permissions
	Trusted  func() bool
	// Keep stores an "always" rule in the user's own settings; nil forgets it
	// at the end of the process.
	Keep func(rule string) error

	mu   sync.Mutex // guards kept
	kept map[string]bool
}

// Decide returns "" when the call may run, else why not and what to do.
func (p *Permissions) Decide(ctx context.Context, env Env, n Need) string {
	if n.Trust && !(p.Trusted != nil && p.Trusted()) {
		return "this workspace is not trusted, so nothing is run in it; the user can trust it in the editor or with: stella-ls trust"
	}
	mode := p.mode(n.Permission)
	switch {
	case mode == "deny":
		return fmt.Sprintf("the settings deny it (permissions.%s = \"deny\")", n.Permission)
	case p.always(n.Rule):
		return ""
	case mode == "allow" && !n.Ask:
		return ""
	}
	return p.ask(ctx, env, n)
}

// mode is the setting for one kind; unknown words are read as "ask".
func (p *Permissions) mode(kind Permission) string {
	s := config.Default().Permissions
	if p.Settings != nil {
		s = p.Settings()
	}
	word := ""
	switch kind {
	case PermitNothing:
		return "allow"
	case PermitWrite:
		word = s.Write
	case PermitCommand:
		word = s.Command
	case PermitNetwork:
		word = s.Network
	case PermitMCP:
		word = s.MCP
	}
	if word == "allow" || word == "deny" {
		return word
	}
	return "ask"
}

// always reports whether a stored rule covers the call. A rule that ends in a star
// covers what is longer, a command's only after a space, but never one that could
// chain another command. A person writes such a rule; an answer never makes one.
func (p *Permissions) always(rule string) bool {
	if rule == "" {
		return false
	}
	p.mu.Lock()
	kept := p.kept[rule]
	p.mu.Unlock()
	if kept {
		return true
	}
	if p.Settings == nil {
		return false
	}
	for _, r := range p.Settings().Always {
		if r == rule {
			return true
		}
		stem, open := strings.CutSuffix(r, "*")
		if strings.HasPrefix(r, "command:") && !strings.HasSuffix(stem, " ") {
			open = false
		}
		if open && strings.HasPrefix(rule, stem) && !strings.ContainsAny(rule[len(stem):], ";&|<>`$()\n\r\\") {
			return true
		}
	}
	return false
}

func (p *Permissions) ask(ctx context.Context, env Env, n Need) string {
	if strings.HasSuffix(n.Rule, "*") {
		n.Rule = "" // "ls src/*", answered with always, would allow whatever begins so
	}
	q := n.Question
	if q.Kind == "" {
		q.Kind = string(n.Permission)
	}
	q.Options = []Option{{ID: Once, Title: "Allow once"}, {ID: Always, Title: "Always allow"}, {ID: Deny, Title: "Deny"}}
	if n.Rule == "" {
		q.Options = []Option{{ID: Once, Title: "Allow once"}, {ID: Deny, Title: "Deny"}}
	}
	if env.Ask == nil {
		return nobody(n)
	}
	env.notice("waiting for you: " + q.Title)
	a, err := env.Ask.Ask(ctx, env.Session, q)
	switch {
	case ctx.Err() != nil:
		return "the turn was cancelled while the question was open"
	case err != nil:
		return "the question could not be put to the user: " + err.Error()
	case a.Choice == Once:
		return ""
	case a.Choice == Always && n.Rule != "":
		p.keep(env, n.Rule)
		return ""
	case a.Choice == Deny && a.Text != "":
		return "the user denied it: " + a.Text
	case a.Choice == Deny:
		return "the user denied it"
	case a.Choice != "" || a.Text != "":
		return "the user's answer is none of the options, so it was not allowed"
	}
	return nobody(n)
}

func (p *Permissions) keep(env Env, rule string) {
	p.mu.Lock()
	if p.kept == nil {
		p.kept = map[string]bool{}
	}
	p.kept[rule] = true
	p.mu.Unlock()
	if p.Keep == nil {
		return
	}
	if err := p.Keep(rule); err != nil {
		env.notice("\"always\" holds until the server ends, it could not be stored: " + err.Error())
	}
}

func nobody(n Need) string {
	if n.Ask {
		return "it needs the user's consent and nobody can be asked here"
	}
	return fmt.Sprintf("it needs the user's consent and nobody can be asked here; the user can set permissions.%s = \"allow\" in their own settings", n.Permission)
}
