package contextengine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stella-ls/stella-ls/contextengine/store"
)

// maxCiting bounds the memories of one hover.
const maxCiting = 20

// CitingMemories are the memories and lessons with an anchor on a file (an
// absolute path, may be empty) or a symbol (may be empty), for hover: those on
// the symbol first, then cited ones first.
func (e *Engine) CitingMemories(ctx context.Context, path, symbol string) ([]MemoryInfo, error) {
	s, err := e.openStore(ctx, false)
	if err != nil {
		return nil, ignoreAbsent(err)
	}
	place := map[string]int{}
	var ids []string
	collect := func(dst string, weight int) error {
		edges, err := s.Edges(ctx, store.EdgeQuery{Dst: dst, Rel: relAnchor})
		for _, edge := range edges {
			if _, ok := place[edge.Src]; !ok {
				place[edge.Src] = weight
				ids = append(ids, edge.Src)
			}
		}
		return err
	}
	if symbol != "" {
		if err := collect("symbol:"+symbol, 0); err != nil {
			return nil, err
		}
		if i := strings.LastIndexAny(symbol, ".:#"); i >= 0 {
			if err := collect("symbol:"+symbol[i+1:], 1); err != nil {
				return nil, err
			}
		}
	}
	if rel, inside := e.rel(path); path != "" && inside {
		if err := collect("file:"+rel, 2); err != nil {
			return nil, err
		}
	}
	return e.citing(ctx, s, ids, place)
}

