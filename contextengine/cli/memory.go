package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stella-ls/stella-ls/contextengine"
	"github.com/stella-ls/stella-ls/contextengine/ledger"
)

const memoryUsage = `memory list|show|validate|promote|unquarantine|forget|history|lift [ID] [--root DIR] [--as-of T] [--valid-at T] [--reason TEXT] [--format table|json]

  list             every memory with its citations, cited ones first
  show ID          one memory, what it is about and what speaks against it
  validate         whether the files and symbols that memories name still hold
  promote ID       writes a proven memory as a rule of the workspace
  unquarantine ID  takes back what was found untrue (--reason is needed)
  forget ID        removes a memory's file; what it said stays in its history
  history ID       everything that was ever believed of it
  lift             what recall changes, against turns without it

An ID is the nod_ id of a memory, or the name of its file.
`

// memoryCall is a parsed command line.
type memoryCall struct {
	verb, id, reason, format string
	when                     contextengine.When
}

// verbs that need an id, and those that can look at another time.
var (
	needsID = []string{"show", "promote", "unquarantine", "forget", "history"}
	timed   = []string{"list", "show", "history"}
)

// Memory is "stella-ls memory VERB [ID] ...".
func Memory(ctx context.Context, e Env) int {
	fs, rootFlag := e.flags("memory")
	asOf := fs.String("as-of", "", "what was believed at this time (RFC 3339)")
	validAt := fs.String("valid-at", "", "what was true at this time (RFC 3339)")
	reason := fs.String("reason", "", "why, kept on record")
	format := fs.String("format", "table", "table or json")
	rest, err := parse(fs, e.Args)
	if err == nil && len(rest) == 1 && rest[0] == "help" {
		err = flag.ErrHelp
	}
	if err != nil {
		return e.ended(fs, memoryUsage, err)
	}
	c := memoryCall{reason: *reason, format: *format}
	if c.when.AsOf, err = readTime("--as-of", *asOf); err == nil {
		c.when.ValidAt, err = readTime("--valid-at", *validAt)
	}
	if err == nil {
		err = c.readArgs(rest)
	}
	if err != nil {
		return e.ended(fs, memoryUsage, err)
	}
	root, err := e.root(*rootFlag)
	if err != nil {
		e.warn("%v", err)
		return Usage
	}
	engine := e.engine(root)
	defer engine.Close()
	return e.run(ctx, engine, c)
}

func readTime(name, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("%s %q is no time: write it like 2026-05-04T09:30:00Z", name, s)
	}
	return t, nil
}

func (c *memoryCall) readArgs(rest []string) error {
	if len(rest) == 0 {
		return fmt.Errorf("say what to do with the memories")
	}
	c.verb = rest[0]
	known := append([]string{"list", "validate", "lift"}, needsID...)
	switch {
	case !slices.Contains(known, c.verb):
		return fmt.Errorf("memory cannot %q: say one of list, show, validate, promote, unquarantine, forget, history, lift", c.verb)
	case c.format != "table" && c.format != "json":
		return fmt.Errorf("--format %q is neither table nor json", c.format)
	case slices.Contains(needsID, c.verb) && len(rest) != 2:
		return fmt.Errorf("memory %s needs one ID (or slug)", c.verb)
	case !slices.Contains(timed, c.verb) && c.when != contextengine.When{}:
		return fmt.Errorf("memory %s is about now: --as-of and --valid-at go with list, show and history", c.verb)
	case c.verb == "unquarantine" && strings.TrimSpace(c.reason) == "":
		return fmt.Errorf("memory unquarantine needs --reason TEXT: it is kept on record")
	case !slices.Contains(needsID, c.verb) && len(rest) != 1:
		return fmt.Errorf("memory %s takes no ID", c.verb)
	}
	if len(rest) == 2 {
		c.id = rest[1]
	}
	return nil
}

func (e Env) run(ctx context.Context, engine *contextengine.Engine, c memoryCall) int {
	switch c.verb {
	case "list":
		return e.list(ctx, engine, c)
	case "show":
		return e.show(ctx, engine, c)
	case "history":
		return e.history(ctx, engine, c)
	case "validate":
		return e.validate(ctx, engine, c)
	case "lift":
		return e.lift(ctx, engine, c)
	case "promote":
		path, err := engine.Promote(ctx, c.id)
		if err == nil {
			e.say("%s holds the rule; every session from now on is told.", path)
		}
		return e.code(err)
	case "unquarantine":
		err := engine.Unquarantine(ctx, c.id, c.reason)
		if err == nil {
			e.say("%s is in use again.", c.id)
		}
		return e.code(err)
	}
	err := engine.Forget(ctx, c.id, c.reason)
	if err == nil {
		e.say("%s is forgotten. What it said stays in the history (stella-ls memory history %s).", c.id, c.id)
	}
	return e.code(err)
}

