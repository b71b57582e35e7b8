package agent

import (
	"context"
	_ "embed"
	"fmt"
	"runtime"
	"strings"

	"github.com/stella-ls/stella-ls/guard"
)

//go:embed prompt.md
var basePrompt string

// bakePrefix assembles the prefix of a session, once: its bytes are sent
// unchanged with every request, so nothing in it may change from turn to turn.
func bakePrefix(ctx context.Context, engine Context, session, mark, root string) (string, error) {
	base := basePrompt + fmt.Sprintf("\n# This session\n- Directory: %s\n- Platform: %s\n- Mark of engine notices: %s\n", root, runtime.GOOS, mark)
	if engine == nil {
		return base, nil
	}
	return engine.Prefix(ctx, session, base, root)
}

// engineMark begins every message of the engine. It holds a random word, so
// that nothing the model reads through a tool can forge one.
func engineMark(nonce string) string { return "[stella engine " + nonce + "]" }

// staleNotice tells the model which files moved under it, each once.
func staleNotice(files []guard.Guarded, opening string) string {
	const most = 30
	var b strings.Builder
	b.WriteString(opening)
	b.WriteString(" Read a file again before you change it; an edit against what you saw earlier will be refused.")
	for i, f := range files {
		if i == most {
			fmt.Fprintf(&b, "\n- and %d more files", len(files)-most)
			break
		}
		b.WriteString("\n- " + f.Display)
		if len(f.ChangedBy) > 0 {
			b.WriteString(" (changed by: " + strings.Join(f.ChangedBy, ", ") + ")")
		}
	}
	return b.String()
}
