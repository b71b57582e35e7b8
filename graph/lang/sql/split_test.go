package sql

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/graph/facts"
)

func parts(text string) []string {
	var out []string
	for _, s := range Split([]byte(text)) {
		out = append(out, text[s.Start:s.End])
	}
	return out
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"strings and comments", "a ';' \"x;\" -- ;\n /* ; /* ; */ ; */ b; c", []string{"a ';' \"x;\" -- ;\n /* ; /* ; */ ; */ b", "c"}},
		{"doubled quote", "a 'it''s; here'; b", []string{"a 'it''s; here'", "b"}},
		{"escape string", `a E'\';' ; b`, []string{`a E'\';'`, "b"}},
		{"dollar quotes", "f AS $$ a; $x$ b; $$ ; g AS $a$ $$ ; $a$; h", []string{"f AS $$ a; $x$ b; $$", "g AS $a$ $$ ; $a$", "h"}},
		{"parameter is no quote", "a $1; b $2", []string{"a $1", "b $2"}},
		{"copy data", "COPY t FROM stdin;\n1\t;x\n\\.\nb;", []string{"COPY t FROM stdin", "b"}},
		{"delimiter", "DELIMITER //\nCREATE p BEGIN a; b; END//\nDELIMITER ;\nc;", []string{"CREATE p BEGIN a; b; END", "c"}},
		{"go lines", "a\nGO\nb\ngo  \nc goes", []string{"a", "b", "c goes"}},
		{"not closed", "a 'x; b", []string{"a 'x; b"}},
		{"crlf", "a;\r\nb;\r\n", []string{"a", "b"}},
		{"comment before", "-- about a\na; /* b */", []string{"a"}},
	} {
		if got := parts(c.text); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestHeader(t *testing.T) {
	for _, c := range []struct {
		text, name, owner string
		kind              facts.Kind
	}{
		{"CREATE TABLE t (a int)", "t", "", facts.Table},
		{"create or replace temp view IF NOT EXISTS app.\"My View\" as", "My View", "app", facts.View},
		{"CREATE VIRTUAL TABLE docs USING fts5(x)", "docs", "", facts.Table},
		{"CREATE UNIQUE CLUSTERED INDEX [ix one] ON t", "ix one", "", facts.Index},
		{"CREATE PROCEDURE [dbo].[Do It] AS", "Do It", "dbo", facts.Procedure},
		{"CREATE MATERIALIZED VIEW CONCURRENTLY `m`", "m", "", facts.MaterializedView},
		{"ALTER PROC p AS", "p", "", facts.Procedure},
		{"INSERT INTO app.t VALUES", "t", "app", facts.KindNone},
	} {
		h, ok := MatchHeader([]byte(c.text))
		if !ok || c.text[h.NameStart:h.NameEnd] != c.name || h.Kind != c.kind || h.Owner != c.owner {
			t.Errorf("%s: %v %+v", c.text, ok, h)
		}
	}
	for _, text := range []string{"", "SELECT 1", "CREATE", "CREATE TABLE", "CREATE ROLE x", "ALTER TABLE t ADD c int", "CREATE TABLE \"x"} {
		if h, ok := MatchHeader([]byte(text)); ok {
			t.Errorf("%q: %+v", text, h)
		}
	}
}

func TestPrepareKeepsPlaces(t *testing.T) {
	got := string(prepare([]byte("CREATE TABLE `a b` ([c d] int[3], x int, y text DEFAULT '`[z]`', z[1], [1])")))
	want := "CREATE TABLE \"a b\" (\"c d\" int[3], x int, y text DEFAULT '`[z]`', z[1], [1])"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"a;b", "$$;$$", "DELIMITER //\na//", "COPY t FROM stdin;\n\\.\n", "'", "[a]`b`", "\nGO\n", "/*/**/", "$a$", "E'\\'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at := uint32(0)
		for _, x := range Split([]byte(s)) {
			if x.Start < at || x.End <= x.Start || x.End > uint32(len(s)) {
				t.Fatalf("segment %+v after %d in %q", x, at, s)
			}
			at = x.End
			part := s[x.Start:x.End]
			if h, ok := MatchHeader([]byte(part)); ok && (h.NameEnd <= h.NameStart || int(h.NameEnd) > len(part)) {
				t.Fatalf("header %+v of %q", h, part)
			}
		}
		p := prepare([]byte(s))
		if len(p) != len(s) || strings.Count(string(p), "\n") != strings.Count(s, "\n") {
			t.Fatalf("prepare %q -> %q", s, p)
		}
	})
}
