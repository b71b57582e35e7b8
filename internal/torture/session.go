//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stella-ls/stella-ls/guard/commit"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// idPrefix starts the line that carries an external write's id.
const idPrefix = "#external "

// committer is the engine or the control.
type committer interface {
	// commit puts candidate at the path if it still holds base. refused is the
	// ordinary outcome of a race; err is anything else.
	commit(base, candidate []byte) (refused bool, err error)
}

func runStyle(c config, style string) (r row) {
	start := time.Now()
	r.Style, r.Writes = style, c.Writes
	defer func() { r.Took = time.Since(start) }()
	if r.Err = r.engine(c); r.Err == nil && c.Control > 0 {
		r.Err = r.control(c)
	}
	return r
}

// engine runs the style against guard/commit.
func (r *row) engine(c config) error {
	dir, err := os.MkdirTemp(c.Dir, "torture")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var late atomic.Int64
	e, err := commit.New(commit.Options{
		StateDir:  filepath.Join(dir, "state"),
		OnRace:    func(commit.Race) { late.Add(1) },
		MaxParked: 4096,
	})
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "file.txt")
	g := &guarded{e: e, path: path}
	seen, must, err := duel(c, r.Style, path, c.Writes, g, r)
	if closeErr := e.Close(context.Background()); err != nil || closeErr != nil {
		return errors.Join(err, closeErr)
	}
	r.Raced, r.Late, r.Taken = g.raced, int(late.Load()), len(must)
	entries, err := e.Displaced().List()
	if err != nil {
		return err
	}
	r.Stored = len(entries)
	for _, en := range entries {
		content, err := e.Displaced().Read(en)
		if err != nil {
			return err
		}
		addIDs(seen, content)
	}
	r.Lost, r.Stalled, err = missing(seen, must, path)
	return err
}

// control runs the style against re-hash, then rename.
func (r *row) control(c config) error {
	dir, err := os.MkdirTemp(c.Dir, "torture")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "file.txt")
	var ignored row
	seen, must, err := duel(c, r.Style, path, c.Control, &naive{path: path, inPlace: r.Style == "linked"}, &ignored)
	if err != nil {
		return err
	}
	r.ControlTaken = len(must)
	r.ControlLost, _, err = missing(seen, must, path)
	return err
}

// duel runs the outsider and commits until it ends. seen are the ids in bytes
// that a successful commit had compared; must are those to be found.
func duel(c config, style, path string, writes int, by committer, r *row) (seen map[int]bool, must []int, err error) {
	if err := os.WriteFile(path, []byte("start\n"), 0o644); err != nil {
		return nil, nil, err
	}
	if style == "linked" {
		if err := os.Link(path, path+".link"); err != nil {
			return nil, nil, err
		}
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|%d|%d|%d", outsiderEnv, style, path, writes, c.Gap, c.Seed))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	seen = map[int]bool{}
	for n := 0; ; n++ {
		select {
		case err := <-ended:
			if err == nil {
				must, err = readIDs(&out)
			}
			return seen, must, err
		default:
		}
		if err := step(path, n, by, seen, r); err != nil {
			cmd.Process.Kill()
			<-ended
			return nil, nil, err
		}
	}
}

// step is one edit of a session: read, decide, commit.
func step(path string, n int, by committer, seen map[int]bool, r *row) error {
	base, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("the path must exist at every moment: %w", err)
	}
	refused, err := by.commit(base, fmt.Appendf(nil, "own edit %d\n", n))
	switch {
	case err != nil:
		return err
	case refused:
		r.Refusals++
	default:
		r.Commits++
		addIDs(seen, base)
	}
	return nil
}

type guarded struct {
	e     *commit.Engine
	path  string
	raced int
}

func (g *guarded) commit(base, candidate []byte) (refused bool, err error) {
	_, err = g.e.Replace(context.Background(), commit.Request{Path: g.path, Expect: workspace.DigestOf(base), Candidate: candidate})
	var stale *commit.StaleError
	var raced *commit.RacedError
	if errors.As(err, &raced) {
		g.raced++
	}
	if errors.As(err, &stale) || errors.Is(err, commit.ErrBusy) {
		return true, nil
	}
	return false, err
}

// naive reads again, compares digests, and renames (or writes in place, where a
// rename would split hard links): what is usually done.
type naive struct {
	path    string
	inPlace bool
}

func (n *naive) commit(base, candidate []byte) (refused bool, err error) {
	tmp := n.path + ".naive"
	if err := os.WriteFile(tmp, candidate, 0o644); err != nil {
		return false, err
	}
	now, err := os.ReadFile(n.path)
	if err != nil {
		return false, err
	}
	if workspace.DigestOf(now) != workspace.DigestOf(base) {
		return true, nil
	}
	if n.inPlace {
		return false, os.WriteFile(n.path, candidate, 0)
	}
	return false, os.Rename(tmp, n.path)
}

func addIDs(to map[int]bool, content []byte) {
	for line := range bytes.Lines(content) {
		if s, ok := bytes.CutPrefix(line, []byte(idPrefix)); ok && bytes.HasSuffix(s, []byte("\n")) {
			if id, err := strconv.Atoi(string(bytes.TrimSpace(s))); err == nil {
				to[id] = true
			}
		}
	}
}

func readIDs(r io.Reader) ([]int, error) {
	all, err := io.ReadAll(r)
	var ids []int
	for _, s := range strings.Fields(string(all)) {
		id, convErr := strconv.Atoi(s)
		err = errors.Join(err, convErr)
		ids = append(ids, id)
	}
	return ids, err
}

// missing counts the ids that are in neither seen nor the path; those with a
// minus (see outsider.late) are counted apart.
func missing(seen map[int]bool, must []int, path string) (lost, stalled int, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	addIDs(seen, content)
	for _, id := range must {
		switch {
		case id < 0 && !seen[-id]:
			stalled++
		case id > 0 && !seen[id]:
			lost++
		}
	}
	return lost, stalled, nil
}
