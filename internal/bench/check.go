package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// checkOf40KB is the guard's comparison alone, in this process; its control
// reads the same file and takes its digest, which is the least it can do.
func checkOf40KB(ctx context.Context, _ string) (figure, error) {
	f := figure{
		what: "guard check of a closed 40 KB file", control: "read and sha256",
		bar: "ratio at most 1.2",
		met: func(f figure) bool { return f.ratio() <= 1.2 },
	}
	s, err := newStage(map[string]any{})
	defer s.remove()
	if err != nil {
		return f, err
	}
	path := filepath.Join(s.root, "a.py")
	if err := os.WriteFile(path, []byte(strings.Repeat("rate = 1\n", 40<<10/9)), 0o600); err != nil {
		return f, err
	}
	ws := workspace.New(workspace.Options{Roots: []string{s.root}})
	g, err := guard.New(guard.Options{Workspace: ws, StateDir: s.state, Settings: func() config.Guard { return config.Default().Guard }})
	if err != nil {
		return f, err
	}
	defer g.Close(ctx)
	name, err := ws.Resolve(s.root, "a.py")
	if err != nil {
		return f, err
	}
	file, err := ws.View(ctx, name)
	if err != nil {
		return f, err
	}
	sess := g.Session("bench", s.root)
	sess.Deliver(guard.Observation{File: file, First: 1, Last: 10})
	// Many in a row are one sample: one alone is near the clock's grain. The two
	// take turns, so that a slow moment hits both.
	const batch = 20
	for range 300 {
		begin := time.Now()
		for range batch {
			if r := sess.Check(ctx, "a.py"); r != nil {
				return f, fmt.Errorf("the check says %s", r.Status)
			}
		}
		f.samples = append(f.samples, time.Since(begin)/batch)
		begin = time.Now()
		for range batch {
			raw, err := os.ReadFile(path)
			if err != nil {
				return f, err
			}
			_ = sha256.Sum256(raw)
		}
		f.against = append(f.against, time.Since(begin)/batch)
	}
	return f, nil
}
