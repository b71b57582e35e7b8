package guard

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/stella-ls/stella-ls/guard/commit"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/process"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

const (
	formatTimeout = 30 * time.Second
	formatPrefix  = ".stella-fmt-"
	maxFormatted  = 64 << 20
)

// OwnTemporary reports whether a file's name is that of a candidate of this
// package; such files are never workspace changes.
func OwnTemporary(path string) bool {
	return strings.HasPrefix(filepath.Base(path), formatPrefix) || commit.IsTemporary(path)
}

// format runs the formatters that the settings name for n on a candidate. A
// formatter that fails leaves the candidate as it was before it; why comes back
// as hookErr. The live file is never touched.
func (g *Guard) format(ctx context.Context, n workspace.Name, candidate []byte, list []config.Formatter) (out []byte, hookErr string) {
	out = candidate
	if len(list) == 0 || !g.o.Formatters() {
		return out, ""
	}
	var errs []string
	for _, f := range list {
		if len(f.Command) == 0 || !formatterMatches(f.Glob, n) {
			continue
		}
		formatted, err := runFormatter(ctx, f.Command, n, out)
		if err != nil {
			errs = append(errs, strings.Join(f.Command, " ")+": "+err.Error())
			continue
		}
		out = formatted
	}
	return out, strings.Join(errs, "; ")
}

// formatterMatches: a glob without a slash is about the file's name.
func formatterMatches(glob string, n workspace.Name) bool {
	if glob == "" {
		return false
	}
	subject := filepath.ToSlash(string(n.Path))
	if rel, err := filepath.Rel(n.Root, string(n.Path)); err == nil {
		subject = filepath.ToSlash(rel)
	}
	if !strings.Contains(glob, "/") {
		subject = filepath.Base(subject)
	}
	ok, err := doublestar.Match(glob, subject)
	return err == nil && ok
}

func runFormatter(ctx context.Context, argv []string, n workspace.Name, in []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, formatTimeout)
	defer cancel()
	temp, onFile := "", false
	args := make([]string, len(argv))
	for i, a := range argv {
		args[i] = a
		onFile = onFile || strings.Contains(a, "{path}")
	}
	if onFile {
		var err error
		if temp, err = writeSibling(string(n.Path), in); err != nil {
			return nil, fmt.Errorf("no temporary for it: %w", err)
		}
		defer os.Remove(temp)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "{path}", temp)
		}
	}
	var stdout, stderr limited
	stdout.max, stderr.max = maxFormatted, 4<<10
	run := process.Command{
		Argv: args, Dir: existingDir(n), Env: []string{"STELLA_TARGET=" + string(n.Path)},
		Stdout: &stdout, Stderr: &stderr,
	}
	if !onFile {
		run.Stdin = in
	}
	if err := process.Check(ctx, run); err != nil {
		if ctx.Err() == context.DeadlineExceeded {
			return nil, fmt.Errorf("it did not end within %s", formatTimeout)
		}
		if msg := strings.TrimSpace(stderr.String()); msg != "" {
			return nil, fmt.Errorf("%w: %s", err, clip(oneLine(strings.ToValidUTF8(msg, "\uFFFD")), 300))
		}
		return nil, err
	}
	out := stdout.Bytes()
	if onFile {
		var err error
		if out, err = readTemp(temp); err != nil {
			return nil, fmt.Errorf("its result cannot be read: %w", err)
		}
	} else if stdout.over {
		return nil, fmt.Errorf("it printed over %d MiB", maxFormatted>>20)
	}
	if len(out) == 0 && len(bytes.TrimSpace(in)) > 0 {
		return nil, fmt.Errorf("it left nothing of the file")
	}
	return bytes.Clone(out), nil
}

// writeSibling puts the candidate beside its target, hidden, with the target's
// extension, so that the formatter finds the project's configuration.
func writeSibling(target string, content []byte) (string, error) {
	var id [6]byte
	rand.Read(id[:]) // never fails
	dir := filepath.Dir(target)
	for {
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no directory above %s", target)
		}
		dir = up
	}
	path := filepath.Join(dir, formatPrefix+hex.EncodeToString(id[:])+filepath.Ext(target))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		os.Remove(path)
		return "", err
	}
	return path, nil
}

// readTemp reads our own temporary, which is no file of the workspace.
func readTemp(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFormatted+1))
	if err == nil && len(b) > maxFormatted {
		err = fmt.Errorf("it is over %d MiB", maxFormatted>>20)
	}
	return b, err
}

func existingDir(n workspace.Name) string {
	if n.Root != "" {
		return n.Root
	}
	return filepath.Dir(string(n.Path))
}

// limited keeps the first max bytes that are written to it.
type limited struct {
	bytes.Buffer
	max  int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	n := len(p)
	if room := l.max - l.Len(); len(p) > room {
		p, l.over = p[:max(room, 0)], true
	}
	l.Buffer.Write(p)
	return n, nil
}
