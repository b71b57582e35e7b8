package contextengine

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/stella-ls/stella-ls/contextengine/ocp"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// graphProvider serves definitions of symbols that the prompt names or the
// cursor stands on, from the code graph.
type graphProvider struct{ e *Engine }

func (p *graphProvider) Info() ocp.ProviderInfo {
	return ocp.ProviderInfo{Name: "stella-graph", Version: "1",
		DataFlow: ocp.DataFlow{Reads: true, EgressScopes: []string{ocp.LocalOnly}}}
}

func (p *graphProvider) Capabilities() ocp.Capabilities {
	return ocp.Capabilities{Query: ocp.QueryCapability{Kinds: []ocp.Kind{ocp.KindSymbol}}, Graph: true}
}

func (p *graphProvider) Shutdown(context.Context) error { return nil }

// maxSymbols bounds the names of one prompt that are looked up.
const maxSymbols = 6

func (p *graphProvider) Query(ctx context.Context, q ocp.Query) (ocp.Result, error) {
	res := ocp.Result{Frames: []ocp.Frame{}}
	if p.e.o.Graph == nil {
		return res, nil
	}
	near := ""
	for _, a := range q.Anchors {
		if abs, ok := pathOfURI(a); ok {
			near = abs
			break
		}
	}
	seen := map[string]bool{}
	var tokens uint32
	for place, name := range p.symbols(q) {
		defs, err := p.e.o.Graph.Definitions(ctx, name.text, near)
		if err != nil {
			if ctx.Err() != nil {
				return res, ctx.Err()
			}
			continue // the index is not ready, or knows nothing of the language
		}
		for _, d := range defs[:min(len(defs), 2)] {
			f, ok := p.frame(ctx, d, name, place)
			if !ok || seen[f.ID] {
				continue
			}
			seen[f.ID] = true
			if uint32(len(res.Frames)) >= q.MaxFrames || tokens+f.TokenCost > q.MaxTokens {
				res.Truncated = true
				continue
			}
			tokens += f.TokenCost
			res.Frames = append(res.Frames, f)
		}
	}
	return res, nil
}

type symbolName struct {
	text   string
	anchor string // the query's own spelling when it is an anchor
}

// symbols are the names to look up: the symbol under the cursor, then what the
// prompt writes like code. A plain word of prose is none.
func (p *graphProvider) symbols(q ocp.Query) []symbolName {
	var out []symbolName
	seen := map[string]bool{}
	add := func(s symbolName) {
		if !seen[s.text] && len(out) < maxSymbols {
			seen[s.text] = true
			out = append(out, s)
		}
	}
	for _, a := range q.Anchors {
		if name, ok := strings.CutPrefix(a, "symbol:"); ok {
			add(symbolName{name, a})
		}
	}
	prompt := q.QueryText
	if prompt == "" {
		prompt = q.Goal
	}
	for _, m := range mentions(prompt) {
		if m.Symbol != "" {
			add(symbolName{text: m.Symbol})
		}
	}
	return out
}

// frame shows one definition: where it is, its signature, its doc.
func (p *graphProvider) frame(ctx context.Context, d Definition, name symbolName, place int) (ocp.Frame, bool) {
	rel, inside := p.e.rel(d.Path)
	if !inside || d.First < 1 {
		return ocp.Frame{}, false
	}
	data, exists, err := p.e.o.Source.View(ctx, d.Path)
	if err != nil || !exists {
		return ocp.Frame{}, false
	}
	lines := ocp.LineRange{First: uint64(d.First), Last: uint64(max(d.First, d.Last))}
	source, ok := lines.Lines(data)
	if !ok {
		return ocp.Frame{}, false // the index is behind the text
	}
	where := fmt.Sprintf("%s L%d-%d", rel, d.First, max(d.First, d.Last))
	content := strings.ToValidUTF8(definitionText(d, where), "\uFFFD")
	digest := ocp.Digest(content)
	title := d.Name
	if d.Container != "" {
		title = d.Container + "." + d.Name
	}
	f := ocp.Frame{
		ID: "sym:" + rel + "#" + title, Kind: ocp.KindSymbol, Title: title, Content: &content, ContentDigest: &digest,
		URI: fileURI(d.Path), Score: 1 / float32(place+1), TokenCost: ocp.Cost(content), CitationLabel: where,
		Provenance: []ocp.Provenance{{Type: "file", URI: fileURI(d.Path), Range: fmt.Sprintf("L%d-%d", lines.First, lines.Last),
			Digest: string(workspace.DigestOf(source)), Method: "tree-sitter", By: "stella-graph"}},
	}
	if name.anchor != "" {
		f.Relations = []ocp.Relation{{Rel: "code.defines", TargetURI: name.anchor, DisplayName: name.text}}
	}
	return f, true
}

// definitionLength bounds a definition's frame, in bytes.
const definitionLength = 1200

func definitionText(d Definition, where string) string {
	s := fmt.Sprintf("%s %s, defined in %s\n%s", d.Kind, d.Name, where, strings.TrimSpace(d.Signature))
	if doc := strings.TrimSpace(d.Doc); doc != "" {
		s += "\n" + doc
	}
	if len(s) > definitionLength {
		s = strings.ToValidUTF8(s[:definitionLength], "") + "…"
	}
	return s
}

// fileURI is an absolute path as a URI, always spelled the same way.
func fileURI(abs string) string {
	p := filepath.ToSlash(abs)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

func pathOfURI(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return "", false
	}
	p := u.Path
	if len(p) > 2 && p[0] == '/' && p[2] == ':' {
		p = p[1:] // a drive letter
	}
	return filepath.FromSlash(p), true
}
