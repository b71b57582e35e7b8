package demo

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// verdict checks that what the demo claims is what happened.
type verdict struct {
	statuses []string // of the edits, in order
	causes   []string // of the refusals
}

func (v *verdict) event(e event) {
	if e.Update == nil || e.Update.Kind != "toolResult" || e.Update.Tool != "edit_file" {
		return
	}
	_, o := parse(e.Update.Text)
	v.statuses = append(v.statuses, o.Status)
	v.causes = append(v.causes, o.ChangedBy...)
}

func (v *verdict) check(end ending) error {
	if end.Stop != "end_turn" {
		return fmt.Errorf("the turn ended with %q: %s", end.Stop, end.Error)
	}
	if want := []string{"applied", "stale_base", "stale_base", "applied"}; !slices.Equal(v.statuses, want) {
		return fmt.Errorf("the edits ended as %v, not %v", v.statuses, want)
	}
	if causes := strings.Join(v.causes, "; "); !strings.Contains(causes, "this session") || !strings.Contains(causes, "typing") {
		return fmt.Errorf("the refusals name other causes: %s", causes)
	}
	for _, want := range []string{`"team": 5900,`, "return price * 9 // 10", personLine} {
		if !strings.Contains(end.Buffer, want) {
			return fmt.Errorf("the buffer has lost %q:\n%s", want, end.Buffer)
		}
	}
	if !end.Dirty || strings.Contains(end.Disk, personLine) {
		return errors.New("the person's unsaved line was saved without being asked")
	}
	if !strings.Contains(end.Disk, `"team": 5900,`) {
		return fmt.Errorf("the first edit was not saved:\n%s", end.Disk)
	}
	return nil
}
