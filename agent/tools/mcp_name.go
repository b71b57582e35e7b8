package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// mcpName is mcp__server__tool in at most 64 allowed characters; a name that
// had to be changed or cut ends in a short digest, so that no two meet.
func mcpName(server, tool string) string {
	plain := notInName.ReplaceAllString(tool, "_")
	name := "mcp__" + server + "__" + plain
	if plain == tool && len(name) <= 64 {
		return name
	}
	sum := sha256.Sum256([]byte(tool))
	return name[:min(len(name), 64-9)] + "_" + hex.EncodeToString(sum[:4])
}
