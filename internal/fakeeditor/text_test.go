package fakeeditor

import (
	"math/rand/v2"
	"strings"
	"testing"
)

var alphabet = []string{"a", "b", "\n", "\r\n", "\r", "é", "漢", "😀", " ", "\t"}

func randomText(r *rand.Rand, n int) string {
	var b strings.Builder
	for range r.IntN(n + 1) {
		b.WriteString(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

// Every offset at a character boundary that is not inside a line end survives
// the way to a position and back.
func TestPositionRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := randomText(r, 30)
		for _, c := range []coords{{enc: "utf-8"}, {enc: "utf-16"}, {enc: "utf-32"}, {"utf-8", "\n"}} {
			for i := range len(text) + 1 {
				if !boundary(text, i) || (c.eol == "" && i < len(text) && i > 0 && text[i-1] == '\r' && text[i] == '\n') {
					continue
				}
				p := c.position(text, i)
				if got := c.offset(text, p); got != i {
					t.Fatalf("%+v %q: offset %d -> %+v -> %d", c, text, i, p, got)
				}
			}
		}
	}
}

func TestUTF16Widths(t *testing.T) {
	text := "x\nconst a = \"😀\";"
	for enc, want := range map[string]int{"utf-8": 15, "utf-16": 13, "utf-32": 12} {
		got := coords{enc: enc}.position(text, strings.Index(text, "\";"))
		if got != (Position{1, want}) {
			t.Errorf("%s: %+v, want character %d", enc, got, want)
		}
	}
}

func TestDifference(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		a, b := randomText(r, 12), randomText(r, 12)
		s, ok := difference(a, b)
		if !ok {
			if a != b {
				t.Fatalf("%q and %q differ", a, b)
			}
			continue
		}
		if got, err := apply(a, []splice{s}); err != nil || got != b {
			t.Fatalf("%q with %+v is %q (%v), want %q", a, s, got, err, b)
		}
	}
}

// What an editor sends must turn the server's copy into its own text: the
// changes of one notification are applied one after the other.
func TestContentChangesReplay(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, kind := range []Kind{VSCode, Neovim} {
		for range 500 {
			e := &Editor{o: Options{Kind: kind}, enc: "utf-16"}
			b := &buffer{text: unify(randomText(r, 20), "\n"), layout: layout{eol: "\n"}}
			before := b.text
			var splices []splice
			for at := 0; at < len(b.text); at++ {
				if boundary(b.text, at) && r.IntN(4) == 0 {
					splices = append(splices, splice{at, at, "ü\n"})
				}
			}
			after, err := apply(b.text, splices)
			if err != nil {
				t.Fatal(err)
			}
			mirror := before
			for _, ch := range e.contentChanges(b, splices, after) {
				c := coords{enc: "utf-16"}
				mirror = mirror[:c.offset(mirror, ch.Range.Start)] + ch.Text + mirror[c.offset(mirror, ch.Range.End):]
			}
			if mirror != after {
				t.Fatalf("%q: replay gives %q, want %q", before, mirror, after)
			}
		}
	}
}

func TestCodecs(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		kind      Kind
		text      string
		saved     string // what an untouched save writes
	}{
		{"plain", "a\nb\n", VSCode, "a\nb\n", "a\nb\n"},
		{"BOM", "\xEF\xBB\xBFa\n", VSCode, "a\n", "\xEF\xBB\xBFa\n"},
		{"BOM in Neovim", "\xEF\xBB\xBFa\n", Neovim, "a\n", "\xEF\xBB\xBFa\n"},
		{"CRLF", "a\r\nb\r\n", VSCode, "a\r\nb\r\n", "a\r\nb\r\n"},
		{"mixed, mostly LF", "a\r\nb\nc\n", VSCode, "a\nb\nc\n", "a\nb\nc\n"},
		{"mixed, mostly CRLF", "a\r\nb\r\nc\n", VSCode, "a\r\nb\r\nc\r\n", "a\r\nb\r\nc\r\n"},
		{"mixed in Neovim", "a\r\nb\nc\n", Neovim, "a\r\nb\nc\n", "a\r\nb\nc\n"},
		{"UTF-16", "\xFF\xFEa\x00=\xD8\x00\xDE\n\x00", VSCode, "a😀\n", "\xFF\xFEa\x00=\xD8\x00\xDE\n\x00"},
		{"big-endian", "\xFE\xFF\x00a\x00\n", Neovim, "a\n", "\xFE\xFF\x00a\x00\n"},
		{"Latin-1 loses in VS Code", "caf\xe9\n", VSCode, "caf\uFFFD\n", "caf\xEF\xBF\xBD\n"},
		{"Latin-1 in Neovim", "caf\xe9\n", Neovim, "café\n", "caf\xe9\n"},
		{"no final newline", "a", VSCode, "a", "a"},
		{"no final newline in Neovim", "a", Neovim, "a", "a\n"},
		{"empty", "", Neovim, "", ""},
	} {
		text, l := decode([]byte(c.raw), c.kind)
		if text != c.text {
			t.Errorf("%s: text %q, want %q", c.name, text, c.text)
		}
		if got := string(encode(text, l, c.kind.neovim())); got != c.saved {
			t.Errorf("%s: saved %q, want %q", c.name, got, c.saved)
		}
	}
}
