package store

import (
	"context"
	"database/sql"

	"github.com/stella-ls/stella-ls/contextengine/internal/db"
)

// temporal are the columns that every record carries. Times are nanoseconds
// since 1970 UTC; an open end is Forever. A record is believed while
// superseded_at is Forever.
const temporal = `
  valid_from INTEGER NOT NULL, valid_to INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL, recorded_seq INTEGER NOT NULL,
  superseded_at INTEGER NOT NULL, superseded_seq INTEGER NOT NULL,
  replaces INTEGER, reason TEXT NOT NULL DEFAULT ''`

const live = `superseded_at = 9223372036854775807`

var spec = db.Spec{
	Migrations: []string{`
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tx(seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, what TEXT NOT NULL);
CREATE TABLE node(id TEXT PRIMARY KEY, kind TEXT NOT NULL, nkey TEXT NOT NULL, UNIQUE(kind, nkey)) WITHOUT ROWID;
CREATE TABLE body(digest TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE revision(
  rec INTEGER PRIMARY KEY, node TEXT NOT NULL, kind TEXT NOT NULL, label TEXT NOT NULL, digest TEXT NOT NULL,
  origin TEXT NOT NULL, source TEXT NOT NULL, attrs TEXT NOT NULL, cost INTEGER NOT NULL, terms BLOB NOT NULL, hidden INTEGER NOT NULL,` + temporal + `);
CREATE INDEX revision_node ON revision(node, recorded_seq);
CREATE INDEX revision_live ON revision(kind, valid_to, valid_from) WHERE ` + live + `;
CREATE INDEX revision_searched ON revision(valid_to) WHERE hidden = 0 AND ` + live + `;
CREATE TABLE edge(
  rec INTEGER PRIMARY KEY, src TEXT NOT NULL, rel TEXT NOT NULL, dst TEXT NOT NULL, attrs TEXT NOT NULL,` + temporal + `);
CREATE INDEX edge_src ON edge(src, rel, recorded_seq);
CREATE INDEX edge_dst_live ON edge(dst, rel) WHERE ` + live + `;
CREATE VIRTUAL TABLE search USING fts5(label, body, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0');
CREATE VIRTUAL TABLE search_events USING fts5(label, body, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0');
CREATE VIRTUAL TABLE search_past USING fts5(label, body, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0');
CREATE VIRTUAL TABLE search_terms USING fts5vocab(search, row);
`},
	Salvage: []string{"meta", "tx", "node", "body", "revision", "edge"},
	// The full-text index is derived; after a salvage it is written again.
	AfterSalvage: reindex,
}

// reindex writes the full-text rows of all believed revisions.
func reindex(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM revision WHERE digest NOT IN (SELECT digest FROM body)`); err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, `SELECT r.rec, r.label, b.content, r.hidden, r.valid_to = 9223372036854775807 FROM revision r JOIN body b USING(digest) WHERE r.hidden <> 1 AND r.`+live)
	if err != nil {
		return err
	}
	type entry struct {
		rec         int64
		label, body string
		role        Role
		open        bool
	}
	var all []entry
	for rows.Next() {
		var e entry
		if err := rows.Scan(&e.rec, &e.label, &e.body, &e.role, &e.open); err != nil {
			_ = rows.Close()
			return err
		}
		all = append(all, e)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	exec := func(query string, args ...any) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	}
	for _, e := range all {
		if err := indexText(exec, e.rec, e.label, e.body, e.role, e.open); err != nil {
			return err
		}
	}
	return nil
}
