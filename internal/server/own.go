package server

import (
	"path/filepath"
	"strings"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/guard/commit"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// ownFile reports files of this program inside a workspace that are no news to
// anyone: databases, logs, locks, temporaries. Memories, rules and settings,
// which people edit, are files like any other.
func ownFile(p workspace.Path) bool {
	dir, name := filepath.Split(string(p))
	if commit.IsTemporary(name) || guard.OwnTemporary(string(p)) {
		return true
	}
	if filepath.Base(dir) != ".stella" {
		return false
	}
	for _, end := range []string{".db", ".db-wal", ".db-shm", ".db-journal", ".lock", ".log", ".tmp"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return name == "reflections.jsonl"
}
