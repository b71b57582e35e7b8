// Package toolinput judges the text of a tool call's input as a model sent it:
// whether it is one JSON object of whole Unicode.
package toolinput

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Check says in words for the model why raw is not a usable input; "" when it is.
func Check(raw string) string {
	if !utf8.ValidString(raw) {
		return "the input is not valid UTF-8"
	}
	var o map[string]json.RawMessage
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		return "the input is not a JSON object: " + jsonFault(raw, err)
	}
	if o == nil {
		return "the input is null; a JSON object is needed"
	}
	if at := loneSurrogate(raw); at >= 0 {
		return fmt.Sprintf("the input holds half a character: %s at byte %d is a surrogate without its other half, so the text cannot be written as it was meant; send the character itself", raw[at:at+6], at)
	}
	return ""
}

func jsonFault(raw string, err error) string {
	syntax, ok := err.(*json.SyntaxError)
	if !ok {
		return strings.ReplaceAll(err.Error(), "Go value of type map[string]json.RawMessage", "an object")
	}
	if int(syntax.Offset) >= len(raw) {
		return fmt.Sprintf("it ends after %d bytes, in the middle (%s)", len(raw), syntax)
	}
	return fmt.Sprintf("%s at byte %d", syntax, syntax.Offset)
}

// loneSurrogate is the offset of the first \uD800-\uDFFF escape that is not half
// of a pair, or -1. raw is valid JSON; encoding/json would silently turn such an
// escape into U+FFFD and the wrong text would be written.
func loneSurrogate(raw string) int {
	for i := 0; i+1 < len(raw); {
		if raw[i] != '\\' {
			i++
			continue
		}
		first, ok := unicodeEscape(raw, i)
		if !ok {
			i += 2
			continue
		}
		switch {
		case first >= 0xD800 && first < 0xDC00:
			second, ok := unicodeEscape(raw, i+6)
			if !ok || second < 0xDC00 || second > 0xDFFF {
				return i
			}
			i += 12
		case first >= 0xDC00 && first <= 0xDFFF:
			return i
		default:
			i += 6
		}
	}
	return -1
}

func unicodeEscape(raw string, i int) (uint64, bool) {
	if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(raw[i+2:i+6], 16, 16)
	return v, err == nil
}
