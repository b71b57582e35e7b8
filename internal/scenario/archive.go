package scenario

import (
	"fmt"
	"strings"
)

// Archive is a scenario as it stands in its file: a comment, then files, each
// after a line "-- NAME --".
type Archive struct {
	Comment string
	Files   []File
}

// File is one file of an archive.
type File struct{ Name, Data string }

// Parse reads an archive.
func Parse(text string) (*Archive, error) {
	a := &Archive{}
	var name string
	var data strings.Builder
	flush := func() {
		if name == "" {
			a.Comment = data.String()
		} else {
			a.Files = append(a.Files, File{name, data.String()})
		}
		data.Reset()
	}
	for line := range strings.Lines(text) {
		marker := strings.TrimRight(line, "\r\n")
		if len(marker) > 6 && strings.HasPrefix(marker, "-- ") && strings.HasSuffix(marker, " --") {
			flush()
			name = strings.TrimSpace(marker[3 : len(marker)-3])
			continue
		}
		data.WriteString(line)
	}
	flush()
	sentence, _, _ := strings.Cut(strings.TrimSpace(a.Comment), "\n")
	if !strings.ContainsAny(sentence, ".:!") {
		return nil, fmt.Errorf("the first line must be a sentence that says what must hold; it is %q", sentence)
	}
	if a.File("script") == "" {
		return nil, fmt.Errorf("the archive has no script")
	}
	return a, nil
}

// File is the content of a file of the archive, "" when it has none.
func (a *Archive) File(name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return ""
}

// line is one command of a script.
type line struct {
	number int
	text   string
	words  []word
	only   []condition // in front: all must hold
}

// condition is "[vscode]", only for that editor, or "[!vscode]", not for it.
type condition struct {
	editor string
	not    bool
}

// word is one argument; quoted ones are never separators or options.
type word struct {
	text   string
	quoted bool
}

func parseScript(script string) ([]line, error) {
	var out []line
	n := 0
	for text := range strings.Lines(script) {
		n++
		text = strings.TrimSpace(text)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		l := line{number: n, text: text}
		for strings.HasPrefix(text, "[") {
			cond, rest, ok := strings.Cut(text[1:], "]")
			if !ok {
				return nil, fmt.Errorf("line %d: no ] after the condition", n)
			}
			l.only = append(l.only, condition{strings.TrimPrefix(cond, "!"), strings.HasPrefix(cond, "!")})
			text = strings.TrimSpace(rest)
		}
		words, err := split(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		l.words = words
		out = append(out, l)
	}
	return out, nil
}

// holds reports whether the line is meant for the editor: a condition is a word
// of the editor's name ("nvim" holds for "nvim" and "plain-nvim").
func (l line) holds(editor string) bool {
	for _, c := range l.only {
		match := editor == c.editor
		for part := range strings.SplitSeq(editor, "-") {
			match = match || part == c.editor
		}
		if match == c.not {
			return false
		}
	}
	return true
}
