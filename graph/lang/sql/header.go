package sql

import (
	"bytes"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang"
)

// modifiers may stand between CREATE and the kind.
var modifiers = map[string]bool{
	"or": true, "replace": true, "alter": true, "temp": true, "temporary": true, "unique": true, "virtual": true, "global": true, "local": true,
	"unlogged": true, "external": true, "force": true, "recursive": true, "clustered": true, "nonclustered": true, "fulltext": true,
	"spatial": true, "bitmap": true, "editionable": true, "noneditionable": true, "constraint": true, "event": true, "aggregate": true, "foreign": true,
	"transient": true, "dynamic": true,
}

var headerKinds = map[string]facts.Kind{
	"table": facts.Table, "view": facts.View, "index": facts.Index, "function": facts.Function, "procedure": facts.Procedure, "proc": facts.Procedure,
	"trigger": facts.Trigger, "type": facts.Type, "domain": facts.Type, "schema": facts.Schema, "database": facts.Schema, "sequence": facts.Sequence,
}

// MatchHeader reads the first words of a statement: CREATE [OR REPLACE] [TEMP …]
// kind [IF NOT EXISTS] name. It is the fallback for statements that the grammar
// does not know; what it finds is marked as found by text. For INSERT INTO name
// it returns the table as a use (no kind).
func MatchHeader(text []byte) (lang.Header, bool) {
	w := words{text: text}
	switch w.next() {
	case "create", "alter":
	case "insert", "replace", "copy":
		if s := w.peek(); s == "into" || s == "ignore" {
			w.next()
		}
		if w.peek() == "into" {
			w.next()
		}
		start, end, owner := w.name()
		return lang.Header{NameStart: start, NameEnd: end, Owner: owner}, end > start
	default:
		return lang.Header{}, false
	}
	create := firstWord(text) == "create"
	kind := facts.KindNone
	flags := facts.Flags(0)
	for range 8 {
		s := w.next()
		if s == "materialized" {
			kind = facts.MaterializedView
			continue
		}
		if k, ok := headerKinds[s]; ok {
			if kind == facts.KindNone {
				kind = k
			}
			break
		}
		if !modifiers[s] && s != "definer" {
			return lang.Header{}, false
		}
	}
	if kind == facts.KindNone || (!create && kind != facts.Procedure && kind != facts.Function) {
		return lang.Header{}, false
	}
	for s := w.peek(); s == "concurrently" || s == "if" || s == "not" || s == "exists"; s = w.peek() {
		w.next()
	}
	start, end, owner := w.name()
	return lang.Header{Kind: kind, Flags: flags, NameStart: start, NameEnd: end, Owner: owner}, end > start
}

// words reads a statement word by word.
type words struct {
	text []byte
	at   int
}

func (w *words) skip() { w.at = skipSpace(w.text, w.at, len(w.text)) }

// next is the next word in lower case; "" when something else stands there.
func (w *words) next() string {
	w.skip()
	start := w.at
	for w.at < len(w.text) && wordByte(w.text[w.at]) {
		w.at++
	}
	return string(bytes.ToLower(w.text[start:w.at]))
}

func (w *words) peek() string {
	at := w.at
	s := w.next()
	w.at = at
	return s
}

// name reads a possibly quoted and qualified name; its last part is returned
// without quotes, with the part before it.
func (w *words) name() (start, end uint32, owner string) {
	for {
		w.skip()
		s, e, ok := w.part()
		if !ok {
			return start, end, owner
		}
		if end > start {
			owner = string(w.text[start:end])
		}
		start, end = uint32(s), uint32(e)
		if w.skip(); w.at >= len(w.text) || w.text[w.at] != '.' {
			return start, end, owner
		}
		w.at++
	}
}

func (w *words) part() (start, end int, ok bool) {
	if w.at >= len(w.text) {
		return 0, 0, false
	}
	closing := map[byte]byte{'"': '"', '`': '`', '[': ']'}[w.text[w.at]]
	if closing != 0 {
		n := bytes.IndexByte(w.text[w.at+1:], closing)
		if n <= 0 {
			return 0, 0, false
		}
		start = w.at + 1
		w.at = start + n + 1
		return start, start + n, true
	}
	start = w.at
	for w.at < len(w.text) && (wordByte(w.text[w.at]) || w.text[w.at] == '$' || w.text[w.at] == '#') {
		w.at++
	}
	return start, w.at, w.at > start
}
