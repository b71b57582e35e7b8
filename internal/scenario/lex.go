package scenario

import (
	"fmt"
	"strconv"
	"strings"
)

// split cuts a command into words at spaces. A word in double quotes or
// backquotes is a Go string literal; "# " outside of them begins a comment.
func split(s string) ([]word, error) {
	var out []word
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" || strings.HasPrefix(s, "# ") {
			return out, nil
		}
		if s[0] == '"' || s[0] == '`' {
			literal, err := strconv.QuotedPrefix(s)
			if err != nil {
				return nil, fmt.Errorf("bad string literal: %s", s)
			}
			text, err := strconv.Unquote(literal)
			if err != nil {
				return nil, err
			}
			out = append(out, word{text, true})
			s = s[len(literal):]
			continue
		}
		end := strings.IndexAny(s, " \t")
		if end < 0 {
			end = len(s)
		}
		out = append(out, word{s[:end], false})
		s = s[end:]
	}
}

func texts(ws []word) []string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = w.text
	}
	return out
}

// cut splits words at unquoted separators.
func cut(ws []word, separator string) [][]word {
	out := [][]word{nil}
	for _, w := range ws {
		if !w.quoted && w.text == separator {
			out = append(out, nil)
			continue
		}
		out[len(out)-1] = append(out[len(out)-1], w)
	}
	return out
}
