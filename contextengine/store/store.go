// Package store is the bi-temporal store behind .stella/context.db.
//
// Every record (a revision of a node, an edge) has world time, when it was
// true, and belief time, when we believed it. Nothing is overwritten: a change
// supersedes the record that is believed, records once more that it was true up
// to now, and records the new fact with a link to the old. So "what was true on
// T" and "what did we believe on T" are independent questions.
//
// Belief time is a sequence: every write transaction takes the next number, and
// its clock never runs backwards, so two changes in one second have an order.
//
// Search ranks by BM25 over normalised terms without reading a body: label,
// size and the set of terms lie beside the record, bodies in a table of their own.
package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/stella-ls/stella-ls/contextengine/internal/db"
)

// Forever is the open end of a period.
const Forever = math.MaxInt64

// Store is an open context.db; safe for concurrent use, also by other processes.
type Store struct {
	db    *db.DB
	clock func() time.Time
	// bodies counts the bodies read since the store was opened.
	bodies atomic.Int64
}

// ErrAbsent: there is no database yet.
var ErrAbsent = db.ErrAbsent

// Open opens the database at path; create makes it when it is absent.
func Open(ctx context.Context, path string, create bool, clock func() time.Time, report func(string)) (*Store, error) {
	open := db.OpenExisting
	if create {
		open = db.Open
	}
	if clock == nil {
		clock = time.Now
	}
	d, err := open(ctx, path, spec, clock, report)
	if err != nil {
		return nil, err
	}
	return &Store{db: d, clock: clock}, nil
}

// Close ends it.
func (s *Store) Close() error { return s.db.Close() }

// BodiesRead is how many bodies were read since Open.
func (s *Store) BodiesRead() int64 { return s.bodies.Load() }

// ID is a node's identity: "nod_" and 24 hex digits over its kind and natural
// key. Editing a text keeps it, and two clones agree on it.
func ID(kind, key string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + key))
	return "nod_" + hex.EncodeToString(sum[:])[:24]
}

// When is a point in the two times.
type When struct {
	// AsOf is belief time; zero is what is believed now.
	AsOf time.Time
	// AsOfSeq is belief time as a transaction number; 0 is unset.
	AsOfSeq int64
	// ValidAt is world time; zero is now.
	ValidAt time.Time
	// Ever drops the condition on world time.
	Ever bool
}

// Period is a record's times.
type Period struct {
	Rec                int64
	ValidFrom, ValidTo time.Time // zero ValidTo: open
	RecordedAt         time.Time
	RecordedSeq        int64
	SupersededAt       time.Time // zero: believed
	SupersededSeq      int64
	Replaces           int64 // the record this one took the place of
	Reason             string
}

// Node is one revision of a node.
type Node struct {
	ID, Kind, Key string
	Label         string
	Content       string // empty when it was not asked for
	Digest        string
	Origin        string // user, agent, derived
	Source        string // where it lives, for people
	Attrs         map[string]string
	Cost          int // tokens of Content
	Role          Role
	Period
}

// Role is how search treats a node.
type Role int

const (
	// Knowledge is searched, and its words make the corpus.
	Knowledge Role = iota
	// Hidden is not searched (domains, tombstones).
	Hidden
	// Event is searched, and its words do not count for the corpus: what people
	// ask again and again would make its own words common.
	Event
)

// Edge is one relation.
type Edge struct {
	Src, Rel, Dst string
	Attrs         map[string]string
	Period
}

// condition is the SQL for w over a table alias, with its arguments.
func (s *Store) condition(alias string, w When) (string, []any) {
	sql, args := "", []any{}
	switch {
	case w.AsOfSeq != 0:
		sql = fmt.Sprintf("%[1]s.recorded_seq <= ? AND %[1]s.superseded_seq > ?", alias)
		args = append(args, w.AsOfSeq, w.AsOfSeq)
	case !w.AsOf.IsZero():
		sql = fmt.Sprintf("%[1]s.recorded_at <= ? AND %[1]s.superseded_at > ?", alias)
		args = append(args, w.AsOf.UnixNano(), w.AsOf.UnixNano())
	default:
		sql = alias + "." + live
	}
	if !w.Ever {
		at := w.ValidAt
		if at.IsZero() {
			at = s.clock()
		}
		sql += fmt.Sprintf(" AND %[1]s.valid_from <= ? AND %[1]s.valid_to > ?", alias)
		args = append(args, at.UnixNano(), at.UnixNano())
	}
	return sql, args
}

const nodeColumns = `r.rec, r.node, r.kind, n.nkey, r.label, r.digest, r.origin, r.source, r.attrs, r.cost, r.hidden,
 r.valid_from, r.valid_to, r.recorded_at, r.recorded_seq, r.superseded_at, r.superseded_seq, COALESCE(r.replaces, 0), r.reason`

func scanNode(rows interface{ Scan(...any) error }) (n Node, err error) {
	var attrs string
	var p times
	err = rows.Scan(&n.Rec, &n.ID, &n.Kind, &n.Key, &n.Label, &n.Digest, &n.Origin, &n.Source, &attrs, &n.Cost, &n.Role,
		&p.from, &p.to, &p.recorded, &n.RecordedSeq, &p.superseded, &n.SupersededSeq, &n.Replaces, &n.Reason)
	if err != nil {
		return n, err
	}
	p.into(&n.Period)
	return n, readAttrs(attrs, &n.Attrs)
}

type times struct{ from, to, recorded, superseded int64 }

func (t times) into(p *Period) {
	p.ValidFrom, p.ValidTo = fromNanos(t.from), fromNanos(t.to)
	p.RecordedAt, p.SupersededAt = fromNanos(t.recorded), fromNanos(t.superseded)
	if p.SupersededSeq == Forever {
		p.SupersededSeq = 0
	}
}

