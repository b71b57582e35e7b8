package server

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/graph"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// watchLimit is where Linux says how many directories a user's programs can watch.
const watchLimit = "/proc/sys/fs/inotify/max_user_watches"

// countFor is how long the doctor counts folders.
const countFor = 5 * time.Second

// checkWatches tells how many folders are watched, or would be, and how many can.
func checkWatches(ctx context.Context, root string, running *graph.IndexStatus) Check {
	limit := 0
	if b, err := os.ReadFile(watchLimit); err == nil {
		limit, _ = strconv.Atoi(strings.TrimSpace(string(b)))
	}
	if running != nil {
		return watchesNow(running, limit)
	}
	if limit == 0 {
		return Check{"file watching", checkOK, "by the platform's own means", ""}
	}
	ctx, stop := context.WithTimeout(ctx, countFor)
	defer stop()
	need, whole := graph.Folders(ctx, workspace.New(workspace.Options{Roots: []string{root}}))
	return watchesNeeded(need, whole, limit)
}

// watchesNow is about the server that runs.
func watchesNow(s *graph.IndexStatus, limit int) Check {
	most := ""
	if limit > 0 {
		most = fmt.Sprintf(", of up to %d for all programs of a user", limit)
	}
	switch s.Watching {
	case "editor":
		return Check{"file watching", checkOK, "by the editor; 0 folders are watched by this server", ""}
	case "inotify":
		return Check{"file watching", checkOK, fmt.Sprintf("%d folders are watched%s", s.Watches, most), ""}
	case "inotify, in part":
		return Check{"file watching", checkWarn, fmt.Sprintf("only %d folders are watched%s; the rest is looked at every half minute", s.Watches, most), raiseWatches}
	case "":
		return Check{"file watching", checkOK, "not begun: the index is still being loaded", ""}
	}
	return Check{"file watching", checkWarn, "0 folders are watched; everything is looked at every few minutes", raiseWatches}
}

const raiseWatches = "sysctl fs.inotify.max_user_watches=524288"

// watchesNeeded is about a server that does not run yet.
func watchesNeeded(need int, whole bool, limit int) Check {
	text := fmt.Sprintf("%d", need)
	if !whole {
		text = "more than " + text
	}
	text = fmt.Sprintf("this folder takes %s watches (ignored folders take none) of up to %d for all programs of a user; none where the editor watches, as VS Code does", text, limit)
	switch {
	case need > limit:
		return Check{"file watching", checkWarn, text + ". What is beyond the limit is looked at every half minute", raiseWatches}
	case need > limit/2 || !whole:
		return Check{"file watching", checkWarn, text + ". Other programs may leave too few", raiseWatches}
	}
	return Check{"file watching", checkOK, text, ""}
}
