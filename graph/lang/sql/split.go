package sql

import (
	"bytes"

	"github.com/stella-ls/stella-ls/graph/lang"
)

// maxParsed bounds a statement that is parsed, in bytes; a longer one is data,
// of which only the header is read.
const maxParsed = 1 << 20

// prepare turns the quotes of MySQL and T-SQL into those that the grammar knows.
// Every byte keeps its place.
func prepare(text []byte) []byte {
	if bytes.IndexByte(text, '`') < 0 && bytes.IndexByte(text, '[') < 0 {
		return text
	}
	out := append([]byte(nil), text...)
	for i := 0; i < len(out); {
		if end := skipQuoted(out, i); end > i {
			if out[i] == '`' && end-i >= 2 && out[end-1] == '`' {
				out[i], out[end-1] = '"', '"'
			}
			i = end
			continue
		}
		if end := bracketName(out, i); end > i {
			out[i], out[end-1] = '"', '"'
			i = end
			continue
		}
		i++
	}
	return out
}

// bracketName is the end of a [name] at i, or i. An array's bounds or an index
// after an expression is none.
func bracketName(text []byte, i int) int {
	if text[i] != '[' || i+2 >= len(text) || !(wordByte(text[i+1]) && (text[i+1] < '0' || text[i+1] > '9')) {
		return i
	}
	if i > 0 && (wordByte(text[i-1]) || text[i-1] == ']' || text[i-1] == ')' || text[i-1] == '"') {
		return i
	}
	for j := i + 1; j < len(text); j++ {
		switch c := text[j]; {
		case c == ']':
			return j + 1
		case !wordByte(c) && c != ' ' && c != '$' && c != '-' && c != '.':
			return i
		}
	}
	return i
}

func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func space(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}

// skipQuoted returns the end of the string, quoted name, comment or dollar
// quoted text that starts at i, or i. What is not closed ends with the text.
func skipQuoted(text []byte, i int) int {
	switch c := text[i]; {
	case c == '\'' || c == '"' || c == '`':
		return quoted(text, i, c)
	case c == '-' && i+1 < len(text) && text[i+1] == '-':
		return lineEnd(text, i)
	case c == '/' && i+1 < len(text) && text[i+1] == '*':
		return blockComment(text, i)
	case c == '$' && (i == 0 || !wordByte(text[i-1])):
		return dollarQuoted(text, i)
	}
	return i
}

// quoted handles doubled quotes, and backslashes in E” strings (and in plain
// ones where a backslash stands before the closing quote, as MySQL writes).
func quoted(text []byte, i int, q byte) int {
	escapes := q == '\'' && i > 0 && (text[i-1] == 'E' || text[i-1] == 'e')
	for j := i + 1; j < len(text); j++ {
		switch {
		case text[j] == '\\' && escapes:
			j++
		case text[j] == q:
			if j+1 < len(text) && text[j+1] == q {
				j++
				continue
			}
			return j + 1
		}
	}
	return len(text)
}

func lineEnd(text []byte, i int) int {
	if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(text)
}

// blockComment nests, as in PostgreSQL.
func blockComment(text []byte, i int) int {
	depth := 0
	for j := i; j+1 < len(text); j++ {
		switch {
		case text[j] == '/' && text[j+1] == '*':
			depth++
			j++
		case text[j] == '*' && text[j+1] == '/':
			depth--
			j++
			if depth == 0 {
				return j + 1
			}
		}
	}
	return len(text)
}

// dollarQuoted ends at the same tag that it began with.
func dollarQuoted(text []byte, i int) int {
	j := i + 1
	for j < len(text) && wordByte(text[j]) && (j > i+1 || text[j] < '0' || text[j] > '9') {
		j++
	}
	if j >= len(text) || text[j] != '$' {
		return i
	}
	tag := text[i : j+1]
	if n := bytes.Index(text[j+1:], tag); n >= 0 {
		return j + 1 + n + len(tag)
	}
	return len(text)
}