func (e *Engine) citing(ctx context.Context, s *store.Store, ids []string, place map[string]int) ([]MemoryInfo, error) {
	e.freshen(ctx, s, ids)
	var nodes []store.Node
	for _, id := range ids {
		n, ok, err := s.Get(ctx, id, store.When{})
		if err != nil {
			return nil, err
		}
		if ok && (n.Kind == kindMemory || n.Kind == kindReflection) {
			nodes = append(nodes, n)
		}
	}
	infos, err := e.infos(ctx, s, nodes, When{})
	slices.SortStableFunc(infos, func(a, b MemoryInfo) int {
		if c := place[a.ID] - place[b.ID]; c != 0 {
			return c
		}
		if c := b.Citations - a.Citations; c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return infos[:min(len(infos), maxCiting)], err
}

// CitedText is what a hover over code shows of the memories that cite it, as
// Markdown: those in use, and then those in quarantine, struck through and marked,
// so that nobody takes them for true and the person can still judge them; "" when
// there are none. link makes a command link of a command's name and an id; it may
// be nil, and gives "" where links are dead.
func CitedText(infos []MemoryInfo, link func(command, id string) string) string {
	text, quarantined := "", ""
	for _, i := range infos {
		if i.Quarantined {
			quarantined += withLinks(i, link)
		} else {
			text += withLinks(i, link)
		}
	}
	if text += quarantined; text != "" {
		text = "**Memories that cite this**\n" + text
	}
	return text
}

// MemoryText is what a hover over a memory's id shows, as Markdown: the memory,
// also when it is quarantined or gone. link as in CitedText.
func MemoryText(i MemoryInfo, link func(command, id string) string) string {
	text := "**Memory** " + escapeMarkdown(i.Source) + "\n" + withLinks(i, link)
	if rest := strings.TrimSpace(i.Text); rest != i.Memory {
		text += "\n---\n\n" + escapeMarkdown(rest) + "\n"
	}
	return text
}

// withLinks is one memory and what can be done with it.
func withLinks(i MemoryInfo, link func(command, id string) string) string {
	text := "\n" + memoryLine(i)
	if link == nil || link("open", i.ID) == "" {
		return text
	}
	return text + fmt.Sprintf("  \n%s · %s · %s\n", link("open", i.ID), link("promote", i.ID), link("forget", i.ID))
}

func memoryLine(i MemoryInfo) string {
	var b strings.Builder
	said := escapeMarkdown(i.Memory)
	if i.Quarantined {
		said = "~~" + said + "~~"
	}
	fmt.Fprintf(&b, "- `%s` %s  \n", i.ID, said)
	switch i.Citations {
	case 0:
		b.WriteString("  not cited yet")
	case 1:
		b.WriteString("  cited once")
	default:
		fmt.Fprintf(&b, "  cited %d times", i.Citations)
	}
	if i.Citations > 0 {
		fmt.Fprintf(&b, ", score %.1f, truthful %.0f %%, streak %d", i.AvgScore, 100*i.TruthfulRate, i.PositiveStreak)
	}
	if !i.ValidFrom.IsZero() {
		b.WriteString(", true since " + i.ValidFrom.UTC().Format("2006-01-02"))
	}
	if !i.ValidTo.IsZero() {
		b.WriteString(" until " + i.ValidTo.UTC().Format("2006-01-02"))
	}
	b.WriteString("  \n")
	switch {
	case i.Quarantined:
		b.WriteString("  **quarantined**: in no prompt until it is unquarantined  \n")
	case i.Doubtful:
		fmt.Fprintf(&b, "  **doubtful**: %s  \n", escapeMarkdown(strings.Join(i.Doubts, "; ")))
	}
	if i.LastRemark != "" {
		fmt.Fprintf(&b, "  last remark: %s  \n", escapeMarkdown(i.LastRemark))
	}
	return b.String()
}

// escapeMarkdown keeps remembered text from becoming links, images or commands
// in an editor's hover.
func escapeMarkdown(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "`", "\\`", "*", `\*`, "_", `\_`, "!", `\!`, "~", `\~`).Replace(s)
}

// NodeIDAt is the nod_ id that stands at a byte offset of a text.
func NodeIDAt(text string, offset int) (id string, start, end int, ok bool) {
	from := max(0, offset-28)
	to := min(len(text), offset+28)
	for _, m := range nodeShape.FindAllStringIndex(text[from:to], -1) {
		if s, t := from+m[0], from+m[1]; s <= offset && offset <= t {
			return text[s:t], s, t, true
		}
	}
	return "", 0, 0, false
}

// CompleteIDs are the memories that typed may be meant for, which begins with
// "nod_": by the beginning of their id, or else by a part of their name or first
// line; at most 50, those by id first, then in the order of List.
func (e *Engine) CompleteIDs(ctx context.Context, typed string) ([]MemoryInfo, error) {
	infos, err := e.List(ctx, When{})
	if err != nil {
		return nil, err
	}
	word := strings.ToLower(strings.TrimPrefix(typed, "nod_"))
	var byID, byWord []MemoryInfo
	for _, i := range infos {
		switch {
		case strings.HasPrefix(i.ID, typed):
			byID = append(byID, i)
		case strings.Contains(i.Slug, word), strings.Contains(strings.ToLower(i.Memory), word):
			byWord = append(byWord, i)
		}
	}
	out := append(byID, byWord...)
	return out[:min(len(out), 50)], nil
}

// Diagnose finds the dead and doubtful anchors in the text of a memory file, as
// it is in the editor: path is its absolute path. Other files have none.
func (e *Engine) Diagnose(ctx context.Context, path, text string) ([]AnchorProblem, error) {
	rel, inside := e.rel(path)
	slug, isMemory := strings.CutPrefix(rel, ".stella/memories/")
	slug, isMarkdown := strings.CutSuffix(slug, ".md")
	if !inside || !isMemory || !isMarkdown {
		return nil, nil
	}
	known, err := e.knownAnchors(ctx, MemoryID(slug))
	if err != nil {
		return nil, err
	}
	var out []AnchorProblem
	src := &viewOnce{src: e.o.Source, seen: map[string]viewed{}}
	for _, m := range mentions(text) {
		dst := "file:" + m.File
		if m.Symbol != "" {
			dst = "symbol:" + m.Symbol
		}
		if edge, ok := known[dst]; ok {
			if state, reason := e.checkAnchor(ctx, src, edge); doubtfulState(state) {
				out = append(out, AnchorProblem{m.Start, m.End, dst, reason, state != anchorChanged})
			}
			continue
		}
		if m.Symbol != "" || !e.plausible(m.File) {
			continue
		}
		if _, exists, err := src.View(ctx, e.abs(m.File)); err == nil && !exists {
			out = append(out, AnchorProblem{m.Start, m.End, dst, "there is no " + m.File, true})
		}
	}
	return out, nil
}

func (e *Engine) knownAnchors(ctx context.Context, id string) (map[string]store.Edge, error) {
	known := map[string]store.Edge{}
	s, err := e.openStore(ctx, false)
	if err != nil {
		return known, ignoreAbsent(err)
	}
	edges, err := s.Edges(ctx, store.EdgeQuery{Src: id, Rel: relAnchor})
	for _, edge := range edges {
		known[edge.Dst] = edge
	}
	return known, err
}
