package guard

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
)

func applyPatch(t *testing.T, body, patch string) (string, *misfit) {
	t.Helper()
	form := decodeTruth([]byte(body))
	spans, m := locatePatch(form, patch, nil)
	if m != nil {
		return "", m
	}
	if _, _, overlap := order(spans); overlap {
		t.Fatalf("a patch overlaps itself: %+v", spans)
	}
	return string(form.encode(splice(form.body, spans))), nil
}

func TestPatches(t *testing.T) {
	for _, c := range []struct{ name, before, patch, after string }{
		{"plain", "a\nb\nc\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"},
		{"git headers", "a\nb\nc\n", "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -2 +2,2 @@ func\n-b\n+B\n+C\n", "a\nB\nC\nc\n"},
		{"line numbers are a hint", "x\nx\nx\na\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "x\nx\nx\na\nB\nc\n"},
		{"no line numbers", "a\nb\nc\n", "@@\n a\n-b\n+B\n", "a\nB\nc\n"},
		{"name in the header only", "a\nb\nc\n", "@@ func f @@\n a\n-b\n+B\n", "a\nB\nc\n"},
		{"hint between equal places", "a\nb\na\nb\n", "@@ -3,2 +3,2 @@\n a\n-b\n+B\n", "a\nb\na\nB\n"},
		{"wrong counts", "a\nb\nc\n", "@@ -1,9 +1,9 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"},
		{"space of an empty context line lost", "a\n\nc\n", "@@ -1,3 +1,3 @@\n a\n\n-c\n+C\n", "a\n\nC\n"},
		{"trailing empty lines", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n\n\n", "a\nB\n"},
		{"empty lines between hunks", "a\nb\nc\nd\ne\nf\ng\nh\n", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\n@@ -7,2 +7,2 @@\n g\n-h\n+H\n", "A\nb\nc\nd\ne\nf\ng\nH\n"},
		{"crlf file, lf patch", "a\r\nb\r\nc\r\n", "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+D\n c\n", "a\r\nB\r\nD\r\nc\r\n"},
		{"crlf file, crlf patch", "a\r\nb\r\nc\r\n", "@@ -1,3 +1,3 @@\r\n a\r\n-b\r\n+B\r\n c\r\n", "a\r\nB\r\nc\r\n"},
		{"mixed file", "a\r\nb\nc\r\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\r\nB\nc\r\n"},
		{"mark", bom8 + "a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n", bom8 + "A\nb\n"},
		{"no newline stays", "a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n\\ No newline at end of file\n", "a\nB"},
		{"no newline stays, unsaid", "a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\nB"},
		{"newline is added when said", "a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"},
		{"newline goes when said", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", "a\nb"},
		{"lines behind a last line without newline", "a\nb", "@@ -2 +2,2 @@\n b\n+c\n", "a\nb\nc"},
		{"delete the last line", "a\nb\n", "@@ -1,2 +1 @@\n a\n-b\n", "a\n"},
		{"empty file", "", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n"},
		{"removed line that looks like a header", "x\n-- a\ny\n", "@@ -1,3 +1,2 @@\n x\n--- a\n y\n", "x\ny\n"},
		{"added line that looks like a header", "x\ny\n", "@@ -1,2 +1,3 @@\n x\n+++ b\n y\n", "x\n++ b\ny\n"},
		{"latin-1 around it", "caf\xe9\nb\n", "@@ -2 +2 @@\n-b\n+B\n", "caf\xe9\nB\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, m := applyPatch(t, c.before, c.patch)
			if m != nil {
				t.Fatalf("%s: %s", m.status, m.text)
			}
			if got != c.after {
				t.Errorf("got %q, want %q", got, c.after)
			}
		})
	}
}

func TestPatchesThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		name, before, patch string
		want                Status
		text                string
	}{
		{"context differs", "a\nb\nc\n", "@@ -1,3 +1,3 @@\n A\n-b\n+B\n c\n", StatusNoMatch, `line 1 is "a", not "A"`},
		{"removed line differs", "a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-x\n+B\n c\n", StatusNoMatch, `line 2`},
		{"white space differs", "\ta\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", StatusNoMatch, ""},
		{"several places", "a\nb\na\nb\n", "@@ -9,2 +9,2 @@\n a\n-b\n+B\n", StatusAmbiguous, "2 places (lines 1, 3)"},
		{"no context", "a\nb\n", "@@ -1,0 +2 @@\n+x\n", StatusInvalid, "no line of the file"},
		{"no hunk", "a\n", "just text\n", StatusInvalid, "no hunk"},
		{"two files", "a\n", "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n--- c\n+++ d\n@@ -1 +1 @@\n-a\n+b\n", StatusInvalid, "more than one file"},
		{"nothing changed", "a\n", "@@ -1 +1 @@\n a\n", StatusInvalid, "changes nothing"},
		{"junk inside", "a\n", "@@ -1 +1 @@\n-a\n*b\n", StatusInvalid, "neither"},
		{"hunks out of order", "a\nb\nc\nd\n", "@@ -4 +4 @@\n-d\n+D\n@@ -1 +1 @@\n-a\n+A\n", StatusNoMatch, ""},
		{"says no newline where one is", "a\nb\n", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+B\n", StatusNoMatch, ""},
		{"bad header", "a\n", "@@ -x,1 +1 @@\n-a\n+b\n", StatusInvalid, "header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, m := applyPatch(t, c.before, c.patch)
			if m == nil {
				t.Fatal("it was applied")
			}
			if m.status != c.want || !strings.Contains(m.text, c.text) || m.next == "" {
				t.Errorf("%s: %s (%s)", m.status, m.text, m.next)
			}
		})
	}
}

func TestPatchThroughApply(t *testing.T) {
	e := newEnv(t)
	e.disk("a", numbered(9))
	r := e.ok(e.apply(Change{Kind: ChangeEdit, Path: "a", Base: e.read("a"), Patch: "@@ -3 +3,2 @@\n-line 3\n+drei\n+und\n"}))
	if *r.ChangedLines != [2]int{3, 4} {
		t.Errorf("changed lines %v", *r.ChangedLines)
	}
	e.wantDisk("a", strings.Replace(numbered(9), "line 3", "drei\nund", 1))
}

// A unified difference made by the library brings one text to the other, byte
// for byte, whatever the line ends.
func FuzzPatchOfDiff(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc\n", false)
	f.Add("a\nb", "a\nb\n", false)
	f.Add("", "a\n", false)
	f.Add("a\n\n\nb\n-- x\n", "++ y\n\nb\n", false)
	f.Add("a\nb\nc\nd\n", "a\nc\nd\ne\n", true)
	f.Fuzz(func(t *testing.T, before, after string, crlf bool) {
		if strings.Contains(before+after, "\r") || strings.HasPrefix(before, "\xFF\xFE") || strings.HasPrefix(before, "\xFE\xFF") {
			t.Skip()
		}
		if strings.HasPrefix(before, bom8) || strings.HasPrefix(after, bom8) || before == after {
			t.Skip()
		}
		patch := udiff.Unified("a", "b", before, after)
		if strings.Contains(patch, "@@ -0,0") && before != "" || len(patch) > 1<<20 {
			t.Skip()
		}
		want := after
		if crlf {
			before, want = strings.ReplaceAll(before, "\n", "\r\n"), strings.ReplaceAll(after, "\n", "\r\n")
		}
		got, m := applyPatch(t, before, patch)
		if m != nil {
			if m.status == StatusDenied || m.status == StatusAmbiguous {
				t.Skip() // bytes that are not UTF-8
			}
			t.Fatalf("%s: %s\n%s", m.status, m.text, patch)
		}
		if got != want && !(crlf && !strings.Contains(before, "\n")) { // one line says nothing about line ends
			t.Fatalf("got %q, want %q\n%q", got, want, patch)
		}
	})
}

// No patch makes the parser or the applier fall over, and what is applied
// changes lines of its hunks only.
func FuzzPatch(f *testing.F) {
	f.Add("a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n")
	f.Add("a\r\nb", "--- a\n+++ b\n@@ -1 +1,2 @@ x\n a\n+y\n\\ No newline at end of file\n@@\n-b\n")
	f.Add("", "@@ -0,0 +1 @@\n+a\n")
	f.Add("a\n", "@@@@\n-a\n@@\n")
	f.Fuzz(func(t *testing.T, body, patch string) {
		form := decodeTruth([]byte(body))
		if form.lossy != "" {
			t.Skip()
		}
		spans, m := locatePatch(form, patch, nil)
		if m != nil {
			if m.text == "" || m.next == "" {
				t.Fatal("a misfit without words")
			}
			return
		}
		if _, _, overlap := order(spans); overlap {
			t.Fatalf("overlap: %+v", spans)
		}
		out := splice(form.body, spans)
		checkSpans(t, form.body, out, spans)
	})
}

func FuzzEdits(f *testing.F) {
	f.Add("a\r\nb\nc\n", "a\nb", "x\ny\nz", false)
	f.Add("aaa\n", "a", "b", true)
	f.Add("\r\n\r\n", "\n", "", true)
	f.Fuzz(func(t *testing.T, body, old, text string, all bool) {
		form := decodeTruth([]byte(body))
		spans, m := locateEdits(form, []Replacement{{Old: old, New: text, All: all}}, nil)
		if m != nil {
			return
		}
		order(spans)
		out := splice(form.body, spans)
		checkSpans(t, form.body, out, spans)
		if form.order == nil && !strings.HasPrefix(string(form.encode(out)), form.bom) {
			t.Fatal("the mark is gone")
		}
	})
}

// checkSpans compares everything that is derived from replacements with a
// plain computation.
func checkSpans(t *testing.T, body, out string, spans []located) {
	t.Helper()
	small := make([]located, len(spans))
	for i, l := range spans {
		small[i] = minimal(body, l)
		for _, at := range []int{small[i].start, small[i].end} {
			if !boundary(body, at) {
				t.Fatalf("a cut within a character or a line end: %+v of %q", small[i], body)
			}
		}
	}
	if _, _, overlap := order(small); !overlap {
		if got := splice(body, small); got != out {
			t.Fatalf("minimal: %q, want %q", got, out)
		}
	}
	hunks, wrote := spanHunks(body, spans)
	oldLines, newLines := lines(body), lines(out)
	at, shift := 0, 0
	for i, h := range hunks {
		if h.old < at || h.new != h.old+shift || len(wrote[i]) != h.newN {
			t.Fatalf("hunk %+v after line %d, shift %d", h, at, shift)
		}
		for ; at < h.old; at++ {
			if oldLines[at] != newLines[at+shift] {
				t.Fatalf("line %d is %q, was %q", at+shift+1, newLines[at+shift], oldLines[at])
			}
		}
		at = h.old + h.oldN
		shift += h.newN - h.oldN
	}
	if len(newLines) != len(oldLines)+shift {
		t.Fatalf("%d lines became %d, shift %d (%q, %q)", len(oldLines), len(newLines), shift, body, out)
	}
	for ; at < len(oldLines); at++ {
		if oldLines[at] != newLines[at+shift] {
			t.Fatalf("line %d is %q, was %q", at+shift+1, newLines[at+shift], oldLines[at])
		}
	}
}

func lines(s string) []string {
	l := strings.SplitAfter(s, "\n")
	if l[len(l)-1] == "" {
		l = l[:len(l)-1]
	}
	return l
}

// Coverage through random edits is never wider than a line-by-line oracle says.
func TestCoverageAgainstOracle(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		n := rnd.IntN(12)
		var old []string
		for range n {
			old = append(old, string(rune('a'+rnd.IntN(4)))+"\n")
		}
		before := strings.Join(old, "")
		after := []string{}
		for _, l := range old {
			switch rnd.IntN(6) {
			case 0:
			case 1:
				after = append(after, l, string(rune('p'+rnd.IntN(4)))+"\n")
			case 2:
				after = append(after, string(rune('p'+rnd.IntN(4)))+"\n")
			default:
				after = append(after, l)
			}
		}
		now := strings.Join(after, "")
		var seen ranges
		for l := 1; l <= n; l++ {
			if rnd.IntN(2) == 0 {
				seen = seen.add(l, l)
			}
		}
		mapped := seen.through(lineHunks(before, now), n, nil)
		// Each line counted as seen must be equal to a seen line, in order.
		next := 1
		for l := 1; l <= len(after); l++ {
			if !mapped.covers(l, l) {
				continue
			}
			for next <= n && !(seen.covers(next, next) && old[next-1] == after[l-1]) {
				next++
			}
			if next > n {
				t.Fatalf("before %q seen %v, after %q mapped %v", before, seen, now, mapped)
			}
			next++
		}
	}
}
