package demo

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed sample script.yaml driver.lua
var files embed.FS

// The story, told the same way in both editors.
const (
	file       = "api/pricing.py"
	request    = "Raise the team tier to 59.00, and give 10 % off from 20 seats."
	personLine = "# TODO: ask finance how to round"
)

// stage is the temporary folder of one run.
type stage struct{ dir, root, state string }

func newStage() (stage, error) {
	dir, err := os.MkdirTemp("", "stella-demo-")
	if err != nil {
		return stage{}, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return stage{}, err
	}
	s := stage{dir, filepath.Join(dir, "shop"), filepath.Join(dir, "state")}
	sample, err := fs.Sub(files, "sample")
	if err != nil {
		return s, err
	}
	if err := os.CopyFS(s.root, sample); err != nil {
		return s, err
	}
	// Embedded files are read-only, and so are their copies.
	if err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o644)
	}); err != nil {
		return s, err
	}
	if err := os.Mkdir(s.state, 0o700); err != nil {
		return s, err
	}
	script := filepath.Join(dir, "script.yaml")
	raw, err := files.ReadFile("script.yaml")
	if err != nil {
		return s, err
	}
	if err := os.WriteFile(script, raw, 0o644); err != nil {
		return s, err
	}
	settings := fmt.Sprintf("[model]\nprovider = \"script\"\nscript = %q\n", script)
	return s, os.WriteFile(filepath.Join(s.state, "settings.toml"), []byte(settings), 0o600)
}

func (s stage) path() string { return filepath.Join(s.root, filepath.FromSlash(file)) }

func (s stage) remove() { _ = os.RemoveAll(s.dir) }

// env is the server's environment: nothing of the user's own that could change
// what it does, and no key.
func (s stage) env() []string {
	return []string{
		"HOME=" + s.dir, "STELLA_HOME=" + s.state, "TMPDIR=" + s.dir, "PATH=" + os.Getenv("PATH"),
		"LANG=C.UTF-8", "XDG_CONFIG_HOME=" + s.dir, "XDG_DATA_HOME=" + s.dir, "XDG_STATE_HOME=" + s.dir, "XDG_CACHE_HOME=" + s.dir,
	}
}

var serverArgs = []string{"serve", "--stdio", "--test-hooks"}
