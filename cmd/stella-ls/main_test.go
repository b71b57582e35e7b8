package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The tests run the real main in a process of its own: this test binary, asked
// by its environment.
func TestMain(m *testing.M) {
	if os.Getenv("STELLA_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "STELLA_TEST_MAIN=1", "STELLA_HOME="+filepath.Join(home, "state"), "HOME="+home, "ANTHROPIC_API_KEY=", "OPENAI_API_KEY=",
		"DBUS_SESSION_BUS_ADDRESS=", "XDG_RUNTIME_DIR=") // nobody's own keys
	cmd.Dir = t.TempDir()
	return cmd
}

type result struct {
	code        int
	out, stderr string
}

func runMain(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), stderr.String()}
}

func TestExitCodes(t *testing.T) {
	for _, x := range []struct {
		args string
		code int
		says string
	}{
		{"help", 0, "usage: stella-ls"},
		{"--help", 0, "usage: stella-ls"},
		{"version", 0, "stella-ls dev"},
		{"dance", 2, "no such command: dance; there are serve, demo, ask"},
		{"serve --no-such-flag", 2, "there is no flag --no-such-flag"},
		{"--no-such-flag", 2, "--socket PATH"},
		{"demo --editor emacs", 2, "only nvim"},
		{"ask hello --session", 2, "flag needs an argument"},
		{"serve extra", 2, "unexpected argument"},
		{"ask", 2, "say what to do"},
		{"ask hello --root /no/such/dir", 2, "no such file"},
		{"ask hello", 3, "no model is configured"},
		{"ask hello --session s-none", 2, "no such session"},
		{"recover", 2, "usage: stella-ls recover"},
		{"recover list", 0, "nothing was pushed aside"},
		{"recover list --json", 0, "[]"},
		{"recover restore x-1", 1, "no displaced version"},
		{"trust --list", 0, ""},
		{"trust /no/such/dir", 2, "no such file"},
		{"acp", 5, "this build does not have"},
		{"graph definitions x --root /no/such/dir", 2, "not a folder"},
	} {
		r := runMain(t, command(t, strings.Fields(x.args)...))
		if r.code != x.code || !strings.Contains(r.out+r.stderr, x.says) {
			t.Errorf("stella-ls %s: exit %d, want %d\n%s%s", x.args, r.code, x.code, r.out, r.stderr)
		}
	}
}

// Every command tells its own usage, to stdout when it was asked for it and to
// stderr with the fault, and the page of commands has each.
func TestEachCommandHasItsHelp(t *testing.T) {
	page, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	runMain := func(args ...string) result { // in this process: a start costs more than a page of text
		var out, stderr bytes.Buffer
		code := run(t.Context(), env{args: args, stdin: strings.NewReader(""), stdout: &out, stderr: &stderr, getenv: func(k string) string {
			return map[string]string{"HOME": home, "STELLA_HOME": home}[k]
		}})
		return result{code, out.String(), stderr.String()}
	}
	for _, sub := range subcommands {
		asked := runMain(sub.name, "--help")
		if asked.code != 0 || asked.stderr != "" || !strings.HasPrefix(asked.out, "usage: stella-ls "+sub.name) {
			t.Errorf("%s --help: %+v", sub.name, asked)
		}
		if strings.Contains(asked.out, "test-hooks") || strings.Contains(asked.out, "clientProcessId") {
			t.Errorf("%s --help tells what is nobody's business:\n%s", sub.name, asked.out)
		}
		if also := runMain("help", sub.name); also != asked {
			t.Errorf("help %s: %+v", sub.name, also)
		}
		wrong := runMain(sub.name, "--no-such-flag")
		if wrong.code != 2 || wrong.out != "" || !strings.Contains(wrong.stderr, "no-such-flag") || !strings.Contains(wrong.stderr, asked.out[:20]) {
			t.Errorf("%s --no-such-flag: %+v", sub.name, wrong)
		}
		if !strings.Contains(string(page), "stella-ls "+sub.name) {
			t.Errorf("docs/commands.md does not have %s", sub.name)
		}
	}
}

func TestTrustOfEverythingIsRefused(t *testing.T) {
	for _, dir := range []string{"/", "~"} {
		cmd := command(t, "trust", dir)
		if dir == "~" {
			cmd.Args[len(cmd.Args)-1] = cmd.Dir
			cmd.Env = append(cmd.Env, "HOME="+cmd.Dir)
		}
		if r := runMain(t, cmd); r.code != 2 || !strings.Contains(r.stderr, "trust the project's own folder") {
			t.Errorf("trust %s: %+v", dir, r)
		}
	}
}

