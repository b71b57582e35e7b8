// Package ledger is .stella/store.db: what was cited, which memories a session
// was shown, each turn with its arm (recall or control) and outcome, tool calls
// and token use. Rows are only added, so that figures can be traced to events;
// of the tool calls, which are many and nothing rests on, the newest stay.
package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"time"

	"github.com/stella-ls/stella-ls/contextengine/internal/db"
)

var spec = db.Spec{
	Migrations: []string{`
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE citation(
  seq INTEGER PRIMARY KEY, memory TEXT NOT NULL, session TEXT NOT NULL, turn INTEGER NOT NULL, revision INTEGER NOT NULL,
  score INTEGER NOT NULL, truthful INTEGER NOT NULL, remark TEXT NOT NULL, at INTEGER NOT NULL, UNIQUE(memory, session, turn));
CREATE TABLE lifted(seq INTEGER PRIMARY KEY, memory TEXT NOT NULL, after_citation INTEGER NOT NULL, reason TEXT NOT NULL, at INTEGER NOT NULL);
CREATE TABLE shown(seq INTEGER PRIMARY KEY, session TEXT NOT NULL, memory TEXT NOT NULL, turn INTEGER NOT NULL, at INTEGER NOT NULL, UNIQUE(session, memory));
CREATE TABLE turn(
  seq INTEGER PRIMARY KEY, session TEXT NOT NULL, turn INTEGER NOT NULL, number INTEGER NOT NULL, arm TEXT NOT NULL, frames INTEGER NOT NULL DEFAULT 0,
  outcome TEXT NOT NULL DEFAULT '', steps INTEGER, tools INTEGER, input INTEGER, cache_read INTEGER, cache_write INTEGER, output INTEGER, usd REAL,
  duration_ms INTEGER, reflection TEXT NOT NULL DEFAULT '', started INTEGER NOT NULL, UNIQUE(session, turn));
CREATE TABLE tool_call(
  seq INTEGER PRIMARY KEY, session TEXT NOT NULL, turn INTEGER NOT NULL, step INTEGER NOT NULL, tool TEXT NOT NULL, status TEXT NOT NULL, ms INTEGER, at INTEGER NOT NULL);
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
`},
	Salvage: []string{"meta", "citation", "lifted", "shown", "turn", "tool_call", "counter"},
	// After damage the counter may be lost; the turns that were read carry it.
	AfterSalvage: func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO counter(name, value) SELECT 'turns', COALESCE(max(number), 0) + 1 FROM turn
			WHERE true ON CONFLICT(name) DO UPDATE SET value = max(value, excluded.value)`)
		return err
	},
}

// Ledger is an open store.db; safe for concurrent use, also by other processes.
type Ledger struct {
	db    *db.DB
	clock func() time.Time
}

// ErrAbsent: there is no database yet.
var ErrAbsent = db.ErrAbsent

// Open opens the database at path; create makes it when it is absent.
func Open(ctx context.Context, path string, create bool, clock func() time.Time, report func(string)) (*Ledger, error) {
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
	return &Ledger{d, clock}, nil
}

// Close ends it.
func (l *Ledger) Close() error { return l.db.Close() }

// Limits of trust.
const (
	// QuarantineAt untruthful citations a memory is taken out of use.
	QuarantineAt = 2
	// EligibleAbove positive citations in a row it may be promoted.
	EligibleAbove = 10
)

// Record is what the citations of one memory come to.
type Record struct {
	Citations   int
	ScoreSum    int
	Truthful    int
	Streak      int // positives since the last negative
	Untruthful  int // since the last lifting
	LastRemark  string
	Quarantined bool
}

// Average is the mean score, 0 without citations.
func (r Record) Average() float64 {
	if r.Citations == 0 {
		return 0
	}
	return float64(r.ScoreSum) / float64(r.Citations)
}

// TruthfulRate is the share of truthful citations, 0 without citations.
func (r Record) TruthfulRate() float64 {
	if r.Citations == 0 {
		return 0
	}
	return float64(r.Truthful) / float64(r.Citations)
}

// Eligible reports whether the memory may be promoted.
func (r Record) Eligible() bool { return r.Streak > EligibleAbove && !r.Quarantined }

// Citation is one row.
type Citation struct {
	Memory, Session string
	Turn            int
	Revision        int64 // the belief number of the text that was cited
	Score           int
	Truthful        bool
	Remark          string
	At              time.Time
}

// Cite records c. It reports false when the memory was cited in that turn already.
func (l *Ledger) Cite(ctx context.Context, c Citation) (added bool, err error) {
	err = l.db.Write(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO citation(memory, session, turn, revision, score, truthful, remark, at)
			VALUES(?, ?, ?, ?, ?, ?, ?, ?)`, c.Memory, c.Session, c.Turn, c.Revision, c.Score, c.Truthful, c.Remark, l.clock().UnixNano())
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		added = n == 1
		return err
	})
	return added, err
}

// Records returns the record of every memory that was cited or lifted.
func (l *Ledger) Records(ctx context.Context) (map[string]Record, error) { return l.records(ctx, "") }

// Record returns the record of one memory.
func (l *Ledger) Record(ctx context.Context, memory string) (Record, error) {
	all, err := l.records(ctx, memory)
	return all[memory], err
}

