package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// process is a command to run: in its own process group, bounded in time and
// output, and with nothing of it left when runProcess returns.
type process struct {
	Argv    []string
	Dir     string
	Stdin   []byte // nil: an empty stdin
	Env     []string
	Timeout time.Duration
	// Split keeps stderr apart from stdout.
	Split bool
	// Head and Tail bound the output in bytes, 0 takes the defaults.
	Head, Tail int
}

type execResult struct {
	Output   string
	Stderr   string
	Exit     int // -1: ended by a signal
	Cut      int // bytes left out of Output
	TimedOut bool
	Left     int // processes that the command left running, ended by us
}

const (
	outputHead = 12 << 10
	outputTail = 20 << 10
	// drainGrace is how long output of a killed group may still arrive.
	drainGrace = 200 * time.Millisecond
	// runMark is an environment variable by which descendants that left the
	// process group (daemons) are found.
	runMark = "STELLA_RUN"
)

var runCounter atomic.Int64

// withheld are variables that no command gets: the keys of the model providers.
var withheld = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", runMark}

func commandEnv(extra []string, mark string) []string {
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

// runProcess runs p to its end. Its error means that nothing could be started,
// or ctx's error when the call was cancelled; a failing command is a result.
func runProcess(ctx context.Context, p process) (execResult, error) {
	if len(p.Argv) == 0 {
		return execResult{}, errors.New("the command is empty")
	}
	if p.Head == 0 && p.Tail == 0 {
		p.Head, p.Tail = outputHead, outputTail
	}
	mark := fmt.Sprintf("%d.%d", os.Getpid(), runCounter.Add(1))
	out, errs := newMiddleCut(p.Head, p.Tail), newMiddleCut(2<<10, 6<<10)
	cmd := exec.Command(p.Argv[0], p.Argv[1:]...)
	cmd.Dir = p.Dir
	cmd.Env = commandEnv(p.Env, mark)
	cmd.Stdout, cmd.Stderr = out, out
	if p.Split {
		cmd.Stderr = errs
	}
	if p.Stdin != nil {
		cmd.Stdin = strings.NewReader(string(p.Stdin))
	}
	// A descendant may hold the pipes open for ever; Wait gives up on them.
	cmd.WaitDelay = drainGrace
	ownGroup(cmd)
	limit := ctx
	if p.Timeout > 0 {
		var cancel context.CancelFunc
		limit, cancel = context.WithTimeout(ctx, p.Timeout)
		defer cancel()
	}
	ended, err := startAndWait(cmd)
	if err != nil {
		return execResult{}, err
	}
	var res execResult
	select {
	case err = <-ended:
	case <-limit.Done():
		res.TimedOut = ctx.Err() == nil
		killGroup(cmd, mark)
		err = <-ended
	}
	res.Left = killGroup(cmd, mark)
	out.close()
	errs.close()
	res.Output, res.Cut = out.text()
	res.Stderr, _ = errs.text()
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

// middleCut keeps the first and the last bytes of a stream of any length.
type middleCut struct {
	mu         sync.Mutex // guards all; stdout and stderr may share one
	head, tail []byte
	maxHead    int
	maxTail    int
	total      int
	closed     bool
}

func newMiddleCut(head, tail int) *middleCut { return &middleCut{maxHead: head, maxTail: tail} }

func (m *middleCut) Write(b []byte) (int, error) {
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

// close drops what still arrives from processes that outlived the command.
func (m *middleCut) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
}

// text is the kept output, and how many bytes are missing in its middle.
func (m *middleCut) text() (string, int) {
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
