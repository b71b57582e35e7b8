package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// What would give a session more than it has is asked about or never written,
// wherever the workspace's folder itself lies.
func TestProtect(t *testing.T) {
	for _, above := range []string{"plain", ".git/worktrees", ".stella/trees", ".Git"} {
		t.Run(above, func(t *testing.T) {
			outer := t.TempDir()
			root := filepath.Join(outer, filepath.FromSlash(above), "project")
			home := filepath.Join(root, "state") // as near as it can be
			for _, d := range []string{".git/hooks", ".stella", "sub/.git", "src", "state"} {
				if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for link, to := range map[string]string{"way-in": ".git", "src/rules": "../.stella/rules.md"} {
				if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
					t.Fatal(err)
				}
			}
			ws := workspace.New(workspace.Options{Roots: []string{root}})
			protect := Protect(ws, Env{Root: ws.Roots()[0]}, home)
			for path, want := range map[string]string{
				"src/a.go":                           "",
				"a.git":                              "",
				".github/x.yml":                      "",
				filepath.Join(root, "src/b.go"):      "",
				".git":                               "consent",
				".git/hooks/pre-commit":              "consent",
				"sub/.git/config":                    "consent",
				".GIT/config":                        "consent",
				"way-in/config":                      "consent",
				"src/rules":                          "consent",
				"src/../.stella/settings.toml":       "consent",
				filepath.Join(root, ".stella/x"):     "consent",
				filepath.Join(outer, ".git/config"):  "consent", // outside: a repository around the folder
				filepath.Join(home, "settings.toml"): "forbidden",
				"state":                              "forbidden",
				"src/../state/trust.toml":            "forbidden",
			} {
				forbidden, consent := protect(path)
				got := ""
				switch {
				case forbidden != "":
					got = "forbidden"
				case consent != "":
					got = "consent"
				}
				if got != want {
					t.Errorf("%s: %q, want %q (%s%s)", strings.TrimPrefix(path, outer), got, want, forbidden, consent)
				}
			}
		})
	}
}
