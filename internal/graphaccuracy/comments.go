package main

import "strings"

// comments marks the bytes of a text that stand in comments and in strings: a name
// there is no use of anything to the graph (a flag of its queries brings them
// back), while servers follow what documentation comments mention. Template
// strings and formatted strings hold code and are not marked.
func comments(text, language string) []bool {
	out := make([]bool, len(text))
	mark := func(from, to int) {
		for i := from; i < min(to, len(out)); i++ {
			out[i] = true
		}
	}
	until := func(from int, end string) int {
		if n := strings.Index(text[min(from, len(text)):], end); n >= 0 {
			return from + n + len(end)
		}
		return len(text)
	}
	for i := 0; i < len(text); {
		rest, to := text[i:], i
		switch {
		case language == "python" && rest[0] == '#', language != "python" && strings.HasPrefix(rest, "//"):
			to = until(i, "\n")
		case language != "python" && strings.HasPrefix(rest, "/*"):
			to = until(i+2, "*/")
		case language == "python" && strings.HasPrefix(rest, `"""`):
			to = until(i+3, `"""`)
		case rest[0] == '"' || rest[0] == '\'':
			n := i + 1
			for n < len(text) && text[n] != rest[0] && text[n] != '\n' {
				if text[n] == '\\' {
					n++
				}
				n++
			}
			if language == "python" { // a type may be written in it
				i = n + 1
				continue
			}
			to = n + 1
		}
		if to > i {
			mark(i, to)
			i = to
			continue
		}
		i++
	}
	return out
}
