package store

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/stella-ls/stella-ls/contextengine/internal/db"
	"github.com/stella-ls/stella-ls/contextengine/internal/text"
)

// Hit is a revision that a search found; its body was not read.
type Hit struct {
	Node
	Terms text.Set
	// Rank is its place in the search's order, from 0.
	Rank int
}

// Frequency is in how many records each term occurs; terms that occur nowhere
// are not in it.
func (s *Store) Frequency(ctx context.Context, terms []string) (df map[string]int, err error) {
	df = map[string]int{}
	if len(terms) == 0 {
		return df, nil
	}
	args := make([]any, len(terms))
	for i, t := range terms {
		args[i] = t
	}
	err = s.db.Read(ctx, func(h *db.Handle) error {
		rows, err := h.QueryContext(ctx, "SELECT term, doc FROM search_terms WHERE term IN ("+marks(len(terms))+")", args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var term string
			var n int
			if err := rows.Scan(&term, &n); err != nil {
				return err
			}
			df[term] = n
		}
		return rows.Err()
	})
	return df, err
}

// Size is how many records make the corpus: the rows of the index that holds
// them. Counting a whole table reads its page headers only, where counting the
// revisions that fit would read every one of them.
func (s *Store) Size(ctx context.Context) (n int, err error) {
	err = s.db.Read(ctx, func(h *db.Handle) error {
		return h.QueryRowContext(ctx, "SELECT count(*) FROM search_docsize").Scan(&n)
	})
	return n, err
}

// Match returns up to limit revisions that hold at w and have one of terms, by
// BM25 (a label weighs three times a body), ties by id. Nodes in without are
// left out before anything is ranked.
func (s *Store) Match(ctx context.Context, terms []string, w When, kinds []string, without map[string]bool, limit int) ([]Hit, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	quoted := make([]string, len(terms))
	for i, t := range terms {
		quoted[i] = `"` + strings.ReplaceAll(t, `"`, `""`) + `"`
	}
	match := strings.Join(quoted, " OR ")
	indexes := []string{"search", "search_events"}
	if !w.ValidAt.IsZero() || !w.AsOf.IsZero() || w.AsOfSeq != 0 || w.Ever {
		indexes = append(indexes, "search_past")
	}
	// The index ranks alone first; joining every record that has a common word
	// would cost more than all the rest. Too few left after filtering: look deeper.
	for top := limit + len(without); ; top *= 8 {
		hits, err := s.matchTop(ctx, match, indexes, w, kinds, without, top, limit)
		if err != nil || len(hits) == limit || top > 1_000_000 {
			return hits, err
		}
		if n, err := s.matches(ctx, match, indexes, top); err != nil || n < top {
			return hits, err
		}
	}
}

// matchTop filters the first top matches of each index.
func (s *Store) matchTop(ctx context.Context, match string, indexes []string, w When, kinds []string, without map[string]bool, top, limit int) ([]Hit, error) {
	var from []string
	var args []any
	for _, index := range indexes {
		from = append(from, ranked(index))
		args = append(args, match, top)
	}
	where, more := s.condition("r", w)
	where, args = restrict(where, append(args, more...), kinds, without)
	// What is chosen is sorted by number and score alone; the records, which are
	// wide, are read for those that are left.
	query := `SELECT ` + nodeColumns + `, r.terms FROM (SELECT m.hit AS hit, m.score AS score FROM (` + strings.Join(from, " UNION ALL ") + `) m
		CROSS JOIN revision r ON r.rec = m.hit WHERE ` + where + ` ORDER BY m.score, r.node LIMIT ?) best
		CROSS JOIN revision r ON r.rec = best.hit JOIN node n ON n.id = r.node ORDER BY best.score, r.node`
	return s.hits(ctx, query, append(args, limit))
}

func ranked(index string) string {
	// Ordering by the hidden rank column would make the index prepare and run a
	// statement of its own for each search.
	return `SELECT * FROM (SELECT rowid AS hit, bm25(` + index + `, 3.0, 1.0) AS score FROM ` + index + ` WHERE ` + index + ` MATCH ? ORDER BY score LIMIT ?)`
}

// matches counts the matches, up to most.
func (s *Store) matches(ctx context.Context, match string, indexes []string, most int) (n int, err error) {
	err = s.db.Read(ctx, func(h *db.Handle) error {
		n = 0
		for _, index := range indexes {
			var k int
			if err := h.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT rowid FROM "+index+" WHERE "+index+" MATCH ? LIMIT ?)", match, most).Scan(&k); err != nil {
				return err
			}
			n = max(n, k)
		}
		return nil
	})
	return n, err
}

func restrict(where string, args []any, kinds []string, without map[string]bool) (string, []any) {
	if len(kinds) > 0 {
		where += " AND r.kind IN (" + marks(len(kinds)) + ")"
		for _, k := range kinds {
			args = append(args, k)
		}
	}
	if len(without) > 0 {
		ids := make([]string, 0, len(without))
		for id := range without {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		where += " AND r.node NOT IN (" + marks(len(ids)) + ")"
		for _, id := range ids {
			args = append(args, id)
		}
	}
	return where, args
}

// ByIDs returns the revisions of ids that hold at w, in the order of ids.
func (s *Store) ByIDs(ctx context.Context, ids []string, w When, kinds []string, without map[string]bool) ([]Hit, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	where, args := s.condition("r", w)
	where += " AND r.node IN (" + marks(len(ids)) + ")"
	for _, id := range ids {
		args = append(args, id)
	}
	where, args = restrict(where, args, kinds, without)
	hits, err := s.hits(ctx, "SELECT "+nodeColumns+", r.terms FROM revision r INDEXED BY revision_node JOIN node n ON n.id = r.node WHERE "+where+" ORDER BY r.node", args)
	if err != nil {
		return nil, err
	}
	place := map[string]int{}
	for i, id := range ids {
		if _, ok := place[id]; !ok {
			place[id] = i
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return place[a.ID] - place[b.ID] })
	for i := range hits {
		hits[i].Rank = i
	}
	return hits, nil
}

func (s *Store) hits(ctx context.Context, query string, args []any) (out []Hit, err error) {
	err = s.db.Read(ctx, func(h *db.Handle) error {
		rows, err := h.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		out = out[:0]
		for rows.Next() {
			hit, err := scanHit(rows)
			if err != nil {
				return err
			}
			hit.Rank = len(out)
			out = append(out, hit)
		}
		return rows.Err()
	})
	return out, err
}

func scanHit(rows *sql.Rows) (Hit, error) {
	var terms []byte
	n, err := scanNode(withExtra{rows, &terms})
	return Hit{Node: n, Terms: text.FromBytes(terms)}, err
}

// withExtra scans one more column than the node's own.
type withExtra struct {
	rows  *sql.Rows
	extra any
}

func (w withExtra) Scan(dest ...any) error { return w.rows.Scan(append(dest, w.extra)...) }
