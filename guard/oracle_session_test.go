package guard

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// What the session does.

func (w *world) truth() (content, bool) {
	switch {
	case w.beneath():
		return content{false, *w.disk}, true
	case w.text != nil:
		return content{true, *w.text}, true
	case w.disk != nil:
		return content{false, *w.disk}, true
	}
	return content{}, false
}

// beneath: the buffer holds what it held when the session wrote the disk under
// it, so the disk is what counts.
func (w *world) beneath() bool {
	return w.under != nil && w.text != nil && *w.text == *w.under && w.disk != nil && *w.disk == w.saw.s
}

func (w *world) view() (workspace.File, error) {
	n, err := w.ws.Resolve(w.dir, oracleFile)
	if err != nil {
		return workspace.File{}, err
	}
	return w.ws.View(context.Background(), n)
}

func (w *world) read(*tally) error {
	f, err := w.view()
	if err != nil {
		return err
	}
	w.step++
	o := Observation{File: f, Gone: !f.Exists(), DiskShown: w.rnd.IntN(2) == 0, Origin: Origin{Step: w.step, Tool: "read_file"}}
	w.rejoin()
	now, there := w.truth()
	if !there {
		w.say("read: gone")
		w.known = false
		w.s.Deliver(o)
		return nil
	}
	l := lines(now.plain())
	o.First, o.Last = 1, len(l)
	whole := true
	if len(l) > 1 && w.rnd.IntN(3) == 0 {
		o.First = 1 + w.rnd.IntN(len(l))
		o.Last = o.First + w.rnd.IntN(len(l)-o.First+1)
		whole = o.First == 1 && o.Last == len(l)
	}
	if w.beneath() { // reading shows the buffer
		w.under = nil
		now, _ = w.truth()
		l = lines(now.plain())
		o.First, o.Last, whole = 1, len(l), true
	}
	w.say("read %d-%d of %q, disk shown %v", o.First, o.Last, now.s, o.DiskShown)
	w.s.Deliver(o)
	for i := o.First; i <= o.Last; i++ {
		w.shown[chomp(l[i-1])] = true
	}
	w.sawNow(now, whole)
	switch {
	case !now.text:
		w.sawDisk, w.sawAbsent = w.disk, false
	case w.disk == nil:
		w.sawDisk, w.sawAbsent = nil, true
	case o.DiskShown || decoded(*w.disk) == now.s:
		w.sawDisk, w.sawAbsent = w.disk, false
	}
	// The disk under the buffer was changed before; what comes of it later is that, still.
	hidden := now.text && (w.disk == nil || w.pair == nil || *w.disk != w.pair.disk)
	w.bases = append(w.bases, given{base: f.Base(), is: now, outside: hidden})
	return nil
}

func (w *world) sawNow(now content, whole bool) {
	if !w.known {
		w.sawDisk, w.sawAbsent = nil, false
	}
	w.known, w.saw, w.sawWhole, w.under = true, now, whole, nil
}

func (c content) plain() string {
	if c.text {
		return c.s
	}
	return decoded(c.s)
}

// pick is the newest base mostly, and an old one now and then.
func (w *world) pick() (given, bool) {
	n := len(w.bases)
	if n == 0 {
		return given{}, false
	}
	if n > 1 && w.rnd.IntN(4) == 0 {
		return w.bases[w.rnd.IntN(n)], true
	}
	return w.bases[n-1], true
}

func (w *world) edit(sum *tally) error {
	base, ok := w.pick()
	if !ok || !w.known {
		return nil
	}
	l := lines(base.is.plain())
	if len(l) == 0 {
		return nil
	}
	old, repl := chomp(l[w.rnd.IntN(len(l))]), w.fresh()
	if old == "" || strings.Count(base.is.plain(), old) != 1 {
		return nil
	}
	want, now, c := w.judge(base), content{}, edit(oracleFile, base.base, old, repl)
	now, _ = w.truth()
	after := strings.Replace(now.plain(), old, repl, 1)
	return w.write(sum, base, want, c, after, func() { w.shown[repl] = true })
}

func (w *world) whole(sum *tally) error {
	base, ok := w.pick()
	if !ok || !w.known {
		return nil
	}
	want := w.judge(base)
	unseen := false
	if now, there := w.truth(); there {
		for _, l := range lines(now.plain()) {
			unseen = unseen || !w.shown[chomp(l)]
		}
	}
	text := w.fresh() + "\n" + w.fresh()
	c := write(oracleFile, base.base, text)
	after := text
	if now, there := w.truth(); there && strings.Contains(now.plain(), "\r\n") {
		after = withEOLs(now.plain(), text, eolAt(now.plain(), len(now.plain())))
	}
	if want == mustAllow && !w.sawWhole {
		want = either
	}
	if unseen && want != mustRefuse {
		want = mustRefuse
		c.Base = base.base
	}
	return w.write(sum, base, want, c, after, func() {
		for _, l := range lines(text) {
			w.shown[chomp(l)] = true
		}
		w.sawWhole = true
	})
}

