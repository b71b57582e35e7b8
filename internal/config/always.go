package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/stella-ls/stella-ls/internal/tomlfile"
)

// Always adds rule to permissions.always in the user's file and leaves every
// comment and line of it as it was. Adding what is there does nothing. The new
// text is read back before it is written: it must say the same as before, and
// the rule.
func Always(home, rule string) error {
	path := filepath.Join(home, FileName)
	err := update(path, func(old string) (string, error) { return withRule(old, rule) })
	if err != nil {
		return fmt.Errorf("cannot remember the permission in %s: %w; add it there yourself: [permissions] always = [%s]", path, err, strconv.Quote(rule))
	}
	return nil
}

func withRule(old, rule string) (string, error) {
	before := map[string]any{}
	if _, err := tomlfile.Decode(old, &before); err != nil {
		return "", err
	}
	rules, err := rulesOf(before)
	if err != nil || slices.Contains(rules, rule) {
		return old, err
	}
	text, err := insertRule(old, tomlString(rule))
	if err != nil {
		return "", err
	}
	after := map[string]any{}
	if _, err := tomlfile.Decode(text, &after); err != nil {
		return "", fmt.Errorf("the file is written in a way that cannot be added to (%w)", err)
	}
	got, err := rulesOf(after)
	if err != nil || !slices.Equal(got, append(rules, rule)) || !sameElse(before, after) {
		return "", errors.New("the file is written in a way that cannot be added to")
	}
	return text, nil
}

func rulesOf(tree map[string]any) ([]string, error) {
	p, _ := tree["permissions"].(map[string]any)
	list, ok := p["always"]
	if !ok {
		return nil, nil
	}
	items, ok := list.([]any)
	var out []string
	for _, item := range items {
		s, is := item.(string)
		ok = ok && is
		out = append(out, s)
	}
	if !ok {
		return nil, errors.New("permissions.always is not an array of strings")
	}
	return out, nil
}

// sameElse compares two trees but for permissions.always.
func sameElse(a, b map[string]any) bool {
	strip := func(t map[string]any) map[string]any {
		out := map[string]any{}
		for k, v := range t {
			out[k] = v
		}
		p := map[string]any{}
		if old, ok := t["permissions"].(map[string]any); ok {
			for k, v := range old {
				if k != "always" {
					p[k] = v
				}
			}
		}
		out["permissions"] = p
		return out
	}
	return reflect.DeepEqual(strip(a), strip(b))
}

func insertRule(text, quoted string) (string, error) {
	list := statements(text)
	eol := "\n"
	if strings.Contains(text, "\r\n") {
		eol = "\r\n"
	}
	for _, st := range list {
		if st.path == "permissions.always" && !st.header {
			return insertItem(text, st, quoted, eol)
		}
	}
	for _, st := range list {
		if st.path == "permissions" && st.header {
			return text[:st.end] + eol + "always = [" + quoted + "]" + text[st.end:], nil
		}
	}
	for _, st := range list { // dotted keys: permissions.write = "ask"
		if strings.HasPrefix(st.path, "permissions.") && !st.header {
			return text[:st.end] + eol + "permissions.always = [" + quoted + "]" + text[st.end:], nil
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += eol
	}
	if text != "" {
		text += eol
	}
	return text + "[permissions]" + eol + "always = [" + quoted + "]" + eol, nil
}

// insertItem puts an item at the end of an array, in the array's own manner.
func insertItem(text string, st statement, quoted, eol string) (string, error) {
	s := &scanner{text: text[:st.end], pos: st.value}
	if s.pos >= len(s.text) || s.text[s.pos] != '[' {
		return "", errors.New("permissions.always is not written as an array")
	}
	s.pos++
	last, comma, start := -1, false, s.pos // last: end of the last item
	for s.pos < len(s.text) && s.text[s.pos] != ']' {
		switch s.text[s.pos] {
		case '"', '\'':
			s.skipString()
			last, comma = s.pos, false
			continue
		case ',':
			comma = true
		case '#':
			s.skipLine()
			continue
		}
		s.pos++
	}
	if s.pos >= len(s.text) {
		return "", errors.New("permissions.always has no end")
	}
	if last < 0 {
		return text[:start] + quoted + text[start:], nil
	}
	if !strings.Contains(text[start:s.pos], "\n") {
		return text[:last] + ", " + quoted + text[last:], nil
	}
	indent := indentOf(text, last)
	if comma { // after the line of the last item, with its comment
		end := last + strings.IndexByte(text[last:]+"\n", '\n')
		end = last + len(strings.TrimSuffix(text[last:end], "\r"))
		if end > s.pos {
			end = s.pos // the bracket stands on the same line
		}
		return text[:end] + eol + indent + quoted + "," + text[end:], nil
	}
	return text[:last] + "," + eol + indent + quoted + text[last:], nil
}

// indentOf is the white space before the line that holds the byte at pos.
func indentOf(text string, pos int) string {
	line := text[strings.LastIndexByte(text[:pos], '\n')+1 : pos]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// tomlString writes s as a basic string.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
