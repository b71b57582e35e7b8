package guard

import (
	"github.com/aymanbagabas/go-udiff"
)

// invert takes the change from before to after back out of present, which may
// have moved on elsewhere. Both differences are of whole lines; where they
// overlap or touch, the lines around the change are not as it left them, and
// nothing is done.
func invert(before, after, present string) (string, bool) {
	if present == after {
		return before, true
	}
	back, since := udiff.Lines(after, before), udiff.Lines(after, present)
	var all []udiff.Edit
	i, j := 0, 0
	for i < len(back) || j < len(since) {
		switch {
		case j == len(since) || i < len(back) && back[i].End < since[j].Start:
			all = append(all, back[i])
			i++
		case i == len(back) || since[j].End < back[i].Start:
			all = append(all, since[j])
			j++
		default:
			return "", false
		}
	}
	out, err := udiff.Apply(after, all)
	return out, err == nil
}
