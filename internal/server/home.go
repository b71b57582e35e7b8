package server

import (
	"os"
	"path/filepath"
	"runtime"
)

// Home is the directory for what this program keeps outside workspaces:
// $STELLA_HOME, else the platform's place for state.
func Home(env func(string) string) (string, error) {
	if dir := env("STELLA_HOME"); dir != "" {
		return filepath.Abs(dir)
	}
	switch runtime.GOOS {
	case "windows", "darwin":
		dir, err := os.UserConfigDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(dir, "stella-ls"), nil
	}
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "stella-ls"), nil
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, ".local", "state", "stella-ls"), nil
}
