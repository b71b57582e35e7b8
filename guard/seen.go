package guard

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// SeenText is the content that the session saw of a path when it was base; ok is
// false when it is not kept any more.
func (s *Session) SeenText(spelled string, base workspace.Digest) (text []byte, ok bool) {
	n, err := s.g.ws.Resolve(s.root, spelled)
	if err != nil {
		return nil, false
	}
	b, known := s.belief(n.Path)
	if !known || b.Text != base && !(b.Joined && b.Disk == base) {
		if b, known = s.pastBase(n.Path, base); !known {
			return nil, false
		}
	}
	return b.Blob, b.Blob != nil
}

// Seen is what the session saw of a path and what is there now; ok is false when
// it saw nothing of it, or what it saw is too large to be kept.
func (s *Session) Seen(ctx context.Context, spelled string) (seen, now []byte, ok bool) {
	n, err := s.g.ws.Resolve(s.root, spelled)
	if err != nil {
		return nil, nil, false
	}
	b, known := s.belief(n.Path)
	f, err := s.g.ws.View(ctx, n)
	if !known || b.Blob == nil || err != nil {
		return nil, nil, false
	}
	return b.Blob, f.Truth(), true
}

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@`)

// Sides are the two texts of a difference that a refusal shows. With the text
// before they are whole texts; without it, or where the difference was cut, they
// are its hunks, each under its own heading.
func Sides(before []byte, known bool, diff string) (a, b string) {
	if known {
		if after, err := patched(string(before), diff); err == nil {
			return string(before), after
		}
	}
	var left, right strings.Builder
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "-"):
			left.WriteString(line[1:])
		case strings.HasPrefix(line, "+"):
			right.WriteString(line[1:])
		case strings.HasPrefix(line, `\`): // "No newline at end of file"
		default:
			line = strings.TrimPrefix(line, " ")
			left.WriteString(line)
			right.WriteString(line)
		}
	}
	return left.String(), right.String()
}

// patched applies a unified difference that must fit exactly.
func patched(before, diff string) (string, error) {
	old := strings.SplitAfter(before, "\n")
	var out strings.Builder
	at := 0       // lines of old that are done
	var last byte // what the line before was
	for line := range strings.Lines(diff) {
		if m := hunkHead.FindStringSubmatch(line); m != nil {
			start, _ := strconv.Atoi(m[1])
			if m[2] != "0" {
				start-- // a hunk without old lines names the line before it
			}
			if start < at || start > len(old) {
				return "", fmt.Errorf("a hunk at line %d does not fit", start+1)
			}
			out.WriteString(strings.Join(old[at:start], ""))
			at = start
			continue
		}
		body := line[1:]
		switch line[0] {
		case '+':
			out.WriteString(body)
		case '-', ' ':
			if at >= len(old) || strings.TrimSuffix(old[at], "\n") != strings.TrimSuffix(body, "\n") {
				return "", fmt.Errorf("line %d is another", at+1)
			}
			if line[0] == ' ' {
				out.WriteString(old[at])
			}
			at++
		case '\\': // the line before it has no newline
			if last != '+' {
				break
			}
			text := strings.TrimSuffix(out.String(), "\n")
			out.Reset()
			out.WriteString(text)
		default:
			return "", fmt.Errorf("%q is no line of a difference", line)
		}
		last = line[0]
	}
	out.WriteString(strings.Join(old[at:], ""))
	return out.String(), nil
}
