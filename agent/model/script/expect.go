package script

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// The things an expectation can be about.
var subjects = map[string]bool{
	"tool_result": true, "tool_results": true, "prompt": true, "new": true, "system": true,
	"recall": true, "messages": true, "tools": true, "model": true,
}

func checkExpect(e map[string]any) error {
	for k := range e {
		if !subjects[k] {
			return fmt.Errorf("expect.%s is unknown; known are %s", k, strings.Join(sortedKeys(subjects), ", "))
		}
	}
	return nil
}

// matchExpect compares an expectation with a request; nil when it holds.
func matchExpect(where string, expect map[string]any, r Request, x *expander) *Error {
	for _, subject := range sortedKeys(expect) {
		want, err := x.deep(plain(expect[subject]))
		if err != nil {
			return &Error{where + "." + subject, err.Error()}
		}
		if err := matchSubject(where+"."+subject, subject, want, r); err != nil {
			return err
		}
	}
	return nil
}

func matchSubject(where, subject string, want any, r Request) *Error {
	switch subject {
	case "tool_result":
		rs := results(r)
		if len(rs) == 0 {
			return &Error{where, "the request has no tool result"}
		}
		return matchResult(where, want, rs[len(rs)-1])
	case "tool_results":
		return matchResults(where, want, latestResults(r))
	case "prompt":
		return matchText(where, want, strings.Join(userTexts(r.Messages), "\n"))
	case "new":
		return matchText(where, want, strings.Join(messageTexts(newMessages(r)), "\n"))
	case "system":
		return matchText(where, want, r.System)
	case "recall":
		return matchText(where, want, strings.Join(recallTexts(r), "\n"))
	case "messages":
		return matchText(where, want, strings.Join(allTexts(r), "\n"))
	case "tools":
		return match(where, want, toAny(r.Tools))
	default:
		return match(where, want, r.Model)
	}
}

// matchText is match for a long text, where a bare string means "contains",
// and "none" that there is nothing at all.
func matchText(where string, want any, got string) *Error {
	if s, ok := want.(string); ok {
		if s == "none" {
			if got != "" {
				return &Error{where, "wanted none, got " + excerpt(got)}
			}
			return nil
		}
		want = map[string]any{"contains": s}
	}
	return match(where, want, got)
}

func matchResults(where string, want any, got []result) *Error {
	list, ok := want.([]any)
	if !ok {
		return &Error{where, "must be a list, one item a result"}
	}
	if len(list) != len(got) {
		return &Error{where, fmt.Sprintf("wanted %d results, got %d", len(list), len(got))}
	}
	for i := range list {
		if err := matchResult(fmt.Sprintf("%s[%d]", where, i), list[i], got[i]); err != nil {
			return err
		}
	}
	return nil
}

// matchResult compares with one tool result. tool, ok, contains, absent and
// matches are about the result; every other key is a member of its object.
func matchResult(where string, want any, got result) *Error {
	m, ok := want.(map[string]any)
	if !ok {
		return matchText(where, want, got.Text)
	}
	o := object(got.Text)
	for _, k := range sortedKeys(m) {
		var err *Error
		switch k {
		case "tool":
			err = match(where+".tool", m[k], got.tool)
		case "ok":
			err = match(where+".ok", m[k], !got.IsError)
		case "contains", "absent", "matches":
			err = match(where, map[string]any{k: m[k]}, got.Text)
		default:
			v, has := o[k]
			if !has && m[k] != nil {
				err = &Error{where + "." + k, fmt.Sprintf("wanted %v, but the result has no such member: %s", m[k], excerpt(got.Text))}
			} else {
				err = match(where+"."+k, m[k], v)
			}
		}
		if err != nil {
			if !strings.Contains(err.Why, "the result") {
				err.Why += "; the result: " + excerpt(got.Text)
			}
			return err
		}
	}
	return nil
}

// match compares a wanted value with what is there. A mapping wants its members
// (a subset), except contains, absent, matches and count, which ask about the
// value itself; a string wants to be an item of a list, whole or in part.
func match(where string, want, got any) *Error {
	switch want := want.(type) {
	case map[string]any:
		for _, k := range sortedKeys(want) {
			if err := matchMember(where, k, want[k], got); err != nil {
				return err
			}
		}
		return nil
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return differ(where, want, got)
		}
		for i := range want {
			if err := match(fmt.Sprintf("%s[%d]", where, i), want[i], list[i]); err != nil {
				return err
			}
		}
		return nil
	case string:
		if list, ok := got.([]any); ok {
			if containsText(list, want) {
				return nil
			}
			return differ(where, want, got)
		}
	}
	if want != got {
		return differ(where, want, got)
	}
	return nil
}

func matchMember(where, key string, want, got any) *Error {
	switch key {
	case "contains":
		for _, s := range wantedStrings(want) {
			if !containsText(got, s) {
				return &Error{where, fmt.Sprintf("does not contain %q: %s", s, excerpt(fmt.Sprint(got)))}
			}
		}
		return nil
	case "absent":
		for _, s := range wantedStrings(want) {
			if containsText(got, s) {
				return &Error{where, fmt.Sprintf("contains %q, which should be absent: %s", s, excerpt(fmt.Sprint(got)))}
			}
		}
		return nil
	case "matches":
		re, err := regexp.Compile(fmt.Sprint(want))
		if err != nil {
			return &Error{where + ".matches", err.Error()}
		}
		if !re.MatchString(fmt.Sprint(got)) {
			return &Error{where, fmt.Sprintf("does not match %v: %s", want, excerpt(fmt.Sprint(got)))}
		}
		return nil
	case "count":
		list, _ := got.([]any)
		return match(where+".count", want, float64(len(list)))
	}
	o, ok := got.(map[string]any)
	if !ok {
		return differ(where, map[string]any{key: want}, got)
	}
	return match(where+"."+key, want, o[key])
}

// containsText reports whether a text, or some item of a list, contains s.
func containsText(got any, s string) bool {
	switch got := got.(type) {
	case string:
		return strings.Contains(got, s)
	case []any:
		for _, v := range got {
			if containsText(v, s) {
				return true
			}
		}
	}
	return false
}

func wantedStrings(v any) []string {
	if list, ok := v.([]any); ok {
		var out []string
		for _, s := range list {
			out = append(out, fmt.Sprint(s))
		}
		return out
	}
	return []string{fmt.Sprint(v)}
}

func differ(where string, want, got any) *Error {
	return &Error{where, fmt.Sprintf("wanted %v, got %s", want, excerpt(fmt.Sprint(got)))}
}

func toAny(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return sortedStrings(out)
}

func sortedStrings(s []string) []string {
	sort.Strings(s)
	return s
}
