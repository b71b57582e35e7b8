package workspace

import (
	"math/rand"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// model is an independent client: a text as an array of characters in the
// client's encoding, and lines found by scanning it.
type model struct {
	units []uint32
	enc   Encoding
	lines Lines
}

func unitsOf(s string, e Encoding) (u []uint32) {
	switch e {
	case UTF8:
		for i := range len(s) {
			u = append(u, uint32(s[i]))
		}
	case UTF16:
		for _, c := range utf16.Encode([]rune(s)) {
			u = append(u, uint32(c))
		}
	default:
		for _, r := range s {
			u = append(u, uint32(r))
		}
	}
	return u
}

func (m model) text() string {
	switch m.enc {
	case UTF8:
		b := make([]byte, len(m.units))
		for i, u := range m.units {
			b[i] = byte(u)
		}
		return string(b)
	case UTF16:
		c := make([]uint16, len(m.units))
		for i, u := range m.units {
			c[i] = uint16(u)
		}
		return string(utf16.Decode(c))
	}
	r := make([]rune, len(m.units))
	for i, u := range m.units {
		r[i] = rune(u)
	}
	return string(r)
}

// boundary reports whether a caret can stand before unit i.
func (m model) boundary(i int) bool {
	if i == 0 || i == len(m.units) {
		return true
	}
	if m.lines == SpecLines && m.units[i-1] == '\r' && m.units[i] == '\n' {
		return false
	}
	switch m.enc {
	case UTF8:
		return m.units[i]&0xC0 != 0x80
	case UTF16:
		return m.units[i] < 0xDC00 || m.units[i] > 0xDFFF
	}
	return true
}

func (m model) position(at int) (p Position) {
	mac := m.lines == NewlineLines && !strings.Contains(m.text(), "\n")
	for i := 0; i < at; i++ {
		p.Character++
		u := m.units[i]
		switch {
		case m.lines == SpecLines && u == '\r' && i+1 < len(m.units) && m.units[i+1] == '\n':
			continue
		case u == '\n', u == '\r' && (m.lines == SpecLines || mac):
			p.Line++
			p.Character = 0
		}
	}
	return p
}

var pieces = []string{"a", "bc", "é", "e\u0301", "😀", "𝒳", "\n", "\r\n", "\r", "\t", "日本", "\u2028", "x = 1\n", ""}

func randomText(r *rand.Rand, n int) string {
	var b strings.Builder
	for range r.Intn(n + 1) {
		b.WriteString(pieces[r.Intn(len(pieces))])
	}
	return b.String()
}

// series applies one random series of notifications to a Workspace and to the model.
func series(t *testing.T, seed int64) {
	r := rand.New(rand.NewSource(seed))
	enc := []Encoding{UTF8, UTF16, UTF32}[r.Intn(3)]
	lines := []Lines{SpecLines, NewlineLines}[r.Intn(2)]
	w := New(Options{})
	w.SetEncoding(enc)
	w.SetLines(lines)
	text := randomText(r, 20)
	m := model{unitsOf(text, enc), enc, lines}
	const uri = "untitled:x"
	if err := w.DidOpen(uri, "", 1, text); err != nil {
		t.Fatal(err)
	}
	version := int32(1)
	for range 8 {
		var changes []ContentChange
		for range 1 + r.Intn(3) {
			ins := randomText(r, 4)
			if r.Intn(12) == 0 {
				changes = append(changes, ContentChange{Text: ins})
				m.units = unitsOf(ins, enc)
				continue
			}
			from, to := r.Intn(len(m.units)+1), r.Intn(len(m.units)+1)
			if from > to {
				from, to = to, from
			}
			for !m.boundary(from) {
				from--
			}
			for !m.boundary(to) {
				to++
			}
			rng := Range{m.position(from), m.position(to)}
			changes = append(changes, ContentChange{Range: &rng, Text: ins})
			m.units = append(append(append([]uint32{}, m.units[:from]...), unitsOf(ins, enc)...), m.units[to:]...)
		}
		version += 1 + int32(r.Intn(5))
		if err := w.DidChange(uri, version, changes); err != nil {
			t.Fatalf("seed %d (%s, %d): %v\n%+v", seed, enc, lines, err, changes)
		}
		b, _ := w.Document(uri)
		if b.Text != m.text() || b.Digest != DigestOfString(m.text()) {
			t.Fatalf("seed %d (%s, lines %d): after %+v\n got %q\nwant %q", seed, enc, lines, changes, b.Text, m.text())
		}
		at := r.Intn(len(m.units) + 1)
		for !m.boundary(at) {
			at--
		}
		off := len(model{m.units[:at], enc, lines}.text())
		if got := PositionIn(b.Text, off, enc, lines); got != m.position(at) {
			t.Fatalf("seed %d: PositionIn(%q, %d) = %v, want %v", seed, b.Text, off, got, m.position(at))
		}
	}
}

// The mirror equals an independent whole-text client over random series of
// incremental changes: every encoding, CRLF, lone CR, surrogate pairs, several
// changes and whole texts in one notification.
func TestIncrementalSyncAgainstModel(t *testing.T) {
	n := 20_000
	if s := os.Getenv("STELLA_SYNC_SERIES"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	for seed := range n {
		series(t, int64(seed))
	}
}

func FuzzIncrementalSync(f *testing.F) {
	f.Add(int64(1))
	f.Fuzz(func(t *testing.T, seed int64) { series(t, seed) })
}

// Any position at all neither panics nor cuts a character.
func FuzzAnyPosition(f *testing.F) {
	f.Add("const a = \"😀\";\r\nx\ry", uint32(0), uint32(12), uint32(1_000_000), uint32(1_000_000), 1)
	f.Fuzz(func(t *testing.T, text string, l1, c1, l2, c2 uint32, e int) {
		if !utf8.ValidString(text) {
			t.Skip()
		}
		enc := []Encoding{UTF8, UTF16, UTF32}[(e%3+3)%3]
		for _, lines := range []Lines{SpecLines, NewlineLines} {
			rng := Range{Position{l1 % 50, c1}, Position{l2 % 50, c2}}
			got, _ := applyChange(text, ContentChange{Range: &rng, Text: "é"}, enc, lines)
			if !utf8.ValidString(got) {
				t.Fatalf("%q %v %s: a character was cut: %q", text, rng, enc, got)
			}
			for off := 0; off <= len(text); off++ {
				p := PositionIn(text, off, enc, lines)
				if back := OffsetIn(text, p, enc, lines); back > off {
					t.Fatalf("%q: offset %d -> %v -> %d", text, off, p, back)
				}
			}
		}
	})
}

func TestOffsetClamps(t *testing.T) {
	text := "ab\r\n😀c\rlast"
	for _, c := range []struct {
		pos  Position
		enc  Encoding
		want int
		fit  fit
	}{
		{Position{0, 99}, UTF16, 2, clamped}, // E12
		{Position{1, 1}, UTF16, 4, misfit},   // inside the pair
		{Position{1, 2}, UTF16, 8, fits},
		{Position{1, 1}, UTF32, 8, fits},
		{Position{1, 4}, UTF8, 8, fits},
		{Position{1, 2}, UTF8, 4, misfit},
		{Position{2, 0}, UTF16, 10, fits}, // a lone CR ends a line
		{Position{3, 0}, UTF16, len(text), clamped},
		{Position{3, 1}, UTF16, len(text), misfit},
		{Position{1_000_000, 0}, UTF16, len(text), misfit},
	} {
		if got, f := offsetAt(text, c.pos, c.enc, SpecLines); got != c.want || f != c.fit {
			t.Errorf("offsetAt(%v, %s) = %d, %d, want %d, %d", c.pos, c.enc, got, f, c.want, c.fit)
		}
	}
}
