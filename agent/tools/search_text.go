package tools

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/guard"
)

//go:embed search_text.md
var searchTextText string

const (
	searchHits    = 100
	searchLine    = 400      // bytes of a line that are shown
	searchBytes   = 48 << 10 // bytes of a result
	searchFile    = 16 << 20 // larger files are skipped and counted
	searchSeconds = 30 * time.Second
)

type searchText struct{ files }

type searchInput struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	Literal    bool   `json:"literal"`
	IgnoreCase bool   `json:"ignore_case"`
	Limit      int    `json:"limit"`
}

type searchObject struct {
	Status     guard.Status `json:"status"`
	Hits       int          `json:"hits"`
	Files      int          `json:"files"`
	More       int          `json:"more"` // hits left out
	Searched   int          `json:"searched"`
	Binary     int          `json:"binary,omitempty"`
	Large      int          `json:"large,omitempty"`
	Unreadable int          `json:"unreadable,omitempty"`
	Secret     int          `json:"secret,omitempty"`
	Cut        string       `json:"cut,omitempty"` // why the search did not look everywhere
}

func (searchText) Spec() Spec {
	return Spec{
		Name: "search_text", Description: searchTextText, Effect: Reads, PathKeys: []string{"path"},
		Schema: schemaOf(`{"type":"object","required":["pattern"],"additionalProperties":false,"properties":{
			"pattern":{"type":"string","minLength":1},"path":{"type":"string"},"glob":{"type":"string"},
			"literal":{"type":"boolean"},"ignore_case":{"type":"boolean"},"limit":{"type":"integer","minimum":1,"maximum":1000}}}`),
	}
}

// pattern compiles what is searched, one line at a time.
func (in searchInput) pattern() (*regexp.Regexp, error) {
	expr := in.Pattern
	if in.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	if in.IgnoreCase {
		expr = "(?i)" + expr
	}
	return regexp.Compile(expr)
}

func (t searchText) Run(ctx context.Context, env Env, call Call) (Result, error) {
	var in searchInput
	if res := decode(call.Input, &in); res != nil {
		return *res, nil
	}
	re, err := in.pattern()
	if err != nil {
		return Invalid("search_text: the pattern cannot be read: %v; set literal to search for plain text", err), nil
	}
	if res := badGlob("search_text", in.Glob); res != nil {
		return *res, nil
	}
	start, res := t.under(env, in.Path)
	if res != nil {
		return *res, nil
	}
	found, err := t.walk(ctx, start, in.Glob)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		return pathResult(in.Path, err), nil
	}
	s := search{files: t.files, re: re, limit: in.Limit, call: call, many: len(found.files) != 1 || found.files[0] != string(start.Path)}
	if s.limit == 0 {
		s.limit = searchHits
	}
	if found.cut {
		s.object.Cut = fmt.Sprintf("stopped after %d directory entries; start from a deeper path", walkMost)
	}
	return s.run(ctx, found.files)
}

// search is one search under way.
type search struct {
	files
	re       *regexp.Regexp
	limit    int
	call     Call
	many     bool // a directory is searched, not one named file
	body     strings.Builder
	observed []guard.Observation
	object   searchObject
}

func (s *search) run(ctx context.Context, paths []string) (Result, error) {
	deadline := time.Now().Add(searchSeconds)
	for _, p := range paths {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		if time.Now().After(deadline) {
			s.object.Cut = fmt.Sprintf("stopped after %s; narrow it with path or glob", searchSeconds)
			break
		}
		s.file(ctx, p)
	}
	s.object.Status = guard.StatusOK
	head := fmt.Sprintf("%s in %s, %s searched", plural(s.object.Hits+s.object.More, "matching line"),
		plural(s.object.Files, "file"), plural(s.object.Searched, "file"))
	if s.object.More > 0 {
		fmt.Fprintf(&s.body, "[%d more matching lines; narrow the pattern, path or glob, or raise limit]\n", s.object.More)
	}
	if s.object.Secret > 0 {
		fmt.Fprintf(&s.body, "[%s not searched: the name says that it holds secrets; read_file asks the user]\n", plural(s.object.Secret, "file"))
	}
	return Result{Head: head, Object: s.object, Status: "ok", Body: s.body.String(), Observed: s.observed}, nil
}

// file searches one file and keeps what was shown of it as observations.
func (s *search) file(ctx context.Context, full string) {
	name, err := s.ws.Resolve("", full)
	if err != nil || !name.Inside() || (s.many && name.Link != string(name.Path)) {
		return // links are not followed: their targets inside are searched themselves
	}
	if secretName(name.Display) || secretName(string(name.Path)) {
		s.object.Secret++
		return
	}
	view, err := s.ws.View(ctx, name)
	if err != nil {
		s.object.Unreadable++
		return
	}
	truth := view.Truth()
	if len(truth) > searchFile {
		s.object.Large++
		return
	}
	s.object.Searched++
	if s.skippable(truth) {
		return
	}
	text := textOf(truth)
	if text.binary != "" {
		s.object.Binary++
		return
	}
	hit := false
	for i, line := range text.lines {
		if !s.re.MatchString(line) {
			continue
		}
		hit = true
		if s.object.Hits >= s.limit || s.body.Len() > searchBytes {
			s.object.More++
			continue
		}
		s.object.Hits++
		fmt.Fprintf(&s.body, "%s:%d: %s\n", name.Display, i+1, bounded(line, searchLine))
		o := guard.Observation{File: view, Origin: origin(s.call)}
		if len(line) <= searchLine {
			o.First, o.Last = i+1, i+1
		}
		s.observed = append(s.observed, o)
	}
	if hit {
		s.object.Files++
	}
}

// skippable is a quick look that spares splitting a file without a match. Only
// for plain UTF-8 and patterns that no line border can matter to.
func (s *search) skippable(truth []byte) bool {
	prefix, _ := s.re.LiteralPrefix()
	if prefix == "" || (len(truth) > 1 && (truth[0] == 0xFE || truth[0] == 0xFF)) {
		return false
	}
	return !bytes.Contains(truth, []byte(prefix))
}
