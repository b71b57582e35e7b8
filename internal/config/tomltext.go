package config

import (
	"strconv"
	"strings"
)

// statement is one line-level piece of a TOML text: a table header or a key
// with its value. The TOML library checks the text; this only says where things
// stand, which that library keeps to itself.
type statement struct {
	// path is the full dotted path; elements of arrays of tables are counted: hook[1].command.
	path   string
	header bool
	// start and end are byte offsets; end is after the line's last byte, the
	// newline left out. value is where the value begins (keys only).
	start, value, end int
	line              int // from 1
}

// scanner walks a TOML text that is known to be valid.
type scanner struct {
	text  string
	pos   int
	table string
	count map[string]int // of [[x]], by path
}

// statements lists what a valid TOML text is made of; of an invalid one, what
// could be told.
func statements(text string) []statement {
	s := &scanner{text: text, count: map[string]int{}}
	var out []statement
	for s.skipBlank(); s.pos < len(s.text); s.skipBlank() {
		st := statement{start: s.pos, line: 1 + strings.Count(text[:s.pos], "\n")}
		if s.text[s.pos] == '[' {
			s.readHeader(&st)
		} else {
			s.readKey(&st)
		}
		if s.pos == st.start {
			s.pos++ // an invalid text must not stop us here
		}
		st.end = s.pos
		out = append(out, st)
	}
	return out
}

func (s *scanner) skipBlank() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		case '#':
			s.skipLine()
		default:
			return
		}
	}
}

func (s *scanner) skipLine() {
	for s.pos < len(s.text) && s.text[s.pos] != '\n' {
		s.pos++
	}
}

func (s *scanner) readHeader(st *statement) {
	s.pos++
	array := s.pos < len(s.text) && s.text[s.pos] == '['
	if array {
		s.pos++
	}
	keys := s.readPath(']')
	s.skipLine()
	// A sub-table of an array of tables belongs to its newest element.
	path := ""
	for i, k := range keys {
		path = join(path, k)
		if n := s.count[path]; n > 0 && i < len(keys)-1 {
			path += "[" + strconv.Itoa(n-1) + "]"
		}
	}
	if array {
		s.count[path]++
		path += "[" + strconv.Itoa(s.count[path]-1) + "]"
	}
	st.header, st.path, s.table = true, path, path
}

func (s *scanner) readKey(st *statement) {
	path := s.table
	for _, k := range s.readPath('=') {
		path = join(path, k)
	}
	st.path = path
	for s.pos < len(s.text) && (s.text[s.pos] == ' ' || s.text[s.pos] == '\t') {
		s.pos++
	}
	st.value = s.pos
	s.skipValue()
}

// readPath reads dotted keys up to and over the byte end.
func (s *scanner) readPath(end byte) []string {
	var keys []string
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			keys = append(keys, b.String())
			b.Reset()
		}
	}
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		switch {
		case c == end:
			s.pos++
			flush()
			return keys
		case c == '"' || c == '\'':
			from := s.pos
			s.skipString()
			b.WriteString(strings.Trim(s.text[from:s.pos], `"'`))
			continue
		case c == '.':
			flush()
		case c == '\n':
			flush()
			return keys
		case c != ' ' && c != '\t':
			b.WriteByte(c)
		}
		s.pos++
	}
	flush()
	return keys
}

// skipValue goes to the end of the line on which the value ends.
func (s *scanner) skipValue() {
	depth := 0
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case '"', '\'':
			s.skipString()
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '#':
			s.skipLine()
			continue
		case '\n':
			if depth <= 0 {
				return
			}
		}
		s.pos++
	}
}

// skipString goes over a string of any of the four kinds.
func (s *scanner) skipString() {
	q := s.text[s.pos : s.pos+1]
	if three := strings.Repeat(q, 3); strings.HasPrefix(s.text[s.pos:], three) {
		s.pos += 3
		for s.pos < len(s.text) && !strings.HasPrefix(s.text[s.pos:], three) {
			if q == `"` && s.text[s.pos] == '\\' {
				s.pos++
			}
			s.pos++
		}
		s.pos = min(s.pos+3, len(s.text))
		for s.pos < len(s.text) && s.text[s.pos:s.pos+1] == q { // up to two quotes may stand before the end
			s.pos++
		}
		return
	}
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '\\' && q == `"`:
			s.pos++
		case c == '\n':
			return
		case c == q[0]:
			s.pos++
			return
		}
	}
	s.pos = min(s.pos, len(s.text))
}

// lineOf is the line on which path is set, or the nearest table or value around
// it; 0 when nothing is known.
func lineOf(list []statement, path string) int {
	best, line := -1, 0
	for _, st := range list {
		if st.path == path && !st.header {
			return st.line
		}
		inside := path == st.path || strings.HasPrefix(path, st.path+".") || strings.HasPrefix(path, st.path+"[")
		if inside && len(st.path) > best {
			best, line = len(st.path), st.line
		}
	}
	return line
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
