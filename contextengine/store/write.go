package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/stella-ls/stella-ls/contextengine/internal/text"
	"github.com/stella-ls/stella-ls/contextengine/ocp"
)

// Tx is one write transaction: one number of belief time.
type Tx struct {
	ctx context.Context
	tx  *sql.Tx
	// Seq and At are the transaction's place in belief time.
	Seq int64
	At  time.Time
	// stmts are the prepared statements of the transaction.
	stmts map[string]*sql.Stmt
	// touched is set by the first change; an untouched transaction leaves no number.
	touched bool
}

// Write runs f in one transaction; what names it in the log. Either all of it
// is recorded or nothing.
func (s *Store) Write(ctx context.Context, what string, f func(*Tx) error) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		var seq, last int64
		if err := tx.QueryRowContext(ctx, "SELECT COALESCE(max(seq), 0), COALESCE(max(at), 0) FROM tx").Scan(&seq, &last); err != nil {
			return err
		}
		at := max(s.clock().UnixNano(), last) // belief time never runs backwards
		t := &Tx{ctx: ctx, tx: tx, stmts: map[string]*sql.Stmt{}, Seq: seq + 1, At: time.Unix(0, at).UTC()}
		if err := f(t); err != nil {
			return err
		}
		if !t.touched {
			return nil
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO tx(seq, at, what) VALUES(?, ?, ?)", t.Seq, at, what)
		return err
	})
}

// stmt prepares a statement once; the transaction's end closes it.
func (t *Tx) stmt(query string) (*sql.Stmt, error) {
	if s := t.stmts[query]; s != nil {
		return s, nil
	}
	s, err := t.tx.PrepareContext(t.ctx, query)
	if err == nil {
		t.stmts[query] = s
	}
	return s, err
}

func (t *Tx) exec(query string, args ...any) error {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(t.ctx, args...)
	return err
}

// row reads one row; sql.ErrNoRows when there is none.
func (t *Tx) row(query string, args []any, scan func(interface{ Scan(...any) error }) error) error {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	return scan(s.QueryRowContext(t.ctx, args...))
}

// SetMeta writes a setting of the store. It has no history.
func (t *Tx) SetMeta(key, value string) error {
	return t.exec("INSERT INTO meta(key, value) VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value", key, value)
}

