package files

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Document is a text with an optional head of "key: value" lines between two
// lines of "---".
type Document struct {
	// Head is the lines between the marks, as written; HasHead tells an empty
	// head from none.
	Head    string
	HasHead bool
	Body    string
	// Problems are lines of the head that were not understood.
	Problems []string
	// Unclosed is a head that begins and does not end; all of it is Body.
	Unclosed bool

	keys   []string
	values map[string][]string
}

// Get is the value of a key, "" when it is not there; of a list its first item.
func (d Document) Get(key string) string {
	if v := d.values[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// List is all values of a key.
func (d Document) List(key string) []string { return d.values[key] }

// Unknown are the keys that are not among known.
func (d Document) Unknown(known ...string) (out []string) {
	for _, k := range d.keys {
		if !slices.Contains(known, k) {
			out = append(out, k)
		}
	}
	return out
}

// ParseDocument splits text and reads its head. It never fails: a head that is
// not closed is body, and says so in Problems. Nothing of the text is lost:
// String gives it back byte for byte.
func ParseDocument(text string) Document {
	d := Document{Body: text, values: map[string][]string{}}
	rest, ok := cutLine(strings.TrimPrefix(text, "\uFEFF"), "---")
	if !ok {
		return d
	}
	head, body, closed := cutAtMark(rest)
	if !closed {
		d.Unclosed = true
		d.Problems = append(d.Problems, `the head begins with "---" and is not closed by a second one`)
		return d
	}
	d.HasHead, d.Head, d.Body = true, head, body
	d.readHead()
	return d
}

func cutLine(s, line string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(s, line)
	if !ok {
		return s, false
	}
	rest = strings.TrimLeft(rest, " \t")
	rest = strings.TrimPrefix(rest, "\r")
	return strings.CutPrefix(rest, "\n")
}

func cutAtMark(s string) (head, body string, ok bool) {
	for at := 0; at < len(s); {
		end := strings.IndexByte(s[at:], '\n')
		next := len(s)
		line := s[at:]
		if end >= 0 {
			next = at + end + 1
			line = s[at : next-1]
		}
		if strings.TrimRight(line, " \t\r") == "---" {
			return s[:at], s[next:], true
		}
		at = next
	}
	return "", "", false
}

// String is the text of the document.
func (d Document) String() string {
	if !d.HasHead {
		return d.Body
	}
	return "---\n" + d.Head + "---\n" + d.Body
}

// Set gives key one value, in place when the key is there, and leaves every
// other line as it is.
func (d *Document) Set(key, value string) {
	line := key + ": " + quoteScalar(value) + "\n"
	if !d.HasHead {
		d.HasHead, d.Head = true, line
	} else {
		lines := strings.SplitAfter(d.Head, "\n")
		out, done, dropping := "", false, false
		for _, l := range lines {
			k, _, isKey := splitKey(l)
			if isKey {
				dropping = k == key
				if dropping && !done {
					out, done = out+line, true
				}
			}
			if !dropping {
				out += l
			}
		}
		if !done {
			if out != "" && !strings.HasSuffix(out, "\n") {
				out += "\n"
			}
			out += line
		}
		d.Head = out
	}
	d.keys, d.values, d.Problems = nil, map[string][]string{}, nil
	d.readHead()
}

// splitKey reads "key: value" at the start of a line.
func splitKey(line string) (key, value string, ok bool) {
	line = strings.TrimRight(line, " \t\r\n")
	key, value, ok = strings.Cut(line, ":")
	if !ok || key == "" || value != "" && value[0] != ' ' && value[0] != '\t' {
		return "", "", false
	}
	for i := 0; i < len(key); i++ {
		c := key[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || i > 0 && (c == '-' || c >= '0' && c <= '9')) {
			return "", "", false
		}
	}
	return key, strings.TrimSpace(value), true
}

func (d *Document) readHead() {
	lines := strings.Split(strings.TrimSuffix(d.Head, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \t\r")
		if line == "" || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		key, value, ok := splitKey(line)
		if !ok {
			d.problem(i, "is not \"key: value\"")
			continue
		}
		block, used := indented(lines[i+1:])
		var values []string
		switch {
		case strings.HasPrefix(value, "|"), strings.HasPrefix(value, ">"):
			values = []string{blockText(block, value[0] == '>')}
			i += used
		case value == "" && used > 0:
			values, ok = blockList(block)
			if !ok {
				d.problem(i, "holds a nested value, which is not understood")
			}
			i += used
		default:
			values, ok = readValue(value)
			if !ok {
				d.problem(i, "has an unclosed quote or bracket")
			}
		}
		if _, twice := d.values[key]; twice {
			d.problem(i, "repeats the key "+key)
			continue
		}
		d.keys = append(d.keys, key)
		d.values[key] = values
	}
}

func (d *Document) problem(line int, what string) {
	if len(d.Problems) < 20 {
		d.Problems = append(d.Problems, fmt.Sprintf("line %d of the head %s", line+2, what))
	}
}

// indented are the following lines that belong to a key: indented ones, list
// items, and blank lines between them.
func indented(lines []string) (block []string, used int) {
	for i, l := range lines {
		trimmed := strings.TrimRight(l, " \t\r")
		switch {
		case trimmed == "":
			continue
		case trimmed[0] == ' ', trimmed[0] == '\t', strings.HasPrefix(trimmed, "- "), trimmed == "-":
			used = i + 1
		default:
			return lines[:used], used
		}
	}
	return lines[:used], used
}

func blockText(block []string, folded bool) string {
	indent := -1
	for _, l := range block {
		if t := strings.TrimLeft(l, " \t"); strings.TrimSpace(t) != "" {
			if n := len(l) - len(t); indent < 0 || n < indent {
				indent = n
			}
		}
	}
	var out []string
	for _, l := range block {
		if len(l) >= indent && indent >= 0 {
			l = l[indent:]
		}
		out = append(out, strings.TrimRight(l, " \t\r"))
	}
	sep := "\n"
	if folded {
		sep = " "
	}
	return strings.TrimSpace(strings.Join(out, sep))
}

func blockList(block []string) (values []string, ok bool) {
	ok = true
	for _, l := range block {
		l = strings.TrimSpace(l)
		if l == "" {
			continue
		}
		item, isItem := strings.CutPrefix(l, "-")
		if !isItem {
			ok = false
			continue
		}
		v, good := readScalar(strings.TrimSpace(item))
		values, ok = append(values, v), ok && good
	}
	return values, ok
}

func readValue(v string) (values []string, ok bool) {
	inner, isList := strings.CutPrefix(v, "[")
	if !isList {
		s, ok := readScalar(v)
		return []string{s}, ok
	}
	inner, ok = strings.CutSuffix(stripComment(inner), "]")
	if !ok {
		return []string{v}, false
	}
	for _, item := range splitList(inner) {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		s, good := readScalar(item)
		values, ok = append(values, s), ok && good
	}
	return values, ok
}

// splitList splits at commas outside quotes.
func splitList(s string) (out []string) {
	start, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ',':
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}

func readScalar(v string) (string, bool) {
	switch {
	case strings.HasPrefix(v, `"`):
		quoted, err := strconv.QuotedPrefix(v)
		if err != nil {
			return v, false
		}
		s, err := strconv.Unquote(quoted)
		return s, err == nil
	case strings.HasPrefix(v, "'"):
		for i := 1; i < len(v); i++ {
			if v[i] != '\'' {
				continue
			}
			if i+1 < len(v) && v[i+1] == '\'' {
				i++
				continue
			}
			return strings.ReplaceAll(v[1:i], "''", "'"), true
		}
		return v, false
	}
	return stripComment(v), true
}

func stripComment(v string) string {
	if i := strings.Index(v, " #"); i >= 0 {
		v = v[:i]
	}
	return strings.TrimSpace(v)
}

// quoteScalar writes a value so that it reads back the same.
func quoteScalar(v string) string {
	if got, ok := readValue(v); ok && len(got) == 1 && got[0] == v && v != "" && !strings.ContainsAny(v, "\n\r") && !strings.HasPrefix(v, "|") && !strings.HasPrefix(v, ">") {
		return v
	}
	return strconv.Quote(v)
}

// SetList gives a key that is not there a list of values.
func (d *Document) SetList(key string, values []string) {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = strconv.Quote(v)
	}
	d.HasHead = true
	if d.Head != "" && !strings.HasSuffix(d.Head, "\n") {
		d.Head += "\n"
	}
	d.Head += key + ": [" + strings.Join(quoted, ", ") + "]\n"
	d.keys, d.values, d.Problems = nil, map[string][]string{}, nil
	d.readHead()
}