// write lets the session try, and holds what happens against the oracle.
func (w *world) write(sum *tally, base given, want answer, c Change, after string, done func()) error {
	w.step++
	w.noSave = w.rnd.IntN(3) == 0
	before, _ := w.truth()
	wasClean := w.text != nil && w.pair != nil && *w.text == w.pair.text
	r := w.s.Apply(context.Background(), []Origin{{Step: w.step, Tool: "t"}}, false, []Change{c})[0]
	w.say("%s with base %.14s -> %s %q saved=%v by %v (want %v)", c.Kind, base.base, r.Status, after, r.Saved != nil && *r.Saved, r.ChangedBy, want)
	count := map[answer]*int{mustRefuse: &sum.mustRefuse, either: &sum.either, mustAllow: &sum.mustAllow}[want]
	*count++
	switch r.Status {
	case StatusApplied:
		sum.applied++
		if want == mustRefuse {
			return fmt.Errorf("missed conflict")
		}
		return w.applied(r, after, before, wasClean, done)
	case StatusStale:
		sum.stale++
		if want == mustAllow {
			return fmt.Errorf("false refusal: %s", r.Message)
		}
		return w.checkCauses(r, base)
	case StatusUnseen:
		sum.unseen++
		if want == mustAllow {
			return fmt.Errorf("false refusal by coverage: %s", r.Message)
		}
	case StatusDenied:
		if w.can.CompareAndSet {
			return fmt.Errorf("denied: %s", r.Message)
		}
	default:
		return fmt.Errorf("%s: %s", r.Status, r.Message)
	}
	return nil
}

// checkCauses: what did not happen is not named.
func (w *world) checkCauses(r Result, base given) error {
	if len(r.ChangedBy) == 0 {
		return fmt.Errorf("no cause")
	}
	for _, c := range r.ChangedBy {
		if c == "buffer discarded" {
			break // the texts end here; what happened on disk before the next load is not joined to them
		}
		if !w.can.CompareAndSet {
			break // what was written beneath a buffer and loaded later has no name
		}
		if c == "outside this editor" && !base.outside {
			return fmt.Errorf("blames somebody outside: %v", r.ChangedBy)
		}
	}
	return nil
}

// applied brings the oracle up to a write that happened.
func (w *world) applied(r Result, after string, before content, wasClean bool, done func()) error {
	done()
	saved := r.Saved != nil && *r.Saved
	if before.text && strings.HasPrefix(r.Mode, "editor") {
		// The editor has changed w.text by itself.
		if *w.text != after {
			return fmt.Errorf("the buffer holds %q", *w.text)
		}
		w.sawNow(content{true, after}, w.sawWhole)
		if saved {
			w.sawDisk, w.sawAbsent = w.disk, false
		}
	} else {
		b, err := os.ReadFile(w.path())
		if err != nil {
			return err
		}
		d := string(b)
		if decoded(d) != after {
			return fmt.Errorf("the disk holds %q", d)
		}
		if before.text && !wasClean {
			return fmt.Errorf("written beneath a dirty buffer")
		}
		w.disk = &d
		w.sawNow(content{false, d}, w.sawWhole)
		w.under = w.text
		w.sawDisk, w.sawAbsent = &d, false
	}
	w.bases = append(w.bases, given{base: r.Base, is: w.saw, outside: w.saw.text && (w.disk == nil || w.pair == nil || *w.disk != w.pair.disk)})
	if r.Base != workspace.DigestOfString(w.saw.s) {
		return fmt.Errorf("the base does not name what was written")
	}
	return nil
}

func (w *world) remove(sum *tally) error {
	base, ok := w.pick()
	if !ok || !w.known {
		return nil
	}
	want := w.judge(base)
	if w.text != nil && want == mustAllow {
		want = either // denied while the buffer holds more than the disk
	}
	r := w.s.Apply(context.Background(), nil, false, []Change{{Kind: ChangeDelete, Path: oracleFile, Base: base.base}})[0]
	w.say("delete by session -> %s", r.Status)
	switch {
	case r.OK() && want == mustRefuse:
		return fmt.Errorf("missed conflict")
	case r.Status == StatusStale && want == mustAllow:
		return fmt.Errorf("false refusal: %s", r.Message)
	case r.OK():
		w.disk, w.known = nil, false
	case r.Status == StatusDenied && w.text == nil:
		return fmt.Errorf("denied: %s", r.Message)
	}
	return nil
}

func (w *world) create(*tally) error {
	text := w.fresh() + "\n"
	_, there := w.truth()
	r := w.s.Apply(context.Background(), nil, false, []Change{write(oracleFile, "", text)})[0]
	w.say("create -> %s", r.Status)
	switch r.Status {
	case StatusApplied:
		if there {
			return fmt.Errorf("overwrote an existing file")
		}
		if w.known {
			return fmt.Errorf("brought back a file that somebody deleted")
		}
		w.disk = &text
		w.shown[chomp(text)] = true
		w.sawNow(content{false, text}, true)
		w.sawDisk = &text
		w.bases = append(w.bases, given{base: r.Base, is: w.saw})
	case StatusStale:
		if !w.known {
			return fmt.Errorf("flagged a path that was never seen: %s", r.Message)
		}
	case StatusExists:
		if !there {
			return fmt.Errorf("nothing is there: %s", r.Message)
		}
	default:
		return fmt.Errorf("%s: %s", r.Status, r.Message)
	}
	return nil
}