func fromNanos(n int64) time.Time {
	if n == Forever {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return Forever
	}
	return t.UnixNano()
}

func readAttrs(s string, into *map[string]string) error {
	if s == "" || s == "{}" {
		return nil
	}
	return json.Unmarshal([]byte(s), into)
}

func writeAttrs(m map[string]string) string {
	if len(m) == 0 {
		return "{}"
	}
	b, _ := json.Marshal(m) // keys come out sorted
	return string(b)
}

// Nodes returns the revisions of the kinds that hold at w, by id, with their
// bodies when bodies is set. No kinds means all.
func (s *Store) Nodes(ctx context.Context, w When, bodies bool, kinds ...string) ([]Node, error) {
	where, args := s.condition("r", w)
	query := "SELECT " + nodeColumns + " FROM revision r JOIN node n ON n.id = r.node WHERE " + where
	if len(kinds) > 0 {
		query += " AND r.kind IN (" + marks(len(kinds)) + ")"
		for _, k := range kinds {
			args = append(args, k)
		}
	}
	return s.nodes(ctx, query+" ORDER BY r.node, r.recorded_seq", args, bodies)
}

func (s *Store) nodes(ctx context.Context, query string, args []any, bodies bool) (out []Node, err error) {
	err = s.db.Read(ctx, func(h *db.Handle) error {
		rows, err := h.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		out = out[:0]
		for rows.Next() {
			n, err := scanNode(rows)
			if err != nil {
				return err
			}
			out = append(out, n)
		}
		return rows.Err()
	})
	if err != nil || !bodies {
		return out, err
	}
	for i := range out {
		if out[i].Content, err = s.Body(ctx, out[i].Digest); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Get returns the revision of one node that holds at w.
func (s *Store) Get(ctx context.Context, id string, w When) (Node, bool, error) {
	where, args := s.condition("r", w)
	nodes, err := s.nodes(ctx, "SELECT "+nodeColumns+" FROM revision r JOIN node n ON n.id = r.node WHERE r.node = ? AND "+where+
		" ORDER BY r.valid_from DESC, r.recorded_seq DESC LIMIT 1", append([]any{id}, args...), true)
	if err != nil || len(nodes) == 0 {
		return Node{}, false, err
	}
	return nodes[0], true, nil
}

// History returns every record of a node, oldest belief first.
func (s *Store) History(ctx context.Context, id string) ([]Node, error) {
	return s.nodes(ctx, "SELECT "+nodeColumns+` FROM revision r JOIN node n ON n.id = r.node WHERE r.node = ?
		ORDER BY r.recorded_seq, r.rec`, []any{id}, true)
}

// Body reads one body. It is the only place that does.
func (s *Store) Body(ctx context.Context, digest string) (content string, err error) {
	err = s.db.Read(ctx, func(h *db.Handle) error {
		return h.QueryRowContext(ctx, "SELECT content FROM body WHERE digest = ?", digest).Scan(&content)
	})
	s.bodies.Add(1)
	return content, err
}

// EdgeQuery picks edges; empty members do not restrict.
type EdgeQuery struct {
	Src, Rel, Dst string
	Dsts          []string // any of them
	Srcs          []string // any of them
	When          When
}

// Edges returns the edges that hold, by (src, rel, dst).
func (s *Store) Edges(ctx context.Context, q EdgeQuery) (out []Edge, err error) {
	where, args := s.condition("e", q.When)
	for _, c := range [...][2]string{{"src", q.Src}, {"rel", q.Rel}, {"dst", q.Dst}} {
		if c[1] != "" {
			where += " AND e." + c[0] + " = ?"
			args = append(args, c[1])
		}
	}
	if q.Dsts != nil {
		where += " AND e.dst IN (" + marks(len(q.Dsts)) + ")"
		for _, d := range q.Dsts {
			args = append(args, d)
		}
	}
	if q.Srcs != nil {
		where += " AND e.src IN (" + marks(len(q.Srcs)) + ")"
		for _, d := range q.Srcs {
			args = append(args, d)
		}
	}
	query := `SELECT e.rec, e.src, e.rel, e.dst, e.attrs, e.valid_from, e.valid_to, e.recorded_at, e.recorded_seq,
		e.superseded_at, e.superseded_seq, COALESCE(e.replaces, 0), e.reason FROM edge e WHERE ` + where + " ORDER BY e.src, e.rel, e.dst, e.recorded_seq"
	err = s.db.Read(ctx, func(h *db.Handle) error {
		rows, err := h.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		out = out[:0]
		for rows.Next() {
			e, err := scanEdge(rows)
			if err != nil {
				return err
			}
			out = append(out, e)
		}
		return rows.Err()
	})
	return out, err
}

func scanEdge(rows interface{ Scan(...any) error }) (e Edge, err error) {
	var attrs string
	var p times
	err = rows.Scan(&e.Rec, &e.Src, &e.Rel, &e.Dst, &attrs, &p.from, &p.to, &p.recorded, &e.RecordedSeq,
		&p.superseded, &e.SupersededSeq, &e.Replaces, &e.Reason)
	if err != nil {
		return e, err
	}
	p.into(&e.Period)
	return e, readAttrs(attrs, &e.Attrs)
}

// Meta reads a setting of the store; "" when it is not there.
func (s *Store) Meta(ctx context.Context, key string) (value string, err error) {
	err = s.db.Read(ctx, func(h *db.Handle) error {
		err := h.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = ?", key).Scan(&value)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return value, err
}

func marks(n int) string {
	if n == 0 {
		return "NULL"
	}
	b := make([]byte, 0, 2*n)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '?')
	}
	return string(b)
}
