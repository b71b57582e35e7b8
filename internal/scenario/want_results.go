package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var mutating = map[string]bool{
	"edit_file": true, "edit_files": true, "write_file": true, "delete_file": true, "move_file": true, "save_memory": true,
}

// changing is the last call of the last ask that was to change something.
func (w *world) changing() (result, error) {
	if w.last == nil {
		return result{}, errors.New("nothing was asked")
	}
	for i := len(w.last.results) - 1; i >= 0; i-- {
		r := w.last.results[i]
		if !mutating[r.tool] {
			continue
		}
		if r.object == nil {
			return r, fmt.Errorf("the result of %s has no object on line 2: %q", r.tool, r.text)
		}
		return r, nil
	}
	return result{}, errors.New("no call of the last ask was to change anything")
}

func wantApplied(w *world, a []string) error {
	r, err := w.changing()
	if err != nil {
		return err
	}
	if r.object["status"] != "applied" || !r.ok {
		return fmt.Errorf("%s was not applied: %s", r.tool, r.text)
	}
	if len(a) > 0 && r.object["path"] != a[0] {
		return fmt.Errorf("applied to %v: %s", r.object["path"], r.text)
	}
	return nil
}

// wantRefused also checks what every refusal must carry.
func wantRefused(w *world, a []string) error {
	r, err := w.changing()
	if err != nil {
		return err
	}
	if r.object["status"] != a[0] {
		return fmt.Errorf("the status of %s is %v: %s", r.tool, r.object["status"], r.text)
	}
	if r.ok {
		return fmt.Errorf("the refusal is not marked as an error: %s", r.text)
	}
	if len(a) > 1 && r.object["path"] != a[1] {
		return fmt.Errorf("it names %v, not %s: %s", r.object["path"], a[1], r.text)
	}
	first, _, _ := strings.Cut(r.text, "\n")
	if path, _ := r.object["path"].(string); path != "" && !strings.Contains(first, path) {
		return fmt.Errorf("line 1 does not name %s: %q", path, first)
	}
	if a[0] != "stale_base" {
		return nil
	}
	for _, key := range []string{"path", "expected", "next"} {
		if s, _ := r.object[key].(string); s == "" {
			return fmt.Errorf("the refusal lacks %s: %s", key, r.text)
		}
	}
	if _, ok := r.object["actual"]; !ok {
		return fmt.Errorf("the refusal lacks actual: %s", r.text)
	}
	for key := range r.object { // docs/guard.md: nothing else is in it
		if !slices.Contains([]string{"status", "path", "expected", "actual", "changed_by", "diff_since_read", "diff_cut", "next", "files"}, key) {
			return fmt.Errorf("the refusal has %s: %s", key, r.text)
		}
	}
	if _, diff := r.object["diff_since_read"]; diff {
		if _, cut := r.object["diff_cut"]; !cut {
			return fmt.Errorf("the refusal does not say what its difference leaves out: %s", r.text)
		}
	}
	if len(changedBy(r)) == 0 {
		return fmt.Errorf("the refusal does not say who changed it: %s", r.text)
	}
	return nil
}

func changedBy(r result) []string {
	list, _ := r.object["changed_by"].([]any)
	var out []string
	for _, v := range list {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

func wantCause(w *world, a []string) error {
	r, err := w.changing()
	if err != nil {
		return err
	}
	for _, c := range changedBy(r) {
		if strings.Contains(c, a[0]) {
			return nil
		}
	}
	return fmt.Errorf("changed_by is %q", changedBy(r))
}

func wantCauses(w *world, a []string) error {
	r, err := w.changing()
	if err != nil {
		return err
	}
	causes := changedBy(r)
	if len(causes) != len(a) {
		return fmt.Errorf("changed_by is %q", causes)
	}
	for i, c := range causes {
		if !strings.Contains(c, a[i]) {
			return fmt.Errorf("changed_by is %q", causes)
		}
	}
	return nil
}

func wantDiff(w *world, a []string) error {
	r, err := w.changing()
	if err != nil {
		return err
	}
	diff, _ := r.object["diff_since_read"].(string)
	op, want := "contains", a[0]
	if len(a) > 1 {
		op, want = a[0], a[1]
	}
	return compare("diff_since_read", diff, op, want)
}

// named are the results of one tool in the last ask.
func (w *world) named(tool string) []result {
	var out []result
	if w.last == nil {
		return nil
	}
	for _, r := range w.last.results {
		if r.tool == tool {
			out = append(out, r)
		}
	}
	return out
}

func wantStatuses(w *world, a []string) error {
	var got []string
	for _, r := range w.named(a[0]) {
		got = append(got, fmt.Sprint(r.object["status"]))
	}
	if strings.Join(got, " ") != strings.Join(a[1:], " ") {
		all := ""
		for _, r := range w.named(a[0]) {
			all += "\n      " + r.text
		}
		return fmt.Errorf("the statuses of %s are %v:%s", a[0], got, all)
	}
	return nil
}

func wantResult(w *world, a []string) error {
	tool, number, _ := strings.Cut(a[0], ".")
	rs := w.named(tool)
	n := len(rs)
	if number != "" {
		var err error
		if n, err = strconv.Atoi(number); err != nil {
			return err
		}
	}
	if n < 1 || n > len(rs) {
		return fmt.Errorf("%s was called %d times", tool, len(rs))
	}
	r := rs[n-1]
	if a[1] == "text" {
		return compare("the result", r.text, a[2], a[3])
	}
	v, ok := r.object[a[1]]
	if !ok {
		v = "(missing)"
	}
	s, isText := v.(string)
	if !isText {
		b, _ := json.Marshal(v)
		s = string(b)
	}
	if err := compare(a[1], s, a[2], a[3]); err != nil {
		return fmt.Errorf("%w; the result: %s", err, r.text)
	}
	return nil
}
