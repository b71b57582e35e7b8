package tools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/internal/process"
)

// mcpLine bounds one message of a stdio server, in bytes.
const mcpLine = 16 << 20

// mcpProcess is a stdio server's process in its own group.
type mcpProcess struct {
	cmd   *exec.Cmd
	mark  string
	ended <-chan error
	stdin io.WriteCloser
	lines *jsonLines
	errs  *process.MiddleCut
	once  sync.Once
}

// startMCP starts a stdio server.
func startMCP(s mcpServer, dir string) (*mcpProcess, error) {
	mark := process.Mark()
	p := &mcpProcess{mark: mark, errs: process.NewMiddleCut(1<<10, 3<<10)}
	p.cmd = exec.Command(s.Command[0], s.Command[1:]...)
	p.cmd.Dir = dir
	var extra []string
	for _, k := range sortedNames(s.Env) {
		extra = append(extra, k+"="+os.Expand(s.Env[k], fromEnvironment))
	}
	p.cmd.Env = process.Env(extra, mark)
	p.cmd.Stderr = p.errs
	p.cmd.WaitDelay = process.DrainGrace
	process.OwnGroup(p.cmd)
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	read, write := io.Pipe()
	p.cmd.Stdout = write
	p.lines = &jsonLines{from: bufio.NewReaderSize(read, 64<<10), pipe: read}
	if p.ended, err = process.Start(p.cmd); err != nil {
		return nil, fmt.Errorf("could not be started: %w", err)
	}
	exited := make(chan error, 1)
	go func(ended <-chan error) {
		err := <-ended
		_ = write.CloseWithError(io.EOF)
		exited <- err
	}(p.ended)
	p.ended = exited
	return p, nil
}

// close asks the server to end by closing its stdin, and kills what is left.
func (p *mcpProcess) close() {
	p.once.Do(func() {
		_ = p.stdin.Close()
		select {
		case <-p.ended:
		case <-time.After(300 * time.Millisecond):
			process.KillGroup(p.cmd, p.mark)
			_ = p.lines.Close() // a copy into the pipe may be waiting for a reader
			<-p.ended
		}
		process.KillGroup(p.cmd, p.mark)
		p.errs.Close()
	})
}

// complaint is the end of what the server wrote to stderr.
func (p *mcpProcess) complaint() string {
	text, _ := p.errs.Text()
	return text
}

// jsonLines passes on the lines of a stream that are JSON objects or arrays
// and drops the rest: servers print banners and debug output to stdout.
type jsonLines struct {
	from    *bufio.Reader
	pipe    io.Closer
	pending []byte
	first   func() // called at the first line that is dropped; may be nil

	mu      sync.Mutex // guards dropped
	dropped int
}

func (j *jsonLines) Read(b []byte) (int, error) {
	for len(j.pending) == 0 {
		line, err := j.line()
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 {
			if (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed) {
				j.pending = append(trimmed, '\n')
			} else {
				j.drop()
			}
		}
		if err != nil && len(j.pending) == 0 {
			return 0, err
		}
	}
	n := copy(b, j.pending)
	j.pending = j.pending[n:]
	return n, nil
}

// line reads one line of bounded length.
func (j *jsonLines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := j.from.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > mcpLine {
			return nil, fmt.Errorf("a message of more than %d MiB", mcpLine>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (j *jsonLines) drop() {
	j.mu.Lock()
	j.dropped++
	begins := j.dropped == 1
	j.mu.Unlock()
	if begins && j.first != nil {
		j.first()
	}
}

func (j *jsonLines) junk() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dropped
}

func (j *jsonLines) Close() error { return j.pipe.Close() }
