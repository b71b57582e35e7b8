package contextengine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/contextengine/files"
	"github.com/stella-ls/stella-ls/contextengine/internal/text"
	"github.com/stella-ls/stella-ls/contextengine/store"
	"github.com/stella-ls/stella-ls/internal/secret"
)

// recordEpisode keeps what a working turn was: what was asked, how it ended,
// which files it touched, from when to when, in which domains.
func (e *Engine) recordEpisode(ctx context.Context, t Turn, taxonomy files.Taxonomy) error {
	s, err := e.openStore(ctx, true)
	if err != nil {
		return err
	}
	asked := text.Clip(firstLine(secret.Mask(t.Prompt)), labelLength)
	if asked == "" {
		asked = "(no words)"
	}
	var touched []string
	var tags []string
	for _, p := range t.Touched {
		rel, inside := e.rel(p)
		if !inside {
			rel = strings.ReplaceAll(p, "\\", "/") // already relative
		}
		touched = append(touched, rel)
		tags = append(tags, taxonomy.Of(rel)...)
	}
	origin := files.Agent
	if t.Derived {
		origin = files.Derived
	}
	id := store.ID(kindEpisode, fmt.Sprintf("%s/%d", t.Session, t.Turn))
	return s.Write(ctx, "episode", func(tx *store.Tx) error {
		_, err := tx.Put(store.Node{
			ID: id, Kind: kindEpisode, Key: fmt.Sprintf("%s/%d", t.Session, t.Turn), Label: asked, Content: episodeText(t, asked, touched),
			Origin: origin, Role: store.Event, Source: "session " + t.Session, Period: store.Period{ValidFrom: t.Started},
			Attrs: map[string]string{"outcome": t.Stop, "started": stamp(t.Started), "ended": stamp(t.Ended)},
		})
		if err != nil {
			return err
		}
		var edges []store.Edge
		for _, rel := range touched {
			edges = append(edges, store.Edge{Dst: "file:" + rel})
		}
		if err := tx.SetEdges(id, relTouched, edges); err != nil {
			return err
		}
		return setDomains(tx, id, taxonomy.Known(tags))
	})
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func episodeText(t Turn, asked string, touched []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Asked: %s\nEnded: %s after %d steps", asked, t.Stop, t.Steps)
	if len(touched) > 0 {
		fmt.Fprintf(&b, "\nChanged: %s", text.Clip(strings.Join(touched, ", "), 400))
	}
	if last := firstLine(secret.Mask(t.Answer)); last != "" {
		fmt.Fprintf(&b, "\nResult: %s", last)
	}
	return b.String()
}