func (l *Ledger) records(ctx context.Context, memory string) (map[string]Record, error) {
	out := map[string]Record{}
	err := l.db.Read(ctx, func(h *db.Handle) error {
		clear(out)
		rows, err := h.QueryContext(ctx, `SELECT c.memory, c.score, c.truthful, c.remark,
			c.seq > COALESCE((SELECT max(after_citation) FROM lifted f WHERE f.memory = c.memory), 0)
			FROM citation c WHERE ? = '' OR c.memory = ? ORDER BY c.seq`, memory, memory)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, remark string
			var score int
			var truthful, counts bool
			if err := rows.Scan(&id, &score, &truthful, &remark, &counts); err != nil {
				return err
			}
			r := out[id]
			r.add(score, truthful, counts, remark)
			out[id] = r
		}
		return rows.Err()
	})
	return out, err
}

func (r *Record) add(score int, truthful, counts bool, remark string) {
	r.Citations++
	r.ScoreSum += score
	r.LastRemark = remark
	if truthful {
		r.Truthful++
	} else if counts {
		r.Untruthful++
	}
	if truthful && score >= 3 {
		r.Streak++
	} else {
		r.Streak = 0
	}
	r.Quarantined = r.Untruthful >= QuarantineAt
}

// Quarantined are the memories that are out of use.
func (l *Ledger) Quarantined(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	err := l.db.Read(ctx, func(h *db.Handle) error {
		clear(out)
		rows, err := h.QueryContext(ctx, `SELECT c.memory FROM citation c WHERE c.truthful = 0
			AND c.seq > COALESCE((SELECT max(after_citation) FROM lifted f WHERE f.memory = c.memory), 0)
			GROUP BY c.memory HAVING count(*) >= ?`, QuarantineAt)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			out[id] = true
		}
		return rows.Err()
	})
	return out, err
}

// Lift ends a quarantine: untruthful citations up to now no longer count for it.
func (l *Ledger) Lift(ctx context.Context, memory, reason string) error {
	return l.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO lifted(memory, after_citation, reason, at)
			SELECT ?, COALESCE(max(seq), 0), ?, ? FROM citation`, memory, reason, l.clock().UnixNano())
		return err
	})
}

// MarkShown records that a session was shown memories; a second time changes nothing.
func (l *Ledger) MarkShown(ctx context.Context, session string, turn int, memories []string) error {
	if len(memories) == 0 {
		return nil
	}
	return l.db.Write(ctx, func(tx *sql.Tx) error {
		for _, m := range memories {
			if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO shown(session, memory, turn, at) VALUES(?, ?, ?, ?)",
				session, m, turn, l.clock().UnixNano()); err != nil {
				return err
			}
		}
		return nil
	})
}

// WasShown reports whether a session was ever shown a memory.
func (l *Ledger) WasShown(ctx context.Context, session, memory string) (shown bool, err error) {
	err = l.db.Read(ctx, func(h *db.Handle) error {
		return h.QueryRowContext(ctx, "SELECT EXISTS(SELECT 1 FROM shown WHERE session = ? AND memory = ?)", session, memory).Scan(&shown)
	})
	return shown, err
}

// Arms of a turn.
const (
	ArmRecall  = "recall"
	ArmControl = "control"
)

// Begin numbers a turn and gives it its arm. Asked again for the same turn it
// answers the same, so that a turn is armed once whatever asks. Of each rate
// turns exactly one is a control; which one is a hash of seed and block, so that
// no habit falls together with it. A rate below 2 makes no controls.
func (l *Ledger) Begin(ctx context.Context, session string, turn, rate int, seed string) (control bool, err error) {
	err = l.db.Write(ctx, func(tx *sql.Tx) error {
		var arm string
		err := tx.QueryRowContext(ctx, "SELECT arm FROM turn WHERE session = ? AND turn = ?", session, turn).Scan(&arm)
		if err == nil {
			control = arm == ArmControl
			return nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var number int64
		if err := tx.QueryRowContext(ctx, `INSERT INTO counter(name, value) VALUES('turns', 1)
			ON CONFLICT(name) DO UPDATE SET value = value + 1 RETURNING value`).Scan(&number); err != nil {
			return err
		}
		number-- // numbers begin at 0
		control = isControl(number, rate, seed)
		arm = ArmRecall
		if control {
			arm = ArmControl
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO turn(session, turn, number, arm, started) VALUES(?, ?, ?, ?, ?)",
			session, turn, number, arm, l.clock().UnixNano())
		return err
	})
	return control, err
}

func isControl(number int64, rate int, seed string) bool {
	if rate < 2 {
		return false
	}
	block := number / int64(rate)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(seed+"\x00"), uint64(block)))
	return number%int64(rate) == int64(binary.BigEndian.Uint64(sum[:8])%uint64(rate))
}

// Seed is the workspace's own constant behind Begin's choice; fallback is kept
// the first time, so that a folder that moves keeps its sequence.
func (l *Ledger) Seed(ctx context.Context, fallback string) (seed string, err error) {
	err = l.db.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO meta(key, value) VALUES('seed', ?)", fallback); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'seed'").Scan(&seed)
	})
	return seed, err
}