// Live returns the revision of id that is believed and still true, without its body.
func (t *Tx) Live(id string) (Node, bool, error) {
	var n Node
	err := t.row("SELECT "+nodeColumns+` FROM revision r JOIN node n ON n.id = r.node
		WHERE r.node = ? AND r.`+live+" AND r.valid_to = ?", []any{id, int64(Forever)}, func(r interface{ Scan(...any) error }) (err error) {
		n, err = scanNode(r)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Node{}, false, nil
	}
	return n, err == nil, err
}

// Put makes n the live revision of its node. It reports false when the live one
// is the same already. The old one is superseded, and recorded as true up to n.ValidFrom.
func (t *Tx) Put(n Node) (changed bool, err error) {
	if n.ID == "" {
		n.ID = ID(n.Kind, n.Key)
	}
	if n.ValidFrom.IsZero() {
		n.ValidFrom = t.At
	}
	n.Digest = ocp.Digest(n.Content)
	old, exists, err := t.Live(n.ID)
	if err != nil {
		return false, err
	}
	if exists && old.Digest == n.Digest && old.Label == n.Label && old.Origin == n.Origin &&
		old.Source == n.Source && maps.Equal(old.Attrs, n.Attrs) {
		return false, nil
	}
	if err := t.exec("INSERT OR IGNORE INTO node(id, kind, nkey) VALUES(?, ?, ?)", n.ID, n.Kind, n.Key); err != nil {
		return false, err
	}
	if exists {
		if err := t.closeRevision(old, n.ValidFrom, "replaced"); err != nil {
			return false, err
		}
	}
	n.Replaces, n.ValidTo, n.Reason = old.Rec, time.Time{}, ""
	if err := t.exec("INSERT OR IGNORE INTO body(digest, content) VALUES(?, ?)", n.Digest, n.Content); err != nil {
		return false, err
	}
	terms := append(text.Terms(n.Label), text.Terms(n.Content)...)
	n.Cost = int(ocp.Cost(n.Content))
	rec, err := t.insertRevision(n, text.SetOfTerms(terms).Bytes())
	if err != nil {
		return false, err
	}
	return true, indexText(t.exec, rec, n.Label, n.Content, n.Role, true)
}

// CloseNode records that the node stopped being true at. It reports false when
// nothing was live.
func (t *Tx) CloseNode(id string, at time.Time, reason string) (bool, error) {
	old, exists, err := t.Live(id)
	if err != nil || !exists {
		return false, err
	}
	if at.IsZero() {
		at = t.At
	}
	return true, t.closeRevision(old, at, reason)
}

// closeRevision ends the belief in old and records instead that it was true
// until at. A period without length leaves nothing to record.
func (t *Tx) closeRevision(old Node, at time.Time, reason string) error {
	t.touched = true
	var terms []byte
	if err := t.tx.QueryRowContext(t.ctx, "SELECT terms FROM revision WHERE rec = ?", old.Rec).Scan(&terms); err != nil {
		return err
	}
	if err := t.supersede("revision", old.Rec); err != nil {
		return err
	}
	if index := indexOfRole(old.Role, true); index != "" {
		if err := t.exec("DELETE FROM "+index+" WHERE rowid = ?", old.Rec); err != nil {
			return err
		}
	}
	if !at.After(old.ValidFrom) {
		return nil
	}
	closed := old
	closed.ValidTo, closed.Replaces, closed.Reason = at, old.Rec, reason
	rec, err := t.insertRevision(closed, terms)
	if err != nil || old.Role == Hidden {
		return err
	}
	var content string
	if err := t.tx.QueryRowContext(t.ctx, "SELECT content FROM body WHERE digest = ?", old.Digest).Scan(&content); err != nil {
		return err
	}
	return indexText(t.exec, rec, old.Label, content, old.Role, false)
}

func (t *Tx) supersede(table string, rec int64) error {
	return t.exec("UPDATE "+table+" SET superseded_at = ?, superseded_seq = ? WHERE rec = ?", t.At.UnixNano(), t.Seq, rec)
}

func (t *Tx) insertRevision(n Node, terms []byte) (int64, error) {
	t.touched = true
	s, err := t.stmt(`INSERT INTO revision(node, kind, label, digest, origin, source, attrs, cost, terms, hidden,
		valid_from, valid_to, recorded_at, recorded_seq, superseded_at, superseded_seq, replaces, reason)
		VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(t.ctx, n.ID, n.Kind, n.Label, n.Digest, n.Origin, n.Source, writeAttrs(n.Attrs), n.Cost, terms, n.Role,
		n.ValidFrom.UnixNano(), nanos(n.ValidTo), t.At.UnixNano(), t.Seq, int64(Forever), int64(Forever), nullable(n.Replaces), n.Reason)
	if err != nil {
		return 0, fmt.Errorf("record %s: %w", n.ID, err)
	}
	return res.LastInsertId()
}

func nullable(rec int64) any {
	if rec == 0 {
		return nil
	}
	return rec
}

// indexOfRole is the full-text index of a revision, "" for none: one for what is
// true, one for events, one for the past, so that old wordings and repeated
// requests do not make words look common.
func indexOfRole(role Role, open bool) string {
	switch {
	case role == Hidden:
		return ""
	case !open:
		return "search_past"
	case role == Event:
		return "search_events"
	}
	return "search"
}

func indexText(exec func(string, ...any) error, rec int64, label, body string, role Role, open bool) error {
	table := indexOfRole(role, open)
	if table == "" {
		return nil
	}
	return exec("INSERT INTO "+table+"(rowid, label, body) VALUES(?, ?, ?)",
		rec, text.Joined(text.Terms(label)), text.Joined(text.Terms(body)))
}

// Edges returns the live edges from src of one relation.
func (t *Tx) Edges(src, rel string) ([]Edge, error) {
	s, err := t.stmt(`SELECT e.rec, e.src, e.rel, e.dst, e.attrs, e.valid_from, e.valid_to, e.recorded_at, e.recorded_seq,
		e.superseded_at, e.superseded_seq, COALESCE(e.replaces, 0), e.reason FROM edge e
		WHERE e.src = ? AND e.rel = ? AND e.` + live + " AND e.valid_to = ? ORDER BY e.dst, e.rec")
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(t.ctx, src, rel, int64(Forever))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Edge
	for rows.Next() {
		e, err := scanEdge(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// SetEdges makes want the live edges from src of one relation: what is gone is
// closed, what is new or has other attributes is recorded.
func (t *Tx) SetEdges(src, rel string, want []Edge) error {
	have, err := t.Edges(src, rel)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, old := range have {
		i := indexOf(want, old.Dst)
		if i >= 0 && maps.Equal(want[i].Attrs, old.Attrs) && !kept[old.Dst] {
			kept[old.Dst] = true
			continue
		}
		if err := t.closeEdge(old, t.At, "gone"); err != nil {
			return err
		}
		if i >= 0 {
			want[i].Replaces = old.Rec
		}
	}
	for _, e := range want {
		if kept[e.Dst] {
			continue
		}
		kept[e.Dst] = true
		e.Src, e.Rel = src, rel
		if err := t.insertEdge(e); err != nil {
			return err
		}
	}
	return nil
}

func indexOf(edges []Edge, dst string) int {
	for i := range edges {
		if edges[i].Dst == dst {
			return i
		}
	}
	return -1
}

// ReplaceEdge closes old and records it again with other attributes.
func (t *Tx) ReplaceEdge(old Edge, attrs map[string]string, reason string) error {
	if err := t.closeEdge(old, t.At, reason); err != nil {
		return err
	}
	return t.insertEdge(Edge{Src: old.Src, Rel: old.Rel, Dst: old.Dst, Attrs: attrs, Period: Period{Replaces: old.Rec}})
}

// AddEdge records a new edge beside those that are there.
func (t *Tx) AddEdge(e Edge) error { return t.insertEdge(e) }

func (t *Tx) insertEdge(e Edge) error {
	t.touched = true
	if e.ValidFrom.IsZero() {
		e.ValidFrom = t.At
	}
	return t.exec(`INSERT INTO edge(src, rel, dst, attrs, valid_from, valid_to, recorded_at, recorded_seq, superseded_at, superseded_seq, replaces, reason)
		VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, e.Src, e.Rel, e.Dst, writeAttrs(e.Attrs),
		e.ValidFrom.UnixNano(), nanos(e.ValidTo), t.At.UnixNano(), t.Seq, int64(Forever), int64(Forever), nullable(e.Replaces), e.Reason)
}

func (t *Tx) closeEdge(old Edge, at time.Time, reason string) error {
	t.touched = true
	if err := t.supersede("edge", old.Rec); err != nil {
		return err
	}
	if !at.After(old.ValidFrom) {
		return nil
	}
	closed := old
	closed.ValidTo, closed.Replaces, closed.Reason = at, old.Rec, reason
	return t.insertEdge(closed)
}

// LiveWithBody is Live with the content.
func (t *Tx) LiveWithBody(id string) (Node, bool, error) {
	n, ok, err := t.Live(id)
	if err != nil || !ok {
		return n, ok, err
	}
	err = t.tx.QueryRowContext(t.ctx, "SELECT content FROM body WHERE digest = ?", n.Digest).Scan(&n.Content)
	return n, err == nil, err
}
