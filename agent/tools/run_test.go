//go:build unix

package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/internal/process"
)

// alive lists the pids in a file that still run.
func (b *bench) alive(name string) (out []int) {
	for _, f := range strings.Fields(b.disk(name)) {
		pid, err := strconv.Atoi(f)
		if err == nil && syscall.Kill(pid, 0) == nil {
			if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(stat), ") Z ") {
				continue // a zombie that nobody reaps is no process any more
			}
			out = append(out, pid)
		}
	}
	return out
}

func TestCommandResult(t *testing.T) {
	b := newBench(t)
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-test-key")
	want(t, b.call("run_command", in{"command": "echo out; echo err >&2; pwd"}), "ok", "exit 0", "out\nerr\n"+b.root)
	r := b.call("run_command", in{"command": "cat; echo gone >&2; exit 3"})
	want(t, r, "ok", `"exit":3`, "gone")
	if !r.IsError || !r.Derived {
		t.Errorf("%+v", r)
	}
	want(t, b.call("run_command", in{"command": "echo key=$ANTHROPIC_API_KEY."}), "ok", "key=.")
	r = b.call("run_command", in{"command": "seq 1 200000"})
	want(t, r, "ok", "\n1\n2\n", "bytes left out", "\n200000")
	if len(r.Body) > process.OutputHead+process.OutputTail+100 || r.Object.(commandObject).Cut == 0 {
		t.Errorf("%d bytes, %+v", len(r.Body), r.Object)
	}
	want(t, b.call("run_command", in{"command": "no-such-program-here"}), "ok", `"exit":127`)
}

func TestCommandTimeLimit(t *testing.T) {
	b := newBench(t)
	at := time.Now()
	r := b.call("run_command", in{"command": "echo begun; echo $$ >> pids; sleep 300 & echo $! >> pids; wait", "timeout_s": 1})
	want(t, r, "timed_out", "begun")
	if took := time.Since(at); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	if left := b.alive("pids"); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
}

// A command that starts a daemon: the call ends, and so does the daemon.
func TestCommandLeavesNothing(t *testing.T) {
	b := newBench(t)
	at := time.Now()
	r := b.call("run_command", in{"command": "setsid sh -c 'echo $$ >> pids; sleep 300' & (sleep 301 & echo $! >> pids); sleep 0.3; echo started"})
	want(t, r, "ok", "started", "left running")
	if took := time.Since(at); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	if left := b.alive("pids"); len(left) > 0 || len(strings.Fields(b.disk("pids"))) != 2 {
		t.Errorf("left running: %v of %q", left, b.disk("pids"))
	}
}

// Case 16: a command rewrites a believed file.
func TestCommandChangesBelievedFile(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "one\n")
	b.write("b.txt", "b\n")
	base := b.read("a.txt")
	b.read("b.txt")
	r := b.call("run_command", in{"command": "echo two > a.txt; cat b.txt"})
	want(t, r, "ok", "read them again", "a.txt")
	if strings.Contains(r.Body, "  b.txt") {
		t.Errorf("an unchanged file is named: %s", r.Body)
	}
	want(t, b.call("edit_file", in{"path": "a.txt", "base": base, "edits": []in{{"old": "one", "new": "1"}}}),
		"stale_base", "during run_command: echo two > a.txt; cat b.txt")
}

func TestCommandCancelled(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for b.disk("ready") == "(absent)" {
			time.Sleep(2 * time.Millisecond)
		}
		cancel()
	}()
	r := b.messageIn(ctx, b.mk("run_command", in{"command": "echo $$ > pids; setsid sleep 300 & echo $! >> pids; touch ready; wait"}))[0]
	want(t, r, "cancelled")
	b.reg.Wait()
	if left := b.alive("pids"); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
}

// custom writes a custom tool that runs a shell script.
func (b *bench) custom(name, extra, script string) {
	b.t.Helper()
	b.write(".stella/tools/"+name+".toml", fmt.Sprintf("name = %q\ndescription = \"a tool\"\ncommand = [\"/bin/sh\", \"-c\", %q]\n%s", name, script, extra))
}

func (b *bench) addCustom() []error {
	list, problems := Custom(context.Background(), b.ws, b.root)
	for _, t := range list {
		if err := b.reg.Add(t); err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

func TestCustomTools(t *testing.T) {
	b := newBench(t)
	b.custom("echo_in", "[schema]\ntype = \"object\"\nrequired = [\"n\"]\n[schema.properties.n]\ntype = \"integer\"\n", "cat")
	b.custom("fails", "", "echo partly; echo because >&2; exit 4")
	b.custom("hangs", "timeout = \"1s\"\n", "sleep 300")
	b.custom("writes", "paths = [\"where\"]\n", `sed 's/.*"where":"\([^"]*\)".*/\1/' | xargs -I{} sh -c 'echo tool > {}'`)
	b.write(".stella/tools/bad.toml", "name = \"x y\"\ncommand = [\"true\"]\n")
	b.write(".stella/tools/worse.toml", "name = ")
	b.write(".stella/tools/typo.toml", "name = \"typo\"\ncomand = [\"true\"]\n")
	if problems := b.addCustom(); len(problems) != 3 {
		t.Errorf("problems: %v", problems)
	}
	want(t, b.call("echo_in", in{"n": 3}), "ok", `{"n":3}`)
	want(t, b.call("echo_in", in{"n": "3"}), "invalid")
	r := b.call("fails", in{})
	want(t, r, "failed", `"exit":4`, "partly\nbecause")
	if !r.IsError || !r.Derived {
		t.Errorf("%+v", r)
	}
	want(t, b.call("hangs", in{}), "timed_out")

	// Declared paths are checked before the call.
	b.write("a.txt", "one\n")
	b.read("a.txt")
	b.write("a.txt", "two\n")
	want(t, b.call("writes", in{"where": "a.txt"}), "stale_base", "a.txt")
	if b.disk("a.txt") != "two\n" {
		t.Error("the tool was run")
	}
	b.read("a.txt")
	want(t, b.call("writes", in{"where": "a.txt"}), "ok", "read them again")
	if b.disk("a.txt") != "tool\n" {
		t.Errorf("disk: %q", b.disk("a.txt"))
	}
}

func TestFileModeOfToolsDirectory(t *testing.T) {
	b := newBench(t)
	if list, problems := Custom(context.Background(), b.ws, filepath.Join(b.root, "nowhere")); list != nil || problems != nil {
		t.Errorf("%v %v", list, problems)
	}
}

// A file of the workspace that nests as deep as its size allows is read or
// refused, in a stack and a memory that do not matter; a larger one is not read.
func TestHostileConfiguration(t *testing.T) {
	deep := map[string]string{
		"arrays":     "x = " + strings.Repeat("[", plainMost-8),
		"tables":     "x = " + strings.Repeat("{a=", plainMost/3-8),
		"headers":    "[servers" + strings.Repeat(".a", plainMost/2-16) + "]\n",
		"sub-tables": strings.Repeat("[servers"+strings.Repeat(".a", 500)+"]\n", 250),
		"large":      strings.Repeat("# nothing\n", plainMost/10+1),
	}
	for name, text := range deep {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write(".stella/mcp.toml", text)
			if servers, problems := readMCP(t.Context(), b.ws, b.root); len(servers) > 0 || len(problems) == 0 {
				t.Errorf("%d servers, %v", len(servers), problems)
			}
			b.write(".stella/tools/deep.toml", text)
			if list, problems := Custom(t.Context(), b.ws, b.root); len(list) > 0 || len(problems) == 0 {
				t.Errorf("%d tools, %v", len(list), problems)
			}
		})
	}
}
