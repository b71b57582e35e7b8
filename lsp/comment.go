package lsp

import (
	"regexp"
	"strings"
)

// A comment that asks: a comment mark of any of the usual languages, "stella:"
// and the question. The mark may follow code.
var (
	askComment  = regexp.MustCompile(`(?i)(?:^|\s)(//+|#+|--+|;+|%+|/\*+|<!--|\*|"|')\s*stella:\s*(\S.*)$`)
	moreComment = regexp.MustCompile(`^\s*(//+|#+|--+|;+|%+|\*|"|')(?:\s+|$)(.*)$`)
)

// maxCommentLines bounds how far a question may run on.
const maxCommentLines = 20

// commentPrompt returns the question of the first comment "stella: ..." that the
// range touches, with the comment lines that follow it.
func commentPrompt(text string, r Range) string {
	lines := strings.Split(text, "\n")
	first, last := linesOf(&r)
	for i := first - 1; i < last && i < len(lines); i++ {
		// The cursor may stand on a later line of the comment.
		for back := i; back >= 0 && i-back < maxCommentLines; back-- {
			if m := askComment.FindStringSubmatch(strings.TrimRight(lines[back], "\r")); m != nil {
				return wholeQuestion(m[1], m[2], lines[back+1:])
			}
			if !moreComment.MatchString(lines[back]) {
				break
			}
		}
	}
	return ""
}

func wholeQuestion(mark, question string, rest []string) string {
	parts := []string{endComment(question)}
	if question != endComment(question) {
		return parts[0] // closed on its own line
	}
	for i, line := range rest {
		m := moreComment.FindStringSubmatch(strings.TrimRight(line, "\r"))
		if m == nil || i >= maxCommentLines || mark != m[1] && !(strings.HasPrefix(mark, "/*") && m[1] == "*") {
			break
		}
		parts = append(parts, endComment(m[2]))
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

func endComment(s string) string {
	s = strings.TrimSpace(s)
	for _, end := range []string{"*/", "-->"} {
		s = strings.TrimSpace(strings.TrimSuffix(s, end))
	}
	return s
}
