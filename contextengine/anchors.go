package contextengine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/stella-ls/stella-ls/contextengine/store"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// maxAnchors bounds the anchors of one memory.
const maxAnchors = 32

// mention is a place in a memory's text that names a file or a symbol.
type mention struct {
	Start, End  int // bytes
	File        string
	First, Last int // lines cited, 0 for the whole file
	Symbol      string
}

var (
	pathShape = regexp.MustCompile(`[A-Za-z0-9_.@+-]+(?:/[A-Za-z0-9_.@+\[\]-]+)*(?::(\d+)(?:-(\d+))?)?`)
	codeSpan  = regexp.MustCompile("`([^`\n]{1,200})`")
	nameShape = regexp.MustCompile(`[A-Za-z_$][A-Za-z0-9_$]*(?:(?:\.|::|#)[A-Za-z_$][A-Za-z0-9_$]*)*(\(\))?`)
	nodeShape = regexp.MustCompile(`\bnod_[0-9a-f]{24}\b`)
	extension = regexp.MustCompile(`\.[A-Za-z][A-Za-z0-9]{0,7}$`)
)

// mentions finds what a text names: paths with a slash or an extension, and
// names that look like code (in backticks, called, or compound).
func mentions(text string) []mention {
	var out []mention
	for _, m := range pathShape.FindAllStringSubmatchIndex(text, -1) {
		if f, ok := pathMention(text, m); ok {
			out = append(out, f)
		}
	}
	inSpan := func(at int) bool { return false }
	spans := codeSpan.FindAllStringIndex(text, -1)
	if len(spans) > 0 {
		inSpan = func(at int) bool {
			return slices.ContainsFunc(spans, func(s []int) bool { return at > s[0] && at < s[1] })
		}
	}
	for _, m := range nameShape.FindAllStringSubmatchIndex(text, -1) {
		name := strings.TrimSuffix(text[m[0]:m[1]], "()")
		if overlaps(out, m[0], m[1]) || strings.HasPrefix(name, "nod_") {
			continue
		}
		called := m[2] >= 0
		if called || compound(name) || inSpan(m[0]) && wholeSpan(text, m[0], m[1]) {
			out = append(out, mention{Start: m[0], End: m[1], Symbol: name})
		}
	}
	slices.SortFunc(out, func(a, b mention) int { return a.Start - b.Start })
	return out[:min(len(out), 4*maxAnchors)]
}

func pathMention(text string, m []int) (mention, bool) {
	raw := text[m[0]:m[1]]
	if m[0] > 0 && strings.ContainsRune("/:~$\\<", rune(text[m[0]-1])) {
		return mention{}, false // part of a URL, an absolute path, a variable, a tag
	}
	if strings.HasPrefix(text[m[1]:], "://") || strings.HasPrefix(text[m[1]:], "(") {
		return mention{}, false
	}
	out := mention{Start: m[0], End: m[1], File: raw}
	if m[2] >= 0 {
		out.File = text[m[0] : m[2]-1]
		out.First, _ = strconv.Atoi(text[m[2]:m[3]])
		out.Last = out.First
		if m[4] >= 0 {
			out.Last, _ = strconv.Atoi(text[m[4]:m[5]])
		}
	} else {
		trimmed := strings.TrimRight(raw, ".+-")
		out.End -= len(raw) - len(trimmed)
		out.File = trimmed
	}
	out.File = path.Clean(out.File)
	if strings.HasPrefix(out.File, "..") || !strings.Contains(out.File, "/") && !extension.MatchString(out.File) {
		return mention{}, false
	}
	return out, true
}

func overlaps(ms []mention, start, end int) bool {
	return slices.ContainsFunc(ms, func(m mention) bool { return start < m.End && m.Start < end })
}

// wholeSpan reports whether the name fills its code span.
func wholeSpan(text string, start, end int) bool {
	return start > 0 && end < len(text) && text[start-1] == '`' && text[end] == '`'
}

// compound names are not words of prose: an inner capital, an underscore, a
// qualifier.
func compound(name string) bool {
	if strings.Contains(name, "::") || strings.Contains(name, "#") {
		return true
	}
	lower := false
	for i, r := range name {
		switch {
		case r == '_' && i > 0 && i < len(name)-1:
			return true
		case unicode.IsUpper(r) && lower:
			return true
		case unicode.IsLower(r):
			lower = true
		}
	}
	return false
}

// Anchor states.
const (
	anchorOK       = "ok"
	anchorChanged  = "changed" // what it points at is not what it was
	anchorGone     = "gone"    // nothing is there any more
	anchorUnsure   = "unverified"
	anchorNotFound = "missing" // nothing was there when it was noted
)

func doubtfulState(state string) bool {
	return state == anchorChanged || state == anchorGone || state == anchorNotFound
}

// anchorsOf resolves the mentions of a text against the workspace as it is now.
func (e *Engine) anchorsOf(ctx context.Context, text string) (anchors, defined []store.Edge) {
	seen := map[string]bool{}
	for _, m := range mentions(text) {
		if len(anchors) >= maxAnchors {
			break
		}
		edge, where, ok := e.resolveMention(ctx, m)
		if !ok || seen[edge.Dst] {
			continue
		}
		seen[edge.Dst] = true
		anchors = append(anchors, edge)
		if where != "" && !seen["defined:"+where] {
			seen["defined:"+where] = true
			defined = append(defined, store.Edge{Dst: "file:" + where})
		}
	}
	return anchors, defined
}