func TestTrustThatCannotBeKeptIsNoSuccess(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "trust.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "trust", ".")
	cmd.Env = append(cmd.Env, "STELLA_HOME="+home)
	if r := runMain(t, cmd); r.code != 1 || !strings.Contains(r.stderr, "is damaged") || r.out != "" {
		t.Errorf("%+v", r)
	}
}

func TestTrustIsRemembered(t *testing.T) {
	cmd := command(t, "trust", ".")
	dir, env := cmd.Dir, cmd.Env
	if r := runMain(t, cmd); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	again := command(t, "doctor", "--json")
	again.Dir, again.Env = dir, env
	r := runMain(t, again)
	var report struct {
		OK     bool
		Checks []struct{ Name, Status, Detail, Hint string }
	}
	if err := json.Unmarshal([]byte(r.out), &report); err != nil {
		t.Fatalf("%v in %s", err, r.out)
	}
	found := map[string]string{}
	for _, c := range report.Checks {
		found[c.Name] = c.Status
		if c.Status != "ok" && c.Hint == "" {
			t.Errorf("%s is %s and says nothing about what to do", c.Name, c.Status)
		}
	}
	for _, name := range []string{"trust", "state directory", "settings", "writing files"} {
		if found[name] != "ok" {
			t.Errorf("%s is %q", name, found[name])
		}
	}
	if found["model"] != "warn" {
		t.Errorf("model without a key is %q", found["model"])
	}
	revoke := command(t, "trust", ".", "--revoke")
	revoke.Dir, revoke.Env = dir, env
	if r := runMain(t, revoke); r.code != 0 || !strings.Contains(r.out, "not trusted") {
		t.Errorf("%+v", r)
	}
}

// scripted is a command in a workspace with a.txt and a script that raises it.
func scripted(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, args...)
	script := filepath.Join(cmd.Dir, "script.yaml")
	write(t, script, `
turns:
  - calls: [{tool: read_file, input: {path: a.txt}}]
  - calls: [{tool: edit_file, input: {path: a.txt, base: "{{base a.txt}}", edits: [{old: "1", new: "2"}]}}]
  - text: "Raised."
`)
	write(t, filepath.Join(cmd.Dir, "a.txt"), "1\n")
	for _, e := range cmd.Env {
		if home, ok := strings.CutPrefix(e, "STELLA_HOME="); ok {
			if err := os.MkdirAll(home, 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(home, "settings.toml"), fmt.Sprintf("[model]\nprovider = \"script\"\nscript = %q\n", script))
		}
	}
	return cmd
}

// in runs another command in the place of the first.
func in(t *testing.T, first *exec.Cmd, args ...string) result {
	t.Helper()
	cmd := command(t, args...)
	cmd.Dir, cmd.Env = first.Dir, first.Env
	return runMain(t, cmd)
}

func holds(t *testing.T, cmd *exec.Cmd, want string) {
	t.Helper()
	if b, _ := os.ReadFile(filepath.Join(cmd.Dir, "a.txt")); string(b) != want {
		t.Errorf("the file holds %q, want %q", b, want)
	}
}