func (e Env) json(v any) int {
	enc := json.NewEncoder(e.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return e.code(enc.Encode(v))
}

func status(i contextengine.MemoryInfo) string {
	switch {
	case i.Quarantined:
		return "quarantined"
	case i.Doubtful:
		return "doubtful"
	case i.Promoted:
		return "rule"
	case i.Eligible:
		return "eligible"
	case i.Origin == "derived":
		return "derived"
	}
	return "-"
}

func (e Env) list(ctx context.Context, engine *contextengine.Engine, c memoryCall) int {
	infos, err := engine.List(ctx, c.when)
	if err != nil {
		return e.code(err)
	}
	if c.format == "json" {
		return e.json(infos) // never null: List gives an empty slice
	}
	if len(infos) == 0 {
		e.say("No memories yet. Sessions keep them with save_memory; you can write .stella/memories/NAME.md yourself.")
		return OK
	}
	w := tabwriter.NewWriter(e.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tCITES\tAVG\tTRUTHFUL\tSTREAK\tSTATUS\tMEMORY")
	for _, i := range infos {
		avg, rate := "-", "-"
		if i.Citations > 0 {
			avg, rate = fmt.Sprintf("%.1f", i.AvgScore), fmt.Sprintf("%.0f%%", 100*i.TruthfulRate)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%d\t%s\t%s\n", i.ID, i.Citations, avg, rate, i.PositiveStreak, status(i), i.Memory)
	}
	return e.code(w.Flush())
}

// shown is the JSON of "memory show": a row of the list and the rest.
type shown struct {
	contextengine.MemoryInfo
	Text       string   `json:"text"`
	Origin     string   `json:"origin"`
	Domains    []string `json:"domains"`
	Doubts     []string `json:"doubts"`
	LastRemark string   `json:"last_remark"`
	ValidFrom  string   `json:"valid_from,omitempty"`
	ValidTo    string   `json:"valid_to,omitempty"`
	RecordedAt string   `json:"recorded_at,omitempty"`
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func (e Env) show(ctx context.Context, engine *contextengine.Engine, c memoryCall) int {
	i, ok, err := engine.ByIDWhen(ctx, c.id, c.when)
	if err != nil {
		return e.code(err)
	}
	if !ok {
		e.warn("there is no memory %s at that time (see \"stella-ls memory list\")", c.id)
		return Nothing
	}
	if c.format == "json" {
		return e.json(shown{i, i.Text, i.Origin, orEmpty(i.Domains), orEmpty(i.Doubts), i.LastRemark, stamp(i.ValidFrom), stamp(i.ValidTo), stamp(i.RecordedAt)})
	}
	e.say("%s  %s  (%s, %s)", i.ID, i.Source, i.Origin, status(i))
	if i.Citations > 0 {
		e.say("cited %d times, average %.1f, truthful %.0f%%, %d useful in a row", i.Citations, i.AvgScore, 100*i.TruthfulRate, i.PositiveStreak)
	}
	if !i.ValidFrom.IsZero() {
		until := "now"
		if !i.ValidTo.IsZero() {
			until = stamp(i.ValidTo)
		}
		e.say("true from %s to %s, learned %s", stamp(i.ValidFrom), until, stamp(i.RecordedAt))
	}
	if len(i.Domains) > 0 {
		e.say("domains: %s", strings.Join(i.Domains, ", "))
	}
	for _, d := range i.Doubts {
		e.say("doubtful: %s", d)
	}
	if i.LastRemark != "" {
		e.say("last remark: %s", i.LastRemark)
	}
	e.say("\n%s", i.Text)
	return OK
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// past is one line of "memory history".
type past struct {
	Text         string `json:"text"`
	Origin       string `json:"origin"`
	ValidFrom    string `json:"valid_from"`
	ValidTo      string `json:"valid_to,omitempty"`
	RecordedAt   string `json:"recorded_at"`
	SupersededAt string `json:"superseded_at,omitempty"`
	Sequence     int64  `json:"sequence"`
	Reason       string `json:"reason,omitempty"`
}

func (e Env) history(ctx context.Context, engine *contextengine.Engine, c memoryCall) int {
	revisions, err := engine.History(ctx, c.id)
	if err != nil {
		return e.code(err)
	}
	if len(revisions) == 0 {
		e.warn("nothing was ever recorded of %s", c.id)
		return Nothing
	}
	out := make([]past, 0, len(revisions))
	for _, r := range revisions {
		if !held(r, c.when) {
			continue
		}
		out = append(out, past{r.Text, r.Origin, stamp(r.ValidFrom), stamp(r.ValidTo), stamp(r.RecordedAt), stamp(r.SupersededAt), r.RecordedSeq, r.Reason})
	}
	if c.format == "json" {
		return e.json(out)
	}
	for _, p := range out {
		e.say("#%d recorded %s, true from %s to %s%s%s", p.Sequence, p.RecordedAt, p.ValidFrom, or(p.ValidTo, "now"),
			prefixed(", no longer believed since ", p.SupersededAt), prefixed(", ", p.Reason))
		e.say("    %s", strings.ReplaceAll(p.Text, "\n", "\n    "))
	}
	return OK
}

// held reports whether a revision was believed at w.AsOf and true at w.ValidAt;
// a zero time asks for nothing.
func held(r contextengine.Revision, w contextengine.When) bool {
	within := func(t, from, to time.Time) bool {
		return t.IsZero() || !t.Before(from) && (to.IsZero() || t.Before(to))
	}
	return within(w.AsOf, r.RecordedAt, r.SupersededAt) && within(w.ValidAt, r.ValidFrom, r.ValidTo)
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// validated is one line of "memory validate".
type validated struct {
	ID      string   `json:"id"`
	Source  string   `json:"source"`
	State   string   `json:"state"`
	Reasons []string `json:"reasons"`
	Flags   []string `json:"flags"`
}

func (e Env) validate(ctx context.Context, engine *contextengine.Engine, c memoryCall) int {
	states, err := engine.Validate(ctx)
	if err != nil {
		return e.code(err)
	}
	out := make([]validated, 0, len(states))
	for _, s := range states {
		out = append(out, validated{s.ID, s.Source, s.State, orEmpty(s.Reasons), orEmpty(s.Flags)})
	}
	if c.format == "json" {
		return e.json(out)
	}
	for _, s := range out {
		line := fmt.Sprintf("%-10s  %s  %s", s.State, s.ID, s.Source)
		if len(s.Reasons) > 0 {
			line += ": " + strings.Join(s.Reasons, "; ")
		}
		if len(s.Flags) > 0 {
			line += " [derived, and gives orders: " + strings.Join(s.Flags, ", ") + "]"
		}
		e.say("%s", line)
	}
	return OK
}

// lifted is one line of "memory lift".
type lifted struct {
	Measure    string   `json:"measure"`
	RecallN    int      `json:"n_recall"`
	ControlN   int      `json:"n_control"`
	Recall     float64  `json:"recall"`
	Control    float64  `json:"control"`
	Difference *float64 `json:"difference"` // null: not enough data
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
}

func (e Env) lift(ctx context.Context, engine *contextengine.Engine, c memoryCall) int {
	measures, err := engine.Lift(ctx)
	if err != nil {
		return e.code(err)
	}
	if c.format == "json" {
		out := []lifted{}
		for _, m := range measures {
			l := lifted{Measure: m.Name, RecallN: m.RecallN, ControlN: m.ControlN, Recall: m.Recall, Control: m.Control}
			if m.EnoughData {
				l.Difference, l.Low, l.High = &m.Difference, &m.Low, &m.High
			}
			out = append(out, l)
		}
		return e.json(out)
	}
	if len(measures) == 0 {
		e.say("not enough data: no turn was recorded yet")
		return OK
	}
	w := tabwriter.NewWriter(e.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "MEASURE\tWITH RECALL\tCONTROL\tDIFFERENCE\t95 % INTERVAL")
	for _, m := range measures {
		difference, interval := "not enough data", fmt.Sprintf("(needs %d turns in each arm)", ledger.MinimumPerArm)
		if m.EnoughData {
			difference, interval = fmt.Sprintf("%+.2f", m.Difference), fmt.Sprintf("%+.2f to %+.2f", m.Low, m.High)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", m.Name, mean(m.Recall, m.RecallN), mean(m.Control, m.ControlN), difference, interval)
	}
	return e.code(w.Flush())
}

func mean(v float64, n int) string {
	if n == 0 {
		return "- (n 0)"
	}
	return fmt.Sprintf("%.2f (n %d)", v, n)
}
