package guard

import (
	"context"
	"strings"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// SeenText is the content that the session saw of a path when it was base; ok is
// false when it is not kept any more.
func (s *Session) SeenText(spelled string, base workspace.Digest) (text []byte, ok bool) {
	n, err := s.resolve(spelled)
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
	n, err := s.resolve(spelled)
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

// Sides are the two texts of a difference that a refusal shows. With the text
// before they are whole texts; without it, or where the difference was cut, they
// are its hunks, each under its own heading.
func Sides(before []byte, known bool, diff string) (a, b string) {
	if known {
		if after, ok := patched(string(before), diff); ok {
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

// patched applies a unified difference where its headers say, and only if it fits
// there exactly.
func patched(before, diff string) (after string, ok bool) {
	hunks, err := parsePatch(diff)
	if err != nil {
		return "", false
	}
	old := bodyLines(before)
	offset := func(line int) int {
		if line == len(old) {
			return len(before)
		}
		return old[line].start
	}
	var out strings.Builder
	done := 0 // lines of old
	for _, h := range hunks {
		at := h.at
		if h.oldCount() > 0 { // a hunk without old lines names the line before it
			at--
		}
		if at < done || at > len(old) || !h.fits(old, at) {
			return "", false
		}
		out.WriteString(before[offset(done):offset(at)])
		for _, l := range h.lines {
			switch {
			case l.kind == '-':
				at++
			case l.kind == ' ':
				out.WriteString(before[offset(at):offset(at+1)])
				at++
			case l.noNL:
				out.WriteString(l.text)
			default:
				out.WriteString(l.text + "\n")
			}
		}
		done = at
	}
	out.WriteString(before[offset(done):])
	return out.String(), true
}
