package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Home is the directory for everything that is kept outside workspaces:
// $STELLA_HOME, else a directory below the platform's place for state.
// It need not exist.
func Home(env func(string) string) (string, error) {
	if h := env("STELLA_HOME"); h != "" {
		return filepath.Abs(h)
	}
	var base string
	switch runtime.GOOS {
	case "windows":
		base = env("LOCALAPPDATA")
	case "darwin":
		if h := env("HOME"); h != "" {
			base = filepath.Join(h, "Library", "Application Support")
		}
	default:
		// The XDG rules say that a relative path is to be ignored.
		if base = env("XDG_STATE_HOME"); !filepath.IsAbs(base) {
			base = ""
			if h := env("HOME"); h != "" {
				base = filepath.Join(h, ".local", "state")
			}
		}
	}
	if base == "" {
		return "", errors.New("cannot tell where to keep state: neither STELLA_HOME nor a home directory is set")
	}
	return filepath.Join(base, "stella-ls"), nil
}

// EnsureHome makes the directory, for its owner only.
func EnsureHome(home string) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("cannot make the state directory: %w; set STELLA_HOME to one that can be written", err)
	}
	return nil
}