func TestAskHeadlessThenUndoInAnotherProcess(t *testing.T) {
	cmd := scripted(t, "ask", "--json", "raise it", "--root", ".")
	r := runMain(t, cmd)
	var got struct{ SessionID, Stop, Text string }
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != 0 {
		t.Fatalf("exit %d %v\n%s\n%s", r.code, err, r.out, r.stderr)
	}
	if got.Stop != "end_turn" || got.Text != "Raised." || got.SessionID == "" {
		t.Errorf("%+v", got)
	}
	holds(t, cmd, "2\n")
	if r := in(t, cmd, "sessions", "list", "--json"); r.code != 0 || !strings.Contains(r.out, got.SessionID) {
		t.Errorf("list: %+v", r)
	}
	if r := in(t, cmd, "sessions", "show", got.SessionID); r.code != 0 || !strings.Contains(r.out, "raise it") || !strings.Contains(r.out, "Raised.") {
		t.Errorf("show: %+v", r)
	}
	if r := in(t, cmd, "sessions", "undo", got.SessionID); r.code != 0 || !strings.Contains(r.out, "undone") {
		t.Errorf("undo: %+v", r)
	}
	holds(t, cmd, "1\n")
	if r := in(t, cmd, "sessions", "undo", got.SessionID); r.code != 1 || !strings.Contains(r.stderr, "nothing to undo") {
		t.Errorf("a second undo: %+v", r)
	}
	if r := in(t, cmd, "sessions", "show", "s-none"); r.code != 2 {
		t.Errorf("no such session: %+v", r)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serving is a server that has answered initialize.
type serving struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.ReadCloser
	ended chan error
}

func serveFor(t *testing.T, processID int) *serving {
	t.Helper()
	cmd := command(t)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &serving{cmd: cmd, in: in, out: out, ended: make(chan error, 1)}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	s.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":%d,"rootUri":null,"capabilities":{}}}`, processID))
	if got := readFrame(t, out); !strings.Contains(got, "stella-ls") {
		t.Fatalf("initialize answered %s", got)
	}
	s.send(t, `{"jsonrpc":"2.0","method":"initialized","params":{}}`)
	s.send(t, `{"jsonrpc":"2.0","id":2,"method":"stella/session/list"}`)
	readFrame(t, out)
	go func() { s.ended <- cmd.Wait() }()
	return s
}

func (s *serving) send(t *testing.T, body string) {
	t.Helper()
	if _, err := fmt.Fprintf(s.in, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
}

func readFrame(t *testing.T, r io.Reader) string {
	t.Helper()
	var head []byte
	for b := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); head = append(head, b[0]) {
		if _, err := io.ReadFull(r, b); err != nil {
			t.Fatalf("%v after %q", err, head)
		}
	}
	_, length, _ := strings.Cut(strings.TrimSpace(string(head)), ": ")
	n, err := strconv.Atoi(length)
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestGoneWithinTwoSeconds: however the client goes, the server follows.
func TestGoneWithinTwoSeconds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("signals")
	}
	parent := exec.Command("sleep", "60")
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = parent.Process.Kill() }()
	for _, x := range []struct {
		name string
		pid  int
		end  func(t *testing.T, s *serving)
		code int
	}{
		{"shutdown and exit", os.Getpid(), func(t *testing.T, s *serving) {
			s.send(t, `{"jsonrpc":"2.0","id":3,"method":"shutdown"}`)
			s.send(t, `{"jsonrpc":"2.0","method":"exit"}`)
		}, 0},
		{"exit alone", os.Getpid(), func(t *testing.T, s *serving) { s.send(t, `{"jsonrpc":"2.0","method":"exit"}`) }, 1},
		{"input closed", os.Getpid(), func(t *testing.T, s *serving) { _ = s.in.Close() }, 1},
		{"closed in the middle of a frame", os.Getpid(), func(t *testing.T, s *serving) {
			_, _ = io.WriteString(s.in, "Content-Length: 100\r\n\r\n{")
			_ = s.in.Close()
		}, 1},
		{"output closed", os.Getpid(), func(t *testing.T, s *serving) {
			_ = s.out.Close()
			s.send(t, `{"jsonrpc":"2.0","id":3,"method":"stella/session/list"}`)
		}, 1},
		{"told to stop", os.Getpid(), func(t *testing.T, s *serving) { _ = s.cmd.Process.Signal(syscall.SIGTERM) }, 1},
		{"parent killed, not collected", parent.Process.Pid, func(t *testing.T, s *serving) { _ = parent.Process.Kill() }, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := serveFor(t, x.pid)
			begin := time.Now()
			x.end(t, s)
			select {
			case <-s.ended:
			case <-time.After(10 * time.Second):
				t.Fatal("still there after 10 s")
			}
			if took := time.Since(begin); took > 2*time.Second {
				t.Errorf("took %s", took)
			}
			if code := s.cmd.ProcessState.ExitCode(); code != x.code {
				t.Errorf("exit code %d, want %d", code, x.code)
			}
		})
	}
}

// R03: there is no token that a log could hold; the socket is its owner's alone.
func TestSocketIsTheOwners(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("unix sockets")
	}
	dir, err := os.MkdirTemp("", "s") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "sub", "s.sock")
	cmd := command(t, "serve", "--socket", path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	for client := range 2 {
		conn := dial(t, path)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v %v", info.Mode(), err)
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}`
		fmt.Fprintf(conn, "Content-Length: %d\r\n\r\n%s", len(body), body)
		if got := readFrame(t, conn); !strings.Contains(got, "stella-ls") {
			t.Errorf("client %d got %s", client, got)
		}
		_ = conn.Close()
	}
	second := command(t, "serve", "--socket", path)
	if r := runMain(t, second); r.code != 1 || !strings.Contains(r.stderr, "another server") {
		t.Errorf("a second server: %+v", r)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket was left behind")
	}
}

// dial waits until the server listens.
func dial(t *testing.T, path string) net.Conn {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		conn, err := net.Dial("unix", path)
		if err == nil {
			return conn
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
