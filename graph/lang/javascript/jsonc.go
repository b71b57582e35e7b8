package javascript

// stripJSONC turns JSON with comments and trailing commas, as tsconfig.json is
// written, into JSON. What is not closed ends with the text.
func stripJSONC(text []byte) []byte {
	if len(text) >= 3 && text[0] == 0xEF && text[1] == 0xBB && text[2] == 0xBF {
		text = text[3:]
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			end := stringEnd(text, i)
			out = append(out, text[i:end]...)
			i = end
		case c == '/' && i+1 < len(text) && text[i+1] == '/':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			i += 2
			for i < len(text) && !(text[i] == '/' && text[i-1] == '*') {
				i++
			}
			i++
			out = append(out, ' ')
		case c == '}' || c == ']':
			out = append(dropComma(out), c)
			i++
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

func stringEnd(text []byte, i int) int {
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return len(text)
}

// dropComma removes a comma that nothing but white space follows.
func dropComma(out []byte) []byte {
	for i := len(out) - 1; i >= 0; i-- {
		switch out[i] {
		case ' ', '\t', '\r', '\n':
		case ',':
			return append(out[:i], out[i+1:]...)
		default:
			return out
		}
	}
	return out
}
