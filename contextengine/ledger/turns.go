package ledger

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/stella-ls/stella-ls/contextengine/internal/db"
)

// TurnEnd is what a turn came to. Nil figures were not reported.
type TurnEnd struct {
	Session                              string
	Turn                                 int
	Outcome                              string
	Steps, Tools                         int
	Input, CacheRead, CacheWrite, Output *int64
	USD                                  *float64
	Duration                             time.Duration
	Reflection                           string
	Calls                                []ToolCall
}

// Recalled records how many frames a turn was given.
func (l *Ledger) Recalled(ctx context.Context, session string, turn, frames int) error {
	return l.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE turn SET frames = ? WHERE session = ? AND turn = ?", frames, session, turn)
		return err
	})
}

// End records the outcome of a turn and its tool calls; a turn that was never
// begun is left out, calls included.
func (l *Ledger) End(ctx context.Context, t TurnEnd) error {
	return l.db.Write(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE turn SET outcome = ?, steps = ?, tools = ?, input = ?, cache_read = ?, cache_write = ?,
			output = ?, usd = ?, duration_ms = ?, reflection = ? WHERE session = ? AND turn = ?`,
			t.Outcome, t.Steps, t.Tools, t.Input, t.CacheRead, t.CacheWrite, t.Output, t.USD, t.Duration.Milliseconds(), t.Reflection, t.Session, t.Turn)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		return l.recordTools(ctx, tx, t)
	})
}

// ToolCall is one call of a turn: which tool, how its result began, how long it
// ran. What was asked and answered is not kept.
type ToolCall struct {
	Step   int // of the session
	Tool   string
	Status string
	Took   time.Duration
}

// maxToolCalls bounds the tool calls that are kept: the newest. A call is some 80
// bytes and nothing else refers to it.
const maxToolCalls = 200_000

// recordTools adds the calls of a turn.
func (l *Ledger) recordTools(ctx context.Context, tx *sql.Tx, t TurnEnd) error {
	for _, c := range t.Calls {
		if _, err := tx.ExecContext(ctx, "INSERT INTO tool_call(session, turn, step, tool, status, ms, at) VALUES(?, ?, ?, ?, ?, ?, ?)",
			t.Session, t.Turn, c.Step, c.Tool, c.Status, c.Took.Milliseconds(), l.clock().UnixNano()); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM tool_call WHERE seq <= (SELECT max(seq) FROM tool_call) - ?", maxToolCalls)
	return err
}

// ToolCalls returns the calls of one turn, in order.
func (l *Ledger) ToolCalls(ctx context.Context, session string, turn int) (out []ToolCall, err error) {
	err = l.db.Read(ctx, func(h *db.Handle) error {
		out = out[:0]
		rows, err := h.QueryContext(ctx, "SELECT step, tool, status, COALESCE(ms, 0) FROM tool_call WHERE session = ? AND turn = ? ORDER BY seq", session, turn)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var c ToolCall
			var ms int64
			if err := rows.Scan(&c.Step, &c.Tool, &c.Status, &ms); err != nil {
				return err
			}
			c.Took = time.Duration(ms) * time.Millisecond
			out = append(out, c)
		}
		return rows.Err()
	})
	return out, err
}

// Measure is one figure in the two arms.
type Measure struct {
	Name            string
	RecallN         int
	ControlN        int
	Recall, Control float64 // means
	Difference      float64 // recall minus control
	Low, High       float64 // 95 % interval of the difference
	EnoughData      bool
}

// MinimumPerArm is how many turns each arm must have before a difference is stated.
const MinimumPerArm = 8

// Compare compares the arms over all ended turns.
func (l *Ledger) Compare(ctx context.Context) ([]Measure, error) {
	samples := map[string]map[string][]float64{}
	columns := []string{"success", "steps", "tokens", "usd", "seconds"}
	for _, c := range columns {
		samples[c] = map[string][]float64{}
	}
	err := l.db.Read(ctx, func(h *db.Handle) error {
		rows, err := h.QueryContext(ctx, `SELECT arm, outcome = 'end_turn', steps,
			CASE WHEN input IS NULL AND output IS NULL THEN NULL ELSE COALESCE(input,0)+COALESCE(cache_read,0)+COALESCE(cache_write,0)+COALESCE(output,0) END,
			usd, duration_ms / 1000.0 FROM turn WHERE outcome NOT IN ('', 'cancelled', 'steered') ORDER BY seq`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for _, c := range columns {
			clear(samples[c])
		}
		for rows.Next() {
			var arm string
			values := make([]sql.NullFloat64, len(columns))
			if err := rows.Scan(&arm, &values[0], &values[1], &values[2], &values[3], &values[4]); err != nil {
				return err
			}
			for i, v := range values {
				if v.Valid {
					samples[columns[i]][arm] = append(samples[columns[i]][arm], v.Float64)
				}
			}
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	var out []Measure
	for _, c := range columns {
		out = append(out, compare(c, samples[c][ArmRecall], samples[c][ArmControl]))
	}
	return out, nil
}

// compare is Welch's interval for the difference of two means.
func compare(name string, recall, control []float64) Measure {
	m := Measure{Name: name, RecallN: len(recall), ControlN: len(control)}
	var vr, vc float64
	m.Recall, vr = meanVariance(recall)
	m.Control, vc = meanVariance(control)
	m.Difference = m.Recall - m.Control
	if m.RecallN < MinimumPerArm || m.ControlN < MinimumPerArm {
		return m
	}
	m.EnoughData = true
	a, b := vr/float64(m.RecallN), vc/float64(m.ControlN)
	half := 0.0
	if se := math.Sqrt(a + b); se > 0 {
		df := (a + b) * (a + b) / (a*a/float64(m.RecallN-1) + b*b/float64(m.ControlN-1))
		half = studentT975(df) * se
	}
	m.Low, m.High = m.Difference-half, m.Difference+half
	return m
}

func meanVariance(x []float64) (mean, variance float64) {
	if len(x) == 0 {
		return 0, 0
	}
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		variance += (v - mean) * (v - mean)
	}
	if len(x) > 1 {
		variance /= float64(len(x) - 1)
	}
	return mean, variance
}

// studentT975 is the 97.5 % quantile of Student's t, by the Cornish-Fisher
// expansion around the normal quantile; good to three digits from 5 degrees up.
func studentT975(df float64) float64 {
	const z = 1.959963984540054
	z3, z5, z7 := z*z*z, z*z*z*z*z, z*z*z*z*z*z*z
	return z + (z3+z)/(4*df) + (5*z5+16*z3+3*z)/(96*df*df) + (3*z7+19*z5+17*z3-15*z)/(384*df*df*df)
}
