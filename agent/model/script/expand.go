package script

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// expander fills in templates from what the session saw.
type expander struct {
	request Request
	memory  *memory
}

var template = regexp.MustCompile(`\{\{\s*(base|find|result)\b\s*(.*?)\s*\}\}`)

func (x *expander) text(s string) (string, error) {
	var failed error
	out := template.ReplaceAllStringFunc(s, func(t string) string {
		m := template.FindStringSubmatch(t)
		v, err := x.value(m[1], m[2])
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", t, err)
		}
		return v
	})
	return out, failed
}

func (x *expander) value(verb, arg string) (string, error) {
	switch verb {
	case "base":
		return x.base(arg)
	case "find":
		return x.find(arg)
	default:
		return x.result(arg)
	}
}

// base is the last base that a result gave for a path, or the nth.
func (x *expander) base(arg string) (string, error) {
	path, nth := arg, 0
	if i := strings.LastIndexByte(arg, ' '); i >= 0 {
		if n, err := strconv.Atoi(arg[i+1:]); err == nil && n > 0 {
			path, nth = strings.TrimSpace(arg[:i]), n
		}
	}
	bases := x.memory.bases[path]
	if len(bases) == 0 {
		return "", fmt.Errorf("no result of this session gave a base for %s; seen: %s", path, strings.Join(x.memory.paths(), ", "))
	}
	if nth == 0 {
		return bases[len(bases)-1], nil
	}
	if nth > len(bases) {
		return "", fmt.Errorf("only %d bases were given for %s", len(bases), path)
	}
	return bases[nth-1], nil
}

// find is the last match of a regular expression in the system text and the
// messages: its first group if it has one.
func (x *expander) find(arg string) (string, error) {
	re, err := regexp.Compile(arg)
	if err != nil {
		return "", err
	}
	texts := append([]string{x.request.System}, allTexts(x.request)...)
	for i := len(texts) - 1; i >= 0; i-- {
		ms := re.FindAllStringSubmatch(texts[i], -1)
		if len(ms) == 0 {
			continue
		}
		m := ms[len(ms)-1]
		return m[min(1, len(m)-1)], nil
	}
	return "", fmt.Errorf("nothing in the request matches")
}

// result is a member of the last tool result's object.
func (x *expander) result(arg string) (string, error) {
	rs := results(x.request)
	if len(rs) == 0 {
		return "", fmt.Errorf("the request has no tool result")
	}
	v, ok := object(rs[len(rs)-1].Text)[arg]
	if !ok {
		return "", fmt.Errorf("the last tool result has no member %q", arg)
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

func (m *memory) paths() []string {
	var out []string
	for p := range m.bases {
		out = append(out, p)
	}
	return sortedStrings(out)
}

// call fills in a call and encodes its input.
func (x *expander) call(c Call) (ReplyCall, error) {
	id, err := x.text(c.ID)
	if err != nil {
		return ReplyCall{}, err
	}
	if c.Raw != "" {
		raw, err := x.text(c.Raw)
		return ReplyCall{ID: id, Tool: c.Tool, Input: raw}, err
	}
	in := c.Input
	if in == nil {
		in = map[string]any{}
	}
	filled, err := x.deep(plain(in))
	if err != nil {
		return ReplyCall{}, err
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(filled); err != nil {
		return ReplyCall{}, err
	}
	return ReplyCall{ID: id, Tool: c.Tool, Input: strings.TrimSuffix(b.String(), "\n")}, nil
}

// deep fills in every string of a value.
func (x *expander) deep(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		return x.text(v)
	case []any:
		for i := range v {
			if v[i], err = x.deep(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = x.deep(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// ASCII writes every other character of a JSON text as \uXXXX, in pairs beyond
// the basic plane.
func ASCII(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xFFFF:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04X\u%04X`, 0xD800+(r>>10), 0xDC00+(r&0x3FF))
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	return b.String()
}