// resolveMention makes an anchor of a mention; where is the file that holds an
// anchored symbol. Prose that only looks like a path makes none.
func (e *Engine) resolveMention(ctx context.Context, m mention) (edge store.Edge, where string, ok bool) {
	if m.Symbol != "" {
		attrs, where := e.symbolState(ctx, m.Symbol)
		return store.Edge{Dst: "symbol:" + m.Symbol, Attrs: attrs}, where, true
	}
	attrs := map[string]string{}
	if m.First > 0 {
		attrs["lines"] = fmt.Sprintf("%d-%d", m.First, max(m.First, m.Last))
	}
	data, exists, err := e.o.Source.View(ctx, e.abs(m.File))
	switch {
	case err != nil:
		if !exists && !e.plausible(m.File) {
			return store.Edge{}, "", false
		}
		attrs["state"] = anchorUnsure
	case !exists && !e.plausible(m.File):
		return store.Edge{}, "", false
	case !exists:
		attrs["state"], attrs["reason"] = anchorNotFound, "there is no "+m.File
	default:
		attrs["digest"] = digestLines(data, attrs["lines"])
		attrs["state"] = anchorOK
		if attrs["digest"] == "" {
			attrs["state"], attrs["reason"] = anchorNotFound, fmt.Sprintf("%s has no lines %s", m.File, attrs["lines"])
		}
	}
	return store.Edge{Dst: "file:" + m.File, Attrs: attrs}, "", true
}

// plausible reports whether a path that is not there was meant as one: it has
// an extension, and its first directory exists.
func (e *Engine) plausible(rel string) bool {
	first, _, nested := strings.Cut(rel, "/")
	if !nested || !extension.MatchString(rel) {
		return false
	}
	info, err := os.Stat(e.abs(first))
	return err == nil && info.IsDir()
}

// isFile reports whether a path below the root names a file that is there.
func (e *Engine) isFile(rel string) bool {
	info, err := os.Stat(e.abs(rel))
	return err == nil && info.Mode().IsRegular()
}

// symbolState looks a symbol up; one that the graph cannot pin to a single
// definition is kept for finding the memory, and proves nothing.
func (e *Engine) symbolState(ctx context.Context, name string) (attrs map[string]string, where string) {
	attrs = map[string]string{"state": anchorUnsure}
	if e.o.Graph == nil {
		return attrs, ""
	}
	defs, err := e.o.Graph.Definitions(ctx, name, "")
	if err != nil || len(defs) != 1 {
		return attrs, ""
	}
	rel, inside := e.rel(defs[0].Path)
	if !inside {
		return attrs, ""
	}
	data, exists, err := e.o.Source.View(ctx, defs[0].Path)
	if err != nil || !exists {
		return attrs, ""
	}
	lines := fmt.Sprintf("%d-%d", defs[0].First, defs[0].Last)
	if digest := digestLines(data, lines); digest != "" {
		return map[string]string{"state": anchorOK, "digest": digest, "path": rel, "lines": lines}, rel
	}
	return attrs, ""
}

// normal is a text as anchors compare it: how a file is stored (BOM, line ends,
// a final newline) is not what a memory is about.
func normal(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	return bytes.TrimRight(data, "\n")
}

// digestLines is the digest of the lines "a-b" of data, of all of it when lines
// is empty, and "" when there are no such lines.
func digestLines(data []byte, lines string) string {
	data = normal(data)
	if lines == "" {
		return string(workspace.DigestOf(data))
	}
	first, last, ok := parseLines(lines)
	all := bytes.Split(data, []byte("\n"))
	if !ok || first > len(all) {
		return ""
	}
	return string(workspace.DigestOf(bytes.Join(all[first-1:min(last, len(all))], []byte("\n"))))
}

func parseLines(lines string) (first, last int, ok bool) {
	a, b, _ := strings.Cut(lines, "-")
	first, err1 := strconv.Atoi(a)
	last, err2 := strconv.Atoi(b)
	return first, last, err1 == nil && err2 == nil && first >= 1 && last >= first
}

// holds reports whether data still has what the digest was taken of: at its
// lines, or, moved as a whole, at others.
func holds(data []byte, lines, digest string) bool {
	if digestLines(data, lines) == digest {
		return true
	}
	first, last, ok := parseLines(lines)
	if !ok {
		return false
	}
	all := bytes.Split(normal(data), []byte("\n"))
	for n, i := last-first+1, 0; i+n <= len(all); i++ {
		if string(workspace.DigestOf(bytes.Join(all[i:i+n], []byte("\n")))) == digest {
			return true
		}
	}
	return false
}

// checkAnchor compares an anchor with what is there now and returns its new
// state. "Could not tell" leaves it as it is.
func (e *Engine) checkAnchor(ctx context.Context, src Source, edge store.Edge) (state, reason string) {
	old := edge.Attrs["state"]
	rel, isFile := strings.CutPrefix(edge.Dst, "file:")
	if !isFile {
		rel = edge.Attrs["path"]
	}
	if rel == "" {
		return old, edge.Attrs["reason"]
	}
	data, exists, err := src.View(ctx, e.abs(rel))
	digest, lines := edge.Attrs["digest"], edge.Attrs["lines"]
	switch {
	case err != nil:
		return old, edge.Attrs["reason"]
	case digest == "" && !exists:
		return anchorNotFound, "there is no " + rel
	case digest == "":
		return anchorUnsure, "" // it came into being after the memory was noted
	case !exists:
		return anchorGone, rel + " is gone"
	case holds(data, lines, digest):
		return anchorOK, ""
	case !isFile:
		return anchorChanged, fmt.Sprintf("%s in %s changed after this was noted", strings.TrimPrefix(edge.Dst, "symbol:"), rel)
	case lines != "":
		return anchorChanged, fmt.Sprintf("the cited lines %s of %s changed", lines, rel)
	}
	return anchorChanged, rel + " changed after this was noted"
}
