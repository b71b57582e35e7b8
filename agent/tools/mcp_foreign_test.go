//go:build unix

package tools

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Case 17 with a file server of another make, npm's
// @modelcontextprotocol/server-filesystem: STELLA_TEST_MCP_FILESYSTEM is the
// path of its dist/index.js.
func TestMCPForeignFileServer(t *testing.T) {
	server := os.Getenv("STELLA_TEST_MCP_FILESYSTEM")
	node, err := exec.LookPath("node")
	if server == "" || err != nil {
		t.Skip("STELLA_TEST_MCP_FILESYSTEM is not set, or there is no node")
	}
	b := newBench(t)
	at := time.Now()
	m, told := mcpBench(t, b, fmt.Sprintf("[servers.fs]\ncommand = [%q, %q, %q]\n", node, server, b.root))
	t.Logf("connected after %s", time.Since(at))
	if told() != "" {
		t.Fatalf("told: %s", told())
	}
	b.write("a.txt", "one\n")
	want(t, b.call("mcp__fs__read_text_file", in{"path": b.root + "/a.txt"}), "ok", "one")
	base := b.read("a.txt")
	b.write("a.txt", "two\n")
	want(t, b.call("mcp__fs__write_file", in{"path": b.root + "/a.txt", "content": "mcp\n"}), "stale_base", "a.txt")
	edits := []in{{"oldText": "two", "newText": "2"}}
	want(t, b.call("mcp__fs__edit_file", in{"path": b.root + "/a.txt", "edits": edits}), "stale_base", "a.txt")
	want(t, b.call("mcp__fs__move_file", in{"source": b.root + "/a.txt", "destination": b.root + "/b.txt"}), "stale_base", "a.txt")
	if b.disk("a.txt") != "two\n" {
		t.Errorf("the server wrote: %q", b.disk("a.txt"))
	}
	b.read("a.txt")
	r := b.call("mcp__fs__edit_file", in{"path": b.root + "/a.txt", "edits": edits})
	want(t, r, "ok", "read them again")
	want(t, b.call("edit_file", in{"path": "a.txt", "base": base, "edits": []in{{"old": "2", "new": "3"}}}), "stale_base", "during mcp fs/edit_file")
	if r := b.call("mcp__fs__read_text_file", in{"path": "/etc/hostname"}); !r.IsError || strings.Contains(r.Body, "\n\n") {
		t.Errorf("outside its root: %s", r.Text())
	}
	m.Close()
}
