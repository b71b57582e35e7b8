package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/agent/model/script"
	"github.com/stella-ls/stella-ls/graph"
	"github.com/stella-ls/stella-ls/guard/commit"
	"github.com/stella-ls/stella-ls/internal/config"
)

// Check is one line of the doctor's findings.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, warn, fail
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"` // what to do
}

const (
	checkOK   = "ok"
	checkWarn = "warn"
	checkFail = "fail"
)

// Doctor looks at what works here: the state directory, settings, model, how
// files in root are written, watching, trust, editors. It contacts nobody. running is
// the index of the server that asks, nil where none runs.
func Doctor(ctx context.Context, o Options, root string, running *graph.IndexStatus) []Check {
	checks := []Check{{"version", checkOK, fmt.Sprintf("stella-ls %s, %s/%s", o.Version, runtime.GOOS, runtime.GOARCH), ""}}
	checks = append(checks, checkHome(o.Home))
	trusted, trust := checkTrust(o, root)
	checks = append(checks, trust)
	settings, found := config.Load(config.Sources{Home: o.Home, Root: root, Trusted: trusted})
	checks = append(checks, checkSettings(found)...)
	checks = append(checks, checkModel(settings.Model, o.Env), checkCommit(root), checkWatches(ctx, root, running), checkDisplaced(o.Home))
	return append(checks, checkTools(ctx)...)
}

// Report is the doctor's answer as JSON.
func Report(checks []Check) map[string]any {
	return map[string]any{"ok": !Failed(checks), "checks": checks}
}

// Failed reports whether any check did.
func Failed(checks []Check) bool {
	for _, c := range checks {
		if c.Status == checkFail {
			return true
		}
	}
	return false
}

func checkHome(home string) Check {
	if err := config.EnsureHome(home); err != nil {
		return Check{"state directory", checkFail, err.Error(), "set STELLA_HOME to a directory of your own"}
	}
	f, err := os.CreateTemp(home, "doctor-")
	if err != nil {
		return Check{"state directory", checkFail, err.Error(), "make " + home + " writable, or set STELLA_HOME"}
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	return Check{"state directory", checkOK, home, ""}
}

func checkTrust(o Options, root string) (bool, Check) {
	if o.Trust {
		return true, Check{"trust", checkOK, "trusted for this run", ""}
	}
	yes, decided, err := config.NewTrust(o.Home).Trusted(root)
	switch {
	case err != nil:
		return false, Check{"trust", checkFail, err.Error(), "until this is mended nothing is trusted"}
	case yes:
		return true, Check{"trust", checkOK, root + " is trusted", ""}
	case decided:
		return false, Check{"trust", checkWarn, root + " is not trusted, as you decided", "stella-ls trust " + root}
	default:
		return false, Check{"trust", checkWarn, root + " is not trusted: no commands, hooks, formatters or servers of the project", "stella-ls trust " + root + ", or say so in the editor"}
	}
}

func checkSettings(problems []config.Problem) []Check {
	if len(problems) == 0 {
		return []Check{{"settings", checkOK, "no unknown keys, nothing left out", ""}}
	}
	var out []Check
	for _, p := range problems {
		status := checkWarn
		if p.Unreadable {
			status = checkFail
		}
		out = append(out, Check{"settings", status, p.String(), "docs/settings.md lists the keys"})
	}
	return out
}

func checkModel(s config.Model, env func(string) string) Check {
	m, err := model.Choose(s, env, model.Options{Gate: &script.Gate{}, Keyring: keyringOf(env)})
	if errors.Is(err, model.ErrNoModel) {
		return Check{"model", checkWarn, "none is configured", err.Error()}
	}
	if err != nil {
		return Check{"model", checkFail, err.Error(), "docs/settings.md, [model]"}
	}
	defer func() { _ = model.Close(m) }()
	return Check{"model", checkOK, m.Name() + " (not contacted)", ""}
}

func checkCommit(root string) Check {
	p, err := commit.Probe(root)
	if err != nil {
		return Check{"writing files", checkFail, err.Error(), "sessions cannot write below " + root}
	}
	if len(p.Notes) > 0 {
		return Check{"writing files", checkWarn, "mode " + p.Mode + ": " + strings.Join(p.Notes, "; "), "a local file system of your own gives the full guard"}
	}
	return Check{"writing files", checkOK, "mode " + p.Mode, ""}
}

func checkDisplaced(home string) Check {
	dir := filepath.Join(home, "displaced")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return Check{"displaced files", checkOK, "none", ""}
	}
	store, err := commit.OpenDisplaced(dir, nil)
	if err != nil {
		return Check{"displaced files", checkFail, err.Error(), ""}
	}
	entries, err := store.List()
	if err != nil {
		return Check{"displaced files", checkFail, err.Error(), "do not delete " + dir + ": it may hold the only copy of a save"}
	}
	if len(entries) == 0 {
		return Check{"displaced files", checkOK, "none", ""}
	}
	return Check{"displaced files", checkWarn, fmt.Sprintf("%d versions are kept", len(entries)), "stella-ls recover list"}
}

// checkTools looks for editors and git on the PATH.
func checkTools(ctx context.Context) []Check {
	var out []Check
	for _, t := range []struct{ name, arg, what string }{
		{"git", "--version", "ignore rules and branch switches are seen without it; sessions use it"},
		{"nvim", "--version", "Neovim 0.10 or later; make install puts the plugin in place"},
		{"code", "--version", "VS Code; code --install-extension stella-*.vsix"},
	} {
		path, err := exec.LookPath(t.name)
		if err != nil {
			out = append(out, Check{t.name, checkOK, "not on the PATH", t.what})
			continue
		}
		ctx, stop := context.WithTimeout(ctx, 5*time.Second)
		text, err := exec.CommandContext(ctx, path, t.arg).Output()
		stop()
		line, _, _ := strings.Cut(string(text), "\n")
		if err != nil {
			out = append(out, Check{t.name, checkWarn, path + " does not run: " + err.Error(), t.what})
			continue
		}
		out = append(out, Check{t.name, checkOK, strings.TrimSpace(line) + " (" + path + ")", ""})
	}
	return out
}
