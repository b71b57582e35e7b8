package lsp

import (
	"context"
	"time"
)

// parentPoll is how often the parent is looked for: with teardown it must stay
// below two seconds.
const parentPoll = 400 * time.Millisecond

// watchParent ends the server when the process that started it is gone.
func (s *Server) watchParent(ctx context.Context, pid int) {
	if pid <= 0 {
		return
	}
	wait, release := exitWaiter(pid)
	defer release()
	for ctx.Err() == nil {
		if wait(parentPoll) {
			s.finish("the editor's process is gone", 1)
			return
		}
	}
}
