// Package process runs other programs for sessions: commands, hooks, custom
// tools, formatters, MCP servers. Each runs in a process group of its own,
// bounded in time and output, without the keys of the model providers, and
// nothing of it is left when its call is over.
//
// Architecture: Run (run.go) is a whole call; those who need the pipes
// themselves build an exec.Cmd from Env, OwnGroup, Start and KillGroup. The
// files with a system's name say how a group is made and ended there. A process
// that leaves its group carries a mark in its environment, by which it is found
// (run_linux.go), also by the next server when one was killed (sweep_linux.go).
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Command is what to run: in its own process group, bounded in time and
// output, and with nothing of it left when Run returns.
type Command struct {
	Argv    []string
	Dir     string
	Stdin   []byte // nil: an empty stdin
	Env     []string
	Timeout time.Duration
	// Split keeps stderr apart from stdout.
	Split bool
	// Head and Tail bound the output in bytes, 0 takes the defaults.
	Head, Tail int
	// Stdout and Stderr, if both are set, get the output instead of the Result.
	// They must bear to be written to until Run returns.
	Stdout, Stderr io.Writer
}

// Result is how a command ended.
type Result struct {
	Output   string
	Stderr   string
	Exit     int // -1: ended by a signal
	Cut      int // bytes left out of Output
	TimedOut bool
	Left     int // processes that the command left running, ended by us
}

const (
	// OutputHead and OutputTail are how many bytes of an output are kept by default.
	OutputHead = 12 << 10
	OutputTail = 20 << 10
	// DrainGrace is how long output of a killed group may still arrive.
	DrainGrace = 200 * time.Millisecond
	// runMark is an environment variable by which descendants that left the
	// process group (daemons) are found.
	runMark = "STELLA_RUN"
)

var runCounter atomic.Int64

// withheld are variables that no command gets: the keys of the model providers.
var withheld = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", runMark}

// Mark is a new value of the variable by which the descendants of one call are
// known; see KillGroup.
func Mark() string { return server() + "." + strconv.FormatInt(runCounter.Add(1), 10) }

// Env is the environment of a command: this process's own without the keys of
// the model providers, extra, and the mark.
func Env(extra []string, mark string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		keep := true
		for _, w := range withheld {
			keep = keep && name != w
		}
		if keep {
			env = append(env, kv)
		}
	}
	env = append(env, "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", runMark+"="+mark)
	return append(env, extra...)
}

// Run runs p to its end. Its error means that nothing could be started,
// or ctx's error when the call was cancelled; a failing command is a result.
func Run(ctx context.Context, p Command) (Result, error) {
	if len(p.Argv) == 0 {
		return Result{}, errors.New("the command is empty")
	}
	if p.Head == 0 && p.Tail == 0 {
		p.Head, p.Tail = OutputHead, OutputTail
	}
	mark := Mark()
	out, errs := NewMiddleCut(p.Head, p.Tail), NewMiddleCut(2<<10, 6<<10)
	cmd := exec.Command(p.Argv[0], p.Argv[1:]...)
	cmd.Dir = p.Dir
	cmd.Env = Env(p.Env, mark)
	cmd.Stdout, cmd.Stderr = out, out
	if p.Split {
		cmd.Stderr = errs
	}
	if p.Stdout != nil && p.Stderr != nil {
		cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
	}
	if p.Stdin != nil {
		cmd.Stdin = strings.NewReader(string(p.Stdin))
	}
	// A descendant may hold the pipes open for ever; Wait gives up on them.
	cmd.WaitDelay = DrainGrace
	OwnGroup(cmd)
	limit := ctx
	if p.Timeout > 0 {
		var cancel context.CancelFunc
		limit, cancel = context.WithTimeout(ctx, p.Timeout)
		defer cancel()
	}
	ended, err := Start(cmd)
	if err != nil {
		return Result{}, err
	}
	var res Result
	select {
	case err = <-ended:
	case <-limit.Done():
		res.TimedOut = ctx.Err() == nil
		KillGroup(cmd, mark)
		err = <-ended
	}
	res.Left = KillGroup(cmd, mark)
	out.Close()
	errs.Close()
	res.Output, res.Cut = out.Text()
	res.Stderr, _ = errs.Text()
	res.Exit = cmd.ProcessState.ExitCode()
	var exit *exec.ExitError
	if ctx.Err() != nil {
		return res, ctx.Err()
	}
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return res, err
	}
	return res, nil
}

// Check is Run for a command of which a failure is an error.
func Check(ctx context.Context, p Command) error {
	res, err := Run(ctx, p)
	switch {
	case err != nil:
		return err
	case res.TimedOut:
		return context.DeadlineExceeded
	case res.Exit < 0:
		return errors.New("it was ended by a signal")
	case res.Exit != 0:
		return fmt.Errorf("exit status %d", res.Exit)
	}
	return nil
}

// MiddleCut keeps the first and the last bytes of a stream of any length.
type MiddleCut struct {
	mu         sync.Mutex // guards all; stdout and stderr may share one
	head, tail []byte
	maxHead    int
	maxTail    int
	total      int
	closed     bool
}

// NewMiddleCut keeps head and tail bytes.
func NewMiddleCut(head, tail int) *MiddleCut { return &MiddleCut{maxHead: head, maxTail: tail} }

// Write takes everything and keeps what it may.
func (m *MiddleCut) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return len(b), nil
	}
	n := len(b)
	m.total += n
	if room := m.maxHead - len(m.head); room > 0 {
		take := min(room, len(b))
		m.head = append(m.head, b[:take]...)
		b = b[take:]
	}
	m.tail = append(m.tail, b...)
	if len(m.tail) > 2*m.maxTail {
		m.tail = append(m.tail[:0], m.tail[len(m.tail)-m.maxTail:]...)
	}
	return n, nil
}

// Close drops what still arrives from processes that outlived the command.
func (m *MiddleCut) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
}

// Text is the kept output, and how many bytes are missing in its middle.
func (m *MiddleCut) Text() (string, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	tail := m.tail
	if len(tail) > m.maxTail {
		tail = tail[len(tail)-m.maxTail:]
	}
	cut := m.total - len(m.head) - len(tail)
	if cut == 0 {
		return strings.ToValidUTF8(string(m.head)+string(tail), "\uFFFD"), 0
	}
	gap := fmt.Sprintf("\n[... %d bytes left out ...]\n", cut)
	return strings.ToValidUTF8(string(m.head)+gap+string(tail), "\uFFFD"), cut
}
