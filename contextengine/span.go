package contextengine

import (
	"encoding/json"
	"strings"
)

// decodeSpan finds the first balanced {...} or [...] in a model's answer that
// decodes into a T, and calls accept for it; it goes on when accept says no.
// Models wrap JSON into prose and fences, so everything around it is skipped.
// broken is true when an opening bracket was seen that nothing closes: the
// answer was cut off.
func decodeSpan[T any](answer string, open byte, accept func(T) bool) (found, broken bool) {
	for at := 0; at < len(answer); at++ {
		if answer[at] != open {
			continue
		}
		end, balanced := spanEnd(answer, at)
		if !balanced {
			broken = true
			continue
		}
		if end-at == 2 && at > 0 && !strings.ContainsRune(" \t\r\n`:", rune(answer[at-1])) {
			continue // items[] in prose is no answer
		}
		var v T
		if json.Unmarshal([]byte(answer[at:end]), &v) == nil && accept(v) {
			return true, false
		}
	}
	return false, broken
}

// spanEnd returns the offset after the bracket that closes the one at start.
// Brackets within JSON strings do not count.
func spanEnd(s string, start int) (end int, ok bool) {
	var stack []byte
	inString := false
	for i := start; i < len(s) && i-start < 1<<20; i++ {
		switch c := s[i]; {
		case inString:
			if c == '\\' {
				i++
			} else if c == '"' {
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{':
			stack = append(stack, '}')
		case c == '[':
			stack = append(stack, ']')
		case c == '}' || c == ']':
			if stack[len(stack)-1] != c {
				return 0, false
			}
			if stack = stack[:len(stack)-1]; len(stack) == 0 {
				return i + 1, true
			}
		}
	}
	return 0, false
}
