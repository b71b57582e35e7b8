package text

import "strings"

// stem cuts English endings so that the forms of one word meet. It is lighter
// than Porter's: what matters is that both sides get the same result.
func stem(w string) string {
	if len(w) <= 3 || !isASCII(w) || hasDigit(w) {
		return w
	}
	w = stemPlural(w)
	w = stemVerb(w)
	return stemNoun(w)
}

func stemPlural(w string) string {
	switch {
	case strings.HasSuffix(w, "sses"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "zes") && len(w) > 5:
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case strings.HasSuffix(w, "s"):
		return w[:len(w)-1]
	}
	return w
}

func stemVerb(w string) string {
	for _, end := range []string{"ing", "ed"} {
		base, ok := strings.CutSuffix(w, end)
		if !ok || len(base) < 3 || !hasVowel(base) {
			continue
		}
		if n := len(base); base[n-1] == base[n-2] && !strings.ContainsRune("lsz", rune(base[n-1])) {
			base = base[:n-1] // stopping, planned
		}
		if end == "ed" && strings.HasSuffix(base, "i") {
			base = base[:len(base)-1] + "y" // retried
		}
		return base
	}
	return w
}

// nounEndings, longest first; each keeps a base of at least three letters.
var nounEndings = []struct{ end, with string }{
	{"ization", "iz"}, {"isation", "iz"}, {"ations", "at"}, {"ation", "at"}, {"ators", "at"}, {"ator", "at"},
	{"ise", "iz"}, {"ize", "iz"}, {"izer", "iz"}, {"is", "iz"}, {"ment", ""}, {"ness", ""},
	{"tion", "t"}, {"sion", "s"}, {"ally", ""}, {"ly", ""}, {"ers", ""}, {"er", ""}, {"or", ""}, {"e", ""},
}

func stemNoun(w string) string {
	for _, n := range nounEndings {
		if base, ok := strings.CutSuffix(w, n.end); ok && len(base) >= 3 {
			w = base + n.with
			break
		}
	}
	switch {
	case strings.HasSuffix(w, "ll") && len(w) > 4:
		w = w[:len(w)-1] // controlled, control
	case strings.HasSuffix(w, "y"):
		w = w[:len(w)-1] + "i" // cookies, cookie
	}
	return w
}

func hasVowel(s string) bool { return strings.ContainsAny(s, "aeiouy") }

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }
