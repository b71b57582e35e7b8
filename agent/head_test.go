package agent

import (
	"context"
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/agent/model"
)

// H01, case 19: a branch switch under a turn is one notice that says so.
func TestBranchSwitchIsOneNotice(t *testing.T) {
	b := newBench(t)
	b.write(".git/HEAD", "ref: refs/heads/main\n")
	b.write(".git/refs/heads/main", "1a2b3c4d5e6f\n")
	b.write(".git/refs/heads/other", "9f8e7d6c5b4a\n")
	b.write("a.txt", "a\n")
	b.write("b.txt", "b\n")
	b.brain.play(do(call("read_file", map[string]any{"path": "a.txt"}), call("read_file", map[string]any{"path": "b.txt"})),
		func(ctx context.Context, r model.Request, on func(model.Event)) (model.Response, error) {
			b.write(".git/HEAD", "ref: refs/heads/other\n")
			b.write("a.txt", "other a\n")
			b.write("b.txt", "other b\n")
			return do(call("list_files", map[string]any{}))(ctx, r, on)
		}, say("ok"))
	b.prompt("go")
	last := b.brain.request(-1)
	if n := count(last, "HEAD moved from main at 1a2b3c4d to other at 9f8e7d6c."); n != 1 {
		t.Errorf("told %d times", n)
	}
	if n := strings.Count(b.client.notices(), "HEAD moved"); n != 1 || !strings.Contains(b.client.notices(), "2 files changed") {
		t.Errorf("notices: %q", b.client.notices())
	}
}

// Outside git nothing is looked up again at every step; a change of a file is a
// reason to look.
func TestHeadIsLookedUpOnce(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "a\n")
	b.brain.play(do(call("read_file", map[string]any{"path": "a.txt"})),
		func(ctx context.Context, r model.Request, on func(model.Event)) (model.Response, error) {
			b.write(".git/HEAD", "ref: refs/heads/main\n")
			return do(call("list_files", map[string]any{}))(ctx, r, on)
		},
		func(ctx context.Context, r model.Request, on func(model.Event)) (model.Response, error) {
			if h := b.m.all()[0].head; h != "" {
				t.Errorf("looked again: %q", h)
			}
			b.write("a.txt", "b\n")
			return do(call("list_files", map[string]any{}))(ctx, r, on)
		}, say("ok"))
	b.prompt("go")
	if h := b.m.all()[0].head; h != "main" {
		t.Errorf("head %q", h)
	}
}
