package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// printer turns events into a transcript for people.
type printer struct {
	out    io.Writer
	err    error
	said   strings.Builder // the session's text, until something else happens
	indent string
	input  json.RawMessage // of the call whose result comes next
}

func newPrinter(out io.Writer) *printer { return &printer{out: out, indent: strings.Repeat(" ", 12)} }

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, strings.TrimRight(format, " ")+"\n", args...)
	}
}

// says prints one speaker's lines.
func (p *printer) says(who, text string) {
	for i, l := range wrap(text, 92) {
		if i > 0 {
			who = ""
		}
		p.line("  %-10s%s", who, l)
	}
}

func (p *printer) opening(editor string) {
	name := "the built-in editor"
	if editor == "nvim" {
		name = "a real headless Neovim"
	}
	p.line("stella-ls demo: a session edits a pricing module while a person types in it, in %s.", name)
	p.line("A scripted model, no key, no network; everything happens in a temporary folder.")
	p.line("")
}

func (p *printer) event(e event) {
	if e.Person != "" {
		p.flush()
		p.says("person", e.Person)
		return
	}
	switch e.Update.Kind {
	case "text":
		p.said.WriteString(e.Update.Text)
	case "toolCall":
		p.input = e.Update.Input
	case "notice":
		p.flush()
		p.says("notice", e.Update.Text)
	case "toolResult":
		p.flush()
		p.result(*e.Update)
	}
}

func (p *printer) flush() {
	if p.said.Len() > 0 {
		p.line("")
		p.says("session", strings.TrimSpace(p.said.String()))
		p.said.Reset()
	}
}

// object is what a tool result says on its second line.
type object struct {
	Status    string   `json:"status"`
	Path      string   `json:"path"`
	Base      string   `json:"base"`
	Lines     string   `json:"lines"`
	Source    string   `json:"source"`
	Dirty     bool     `json:"dirty"`
	Saved     *bool    `json:"saved"`
	Expected  string   `json:"expected"`
	Actual    string   `json:"actual"`
	ChangedBy []string `json:"changed_by"`
	Diff      string   `json:"diff_since_read"`
	Next      string   `json:"next"`
	Changed   []int    `json:"changed_lines"`
}

func parse(text string) (head string, o object) {
	head, rest, _ := strings.Cut(text, "\n")
	second, _, _ := strings.Cut(rest, "\n")
	_ = json.Unmarshal([]byte(second), &o)
	return head, o
}

func (p *printer) result(u update) {
	_, o := parse(u.Text)
	switch {
	case u.Tool == "read_file" && o.Status == "ok":
		from := "from the editor's buffer"
		if o.Source == "disk" {
			from = "from the disk"
		}
		if o.Dirty {
			from += ", unsaved changes included"
		}
		p.says(u.Tool, fmt.Sprintf("%s, lines %s, %s; base %s", o.Path, o.Lines, from, short(o.Base)))
	case o.Status == "applied":
		saved := "and saved"
		if o.Saved != nil && !*o.Saved {
			saved = "and not saved: the buffer holds the person's own changes"
		}
		p.says(u.Tool, fmt.Sprintf("APPLIED to %s in the editor %s; base is now %s", o.Path, saved, short(o.Base)))
		p.edits()
	case o.Status == "stale_base":
		p.says(u.Tool, fmt.Sprintf("REFUSED: %s is %s, this edit was planned against %s", o.Path, short(o.Actual), short(o.Expected)))
		p.says("", "changed by: "+strings.Join(o.ChangedBy, "; "))
		for l := range strings.Lines(o.Diff) {
			p.line("%s| %s", p.indent, strings.TrimRight(l, " \n"))
		}
		p.says("", "nothing was written; next: "+o.Next)
	default:
		p.says(u.Tool, o.Status+" "+o.Path)
	}
}

// edits shows what the call swapped.
func (p *printer) edits() {
	var in struct {
		Edits []struct{ Old, New string } `json:"edits"`
	}
	_ = json.Unmarshal(p.input, &in)
	for _, e := range in.Edits {
		p.marked("-", e.Old)
		p.marked("+", e.New)
	}
}

func (p *printer) marked(mark, text string) {
	for l := range strings.Lines(text) {
		p.line("%s| %s", p.indent, strings.TrimRight(mark+l, " \n"))
	}
}

func (p *printer) closing(end ending) {
	p.flush()
	p.line("")
	p.line("What the editor shows now (%s, unsaved):", file)
	for l := range strings.Lines(end.Buffer) {
		mark := " "
		switch {
		case strings.Contains(l, "5900"), strings.Contains(l, "price = "), strings.Contains(l, "return price"):
			mark = "s"
		case strings.Contains(l, personLine):
			mark = "p"
		}
		p.line("  %s | %s", mark, strings.TrimRight(l, " \n"))
	}
	p.line("")
	p.line("Lines marked s are the session's, p is the person's. Two edits landed, two were refused")
	p.line("before anything was written, and nothing that anybody wrote is lost.")
}

// short is enough of a digest to tell two apart.
func short(digest string) string {
	if hex, ok := strings.CutPrefix(digest, "sha256:"); ok && len(hex) > 8 {
		return "sha256:" + hex[:8]
	}
	return digest
}

// wrap breaks a text at spaces into lines of at most width bytes.
func wrap(text string, width int) []string {
	var out []string
	for para := range strings.SplitSeq(text, "\n") {
		line := ""
		for _, word := range strings.Fields(para) {
			if line != "" && len(line)+1+len(word) > width {
				out = append(out, line)
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		out = append(out, line)
	}
	return out
}