// Split cuts a text into statements: at semicolons outside of strings, comments
// and dollar quotes, at another delimiter where MySQL's DELIMITER sets one, and
// at T-SQL's GO lines. The data of COPY … FROM stdin is left out.
func Split(text []byte) []lang.Segment {
	s := splitter{text: text, delimiter: []byte(";")}
	s.run()
	return s.out
}

type splitter struct {
	text      []byte
	delimiter []byte
	start     int
	out       []lang.Segment
}

func (s *splitter) run() {
	for i := 0; i < len(s.text); {
		switch c := s.text[i]; {
		case s.lineStart(i) && (c == 'D' || c == 'd') && hasWord(s.text[i:], "delimiter"):
			i = s.setDelimiter(i)
			continue
		case s.lineStart(i) && (c == 'G' || c == 'g') && hasWord(s.text[i:], "go") && blankLine(s.text[i+2:]):
			s.cut(i)
			i = lineEnd(s.text, i)
			s.start = i
			continue
		case bytes.HasPrefix(s.text[i:], s.delimiter):
			i = s.end(i)
			continue
		}
		if end := skipQuoted(s.text, i); end > i {
			i = end
			continue
		}
		i++
	}
	s.cut(len(s.text))
}

// end closes the statement at a delimiter and skips the data of a COPY.
func (s *splitter) end(i int) int {
	statement := s.text[s.start:i]
	s.cut(i)
	i += len(s.delimiter)
	if isCopyFromStdin(statement) {
		if n := bytes.Index(s.text[i:], []byte("\n\\.")); n >= 0 {
			i += n + 3
		} else {
			i = len(s.text)
		}
	}
	s.start = i
	return i
}

func (s *splitter) setDelimiter(i int) int {
	s.cut(i)
	end := lineEnd(s.text, i)
	if f := bytes.Fields(s.text[i:end]); len(f) >= 2 {
		s.delimiter = f[1]
	}
	s.start = end
	return end
}

// cut ends the statement before i.
func (s *splitter) cut(i int) {
	from, to := skipSpace(s.text, s.start, i), i
	for to > from && space(s.text[to-1]) {
		to--
	}
	if from >= to {
		return
	}
	s.out = append(s.out, lang.Segment{Start: uint32(from), End: uint32(to), Parse: to-from <= maxParsed && worthParsing(s.text[from:to])})
}

// skipSpace skips white space and comments.
func skipSpace(text []byte, i, end int) int {
	for i < end {
		switch c := text[i]; {
		case space(c):
			i++
		case c == '-' || c == '/':
			n := skipQuoted(text, i)
			if n == i {
				return i
			}
			i = n
		default:
			return i
		}
	}
	return min(i, end)
}

// worthParsing leaves out rows of data, and what holds no names.
func worthParsing(statement []byte) bool {
	switch w := firstWord(statement); w {
	case "insert", "copy", "replace":
		return len(statement) <= 400 || bytes.Contains(bytes.ToLower(statement[:min(len(statement), 4000)]), []byte("select"))
	case "set", "begin", "commit", "rollback", "use", "pragma", "print", "go", "start", "savepoint", "vacuum", "lock", "unlock", "exit", "quit":
		return false
	default:
		return w != ""
	}
}

func firstWord(text []byte) string {
	n := 0
	for n < len(text) && n < 24 && wordByte(text[n]) {
		n++
	}
	return string(bytes.ToLower(text[:n]))
}

func (s *splitter) lineStart(i int) bool { return i == 0 || s.text[i-1] == '\n' }

// hasWord reports whether text starts with a word, in any case.
func hasWord(text []byte, word string) bool {
	return len(text) >= len(word) && bytes.EqualFold(text[:len(word)], []byte(word)) && (len(text) == len(word) || !wordByte(text[len(word)]))
}

func blankLine(text []byte) bool { return len(bytes.TrimSpace(text[:lineEnd(text, 0)])) == 0 }

func isCopyFromStdin(statement []byte) bool {
	t := bytes.TrimSpace(statement)
	t = t[skipSpace(t, 0, len(t)):]
	return hasWord(t, "copy") && bytes.Contains(bytes.ToLower(t), []byte("from stdin"))
}
