package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stella-ls/stella-ls/guard"
)

// Text is what the model reads: line 1 for people, line 2 the object as one
// line of JSON, then, after an empty line, the body if there is one.
func (r Result) Text() string {
	head := oneLine(r.Head)
	object, err := plainJSON(r.Object)
	if err != nil || r.Object == nil {
		object, _ = plainJSON(map[string]string{"status": r.Status})
	}
	if r.Body == "" {
		return head + "\n" + object
	}
	return head + "\n" + object + "\n\n" + r.Body
}

// plainJSON is v on one line, with <, > and & as they are: models read it.
func plainJSON(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// oneLine keeps a head from spilling into the object's line. A longer message
// belongs in the body, and the guard's are moved there by fromGuard.
func oneLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		s = strings.TrimSpace(s[:i])
	}
	return s
}

// fault is the object of a result that is nobody's file.
type fault struct {
	Status guard.Status `json:"status"`
	Path   string       `json:"path,omitempty"`
	Next   string       `json:"next,omitempty"`
}

// Failed is an error that the model can act on: what is wrong, and what to do.
func Failed(status guard.Status, path, message, next string) Result {
	return Result{
		Head:    message,
		Object:  fault{Status: status, Path: path, Next: next},
		Status:  string(status),
		IsError: true,
	}
}

// Invalid is a call that is itself wrong.
func Invalid(format string, args ...any) Result {
	return Failed(guard.StatusInvalid, "", fmt.Sprintf(format, args...), "correct the call and make it again")
}

// Cancelled closes a call that did not end, so that every call has a result.
func Cancelled(tool string) Result {
	return Failed(guard.StatusCancelled, "", tool+" was cancelled before it gave a result", "")
}

// NotRun closes a call that was never started.
func NotRun(tool string) Result {
	return Failed(guard.StatusCancelled, "", tool+" was not run: the turn was cancelled first", "")
}

// fromGuard is the result of a change that the guard carried out or refused.
func fromGuard(r guard.Result) Result {
	out := Result{Head: r.Message, Object: r, Status: string(r.Status), IsError: !r.OK()}
	if head, rest, cut := strings.Cut(strings.TrimSpace(r.Message), "\n"); cut {
		out.Head, out.Body = head, strings.TrimSpace(rest)
	}
	if out.Head == "" {
		out.Head = strings.TrimSpace(string(r.Status) + " " + r.Path)
	}
	if !r.OK() {
		refusal := r
		out.Refusal = &refusal
	}
	return out
}
