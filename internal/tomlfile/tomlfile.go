// Package tomlfile reads TOML that a workspace brought along, and that nobody
// may have looked at. The library takes a stack frame for each bracket that is
// open and memory in the square of how deep tables nest, so that a file of some
// hundred kilobytes could end the process; here such a file is an error.
package tomlfile

import (
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// most is how deep brackets may nest, and of how many parts a dotted key may be.
// Schemas of tools, the deepest that people write, come to a dozen.
const most = 32

// Decode is toml.Decode for a text that is not trusted. It fails for what nests
// too deep, and says where.
func Decode(text string, v any) (toml.MetaData, error) {
	if err := nesting(text); err != nil {
		return toml.MetaData{}, err
	}
	return toml.Decode(text, v)
}

// Unmarshal is Decode without what the library knows beside the values.
func Unmarshal(text []byte, v any) error {
	_, err := Decode(string(text), v)
	return err
}

// nesting looks at brackets and dots outside of strings and comments. It needs
// no valid TOML: what it lets through is shallow for any reader, as a string
// that does not end swallows the rest here and is an error there.
func nesting(text string) error {
	open, dots, line := 0, 0, 1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '#':
			i = until(text, i, "\n") - 1
		case '"', '\'':
			end := quoted(text, i)
			line += strings.Count(text[i:end], "\n")
			i = end - 1
		case '[', '{':
			open++
			dots = 0
		case ']', '}':
			open = max(0, open-1)
			dots = 0
		case '.':
			dots++
		case ',', '=':
			dots = 0
		case '\n':
			line++
			dots = 0
		}
		if open > most || dots > most {
			return fmt.Errorf("line %d: nested more than %d deep", line, most)
		}
	}
	return nil
}

// quoted is where the string that begins at i ends. One of a single line ends
// with its line at the latest, as the library sees it.
func quoted(text string, i int) int {
	quote := text[i : i+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(text[i:], triple) {
		quote = triple
	}
	for j := i + len(quote); j < len(text); j++ {
		switch {
		case text[j] == '\\' && quote[0] == '"':
			j++
		case strings.HasPrefix(text[j:], quote):
			return j + len(quote)
		case text[j] == '\n' && len(quote) == 1:
			return j
		}
	}
	return len(text)
}

// until is where what next begins after i, or the end of text.
func until(text string, i int, next string) int {
	if n := strings.Index(text[i:], next); n >= 0 {
		return i + n
	}
	return len(text)
}
