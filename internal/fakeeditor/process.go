package fakeeditor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Process is a language server as a child process over stdio.
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error
	stderr tail
}

// Command says how to start the server.
type Command struct {
	Path string
	Args []string
	Env  []string // the whole environment
	Dir  string
}

// Launch starts a server and an editor connected to it; Initialize comes next.
func Launch(c Command, o Options) (*Editor, *Process, error) {
	p, r, w, err := start(c)
	if err != nil {
		return nil, nil, err
	}
	return New(r, w, o), p, nil
}

// Relaunch starts a new server for an editor whose server is gone.
func (e *Editor) Relaunch(c Command) (*Process, error) {
	p, r, w, err := start(c)
	if err != nil {
		return nil, err
	}
	e.Reattach(r, w)
	return p, nil
}

func start(c Command) (*Process, *os.File, *os.File, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return nil, nil, nil, err
	}
	p := &Process{exited: make(chan struct{})}
	p.cmd = exec.Command(c.Path, c.Args...)
	p.cmd.Env, p.cmd.Dir = c.Env, c.Dir
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inR, outW, &p.stderr
	// Grandchildren may hold stderr open after the server is gone.
	p.cmd.WaitDelay = 2 * time.Second
	err = p.cmd.Start()
	inR.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		outR.Close()
		return nil, nil, nil, fmt.Errorf("starting %s: %w", c.Path, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p, outR, inW, nil
}

// PID is the server's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the server as a crash would.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	<-p.exited
	return nil
}

// Wait waits for the server's end; the error is that of its exit status.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.exited:
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("the server (process %d) is still running: %w", p.PID(), context.Cause(ctx))
	}
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Stderr is the end of what the server wrote there.
func (p *Process) Stderr() string { return p.stderr.String() }

// tail keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex
	b   []byte
	cut int
}

const tailSize = 1 << 20

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if over := len(t.b) - tailSize; over > 0 {
		t.b = t.b[over:]
		t.cut += over
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut > 0 {
		return fmt.Sprintf("(%d bytes left out)\n%s", t.cut, t.b)
	}
	return string(t.b)
}
