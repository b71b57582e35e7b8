package guard

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// The model-based run: random series of what people, programs and a session do
// to one file, against an oracle that keeps whole contents and decides by
// comparing them. STELLA_ORACLE_SERIES sets the number of series.
//
// The oracle knows three answers: a write must be refused, must be allowed, or
// may be either (contents that are equal only after decoding, without a load or
// save that joined them).
func TestGuardAgainstOracle(t *testing.T) {
	series := 1000
	if n, err := strconv.Atoi(os.Getenv("STELLA_ORACLE_SERIES")); err == nil {
		series = n
	}
	seed := uint64(1)
	if n, err := strconv.ParseUint(os.Getenv("STELLA_ORACLE_SEED"), 10, 64); err == nil {
		seed = n
	}
	base := memoryDir(t)
	var next, failed atomic.Int64
	var total tally
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var sum tally
			for failed.Load() < 5 {
				i := next.Add(1) - 1
				if int(i) >= series {
					break
				}
				w := newWorld(filepath.Join(base, fmt.Sprint(i)), rand.New(rand.NewPCG(seed, uint64(i))))
				if err := w.run(&sum); err != nil {
					failed.Add(1)
					t.Errorf("series %d (STELLA_ORACLE_SEED=%d): %v\n%s", i, seed, err, strings.Join(w.log, "\n"))
				}
				w.end()
			}
			mu.Lock()
			total.add(sum)
			mu.Unlock()
		})
	}
	wg.Wait()
	t.Logf("%d series, %d events; writes: %d had to be allowed, %d had to be refused, %d either; %d applied, %d stale, %d unseen",
		series, total.events, total.mustAllow, total.mustRefuse, total.either, total.applied, total.stale, total.unseen)
	if failed.Load() == 0 && series >= 500 && (total.mustAllow == 0 || total.mustRefuse == 0 || total.unseen == 0) {
		t.Error("the run exercised too little to mean anything")
	}
}

// memoryDir is a directory in memory where the system has one.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "stella-oracle-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

type tally struct {
	events, mustAllow, mustRefuse, either, applied, stale, unseen int
}

func (a *tally) add(b tally) {
	a.events += b.events
	a.mustAllow += b.mustAllow
	a.mustRefuse += b.mustRefuse
	a.either += b.either
	a.applied += b.applied
	a.stale += b.stale
	a.unseen += b.unseen
}

// content is what was somewhere at some time.
type content struct {
	text bool // a buffer's text; else bytes of the disk
	s    string
}

type pairOf struct{ text, disk string }

// given is a base that a result gave, with what it named.
type given struct {
	base    workspace.Digest
	is      content
	outside bool // something outside the editor happened since
}

// world is one file and everybody who works on it.
type world struct {
	rnd  *rand.Rand
	dir  string
	ws   *workspace.Workspace
	g    *Guard
	s    *Session
	set  config.Guard
	can  EditorAbilities
	enc  func(string) string
	log  []string
	step int
	line int

	disk   *string // nil: absent
	text   *string // nil: closed
	undo   []string
	ver    int32
	noSave bool
	pair   *pairOf // of the open buffer
	pairs  []pairOf
	maybe  []pairOf // equal for a while; somebody may have looked, or not
	drift  bool     // so it has been since pair was made
	under  *string  // the clean buffer's text beneath which the session wrote the disk
	bad    error    // found by the editor

	// What the session saw.
	known     bool
	saw       content
	sawDisk   *string // nil: nothing, or absence
	sawAbsent bool
	sawWhole  bool
	shown     map[string]bool
	bases     []given
	versions  []string
}

const oracleFile = "f.txt"

func newWorld(dir string, rnd *rand.Rand) *world {
	w := &world{rnd: rnd, dir: dir, set: config.Default().Guard, shown: map[string]bool{}}
	if err := os.Mkdir(dir, 0o777); err != nil {
		panic(err)
	}
	w.ws = workspace.New(workspace.Options{Roots: []string{dir}})
	w.ws.SetEncoding(workspace.UTF8)
	w.can = []EditorAbilities{{CompareAndSet: true}, {CompareAndSet: true}, {CompareAndSet: true}, {ApplyEdit: true, Versioned: true}, {}}[rnd.IntN(5)]
	encodings := []func(string) string{
		func(s string) string { return s },
		func(s string) string { return s },
		func(s string) string { return bom8 + s },
		func(s string) string { return string(textForm{bom: "\xFF\xFE", order: binary.LittleEndian}.encode(s)) },
	}
	w.enc = encodings[rnd.IntN(len(encodings))]
	g, err := New(Options{Workspace: w.ws, StateDir: dir, Editor: w, Settings: func() config.Guard { return w.set }, disk: plainDisk{}})
	if err != nil {
		panic(err)
	}
	w.g, w.s = g, g.Session("s-1", dir)
	eol := "\n"
	if rnd.IntN(4) == 0 {
		eol = "\r\n"
	}
	for range 3 {
		var b strings.Builder
		for range rnd.IntN(5) {
			b.WriteString(w.fresh() + eol)
		}
		s := b.String()
		if rnd.IntN(3) == 0 {
			s = strings.TrimSuffix(s, eol)
		}
		w.versions = append(w.versions, s)
	}
	w.putDisk(w.enc(w.versions[0]))
	return w
}

func (w *world) end() {
	w.g.Close(context.Background())
	os.RemoveAll(w.dir)
}

func (w *world) fresh() string { w.line++; return fmt.Sprintf("line <%d>", w.line) }

func (w *world) path() string { return filepath.Join(w.dir, oracleFile) }
func (w *world) uri() string  { return "file://" + w.path() }

func (w *world) say(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%2d ", len(w.log))+fmt.Sprintf(format, args...))
}

func (w *world) run(sum *tally) error {
	type event struct {
		weight int
		do     func(*tally) error
	}
	events := []event{
		{3, w.open}, {2, w.close}, {5, w.typed}, {2, w.undone}, {3, w.saved}, {1, w.savedFormatted}, {2, w.reloaded},
		{2, w.touched}, {3, w.external}, {1, w.deleted}, {2, w.checkout},
		{7, w.read}, {8, w.edit}, {3, w.whole}, {1, w.remove}, {1, w.create},
	}
	n := 0
	for _, e := range events {
		n += e.weight
	}
	for range 8 + w.rnd.IntN(20) {
		k := w.rnd.IntN(n)
		for _, e := range events {
			if k -= e.weight; k < 0 {
				sum.events++
				if err := e.do(sum); err != nil {
					return err
				}
				break
			}
		}
		if w.bad != nil {
			return w.bad
		}
		if err := w.inSync(); err != nil {
			return err
		}
	}
	return nil
}

// inSync: the world is what the oracle thinks it is.
func (w *world) inSync() error {
	b, err := os.ReadFile(w.path())
	switch {
	case err != nil && w.disk != nil:
		return fmt.Errorf("the file is gone: %w", err)
	case err == nil && w.disk == nil:
		return fmt.Errorf("the file came back: %q", b)
	case err == nil && string(b) != *w.disk:
		return fmt.Errorf("the disk holds %q, not %q", b, *w.disk)
	}
	buf, open := w.ws.Document(workspace.Path(w.path()))
	if open != (w.text != nil) || open && buf.Text != *w.text {
		return fmt.Errorf("the mirror holds %q", buf.Text)
	}
	return nil
}

// What people and programs do.

func (w *world) putDisk(s string) {
	// By rename: the guard's watcher may look at any moment, and how an empty
	// file in between is attributed is not what this run is about.
	if err := errors.Join(os.WriteFile(w.path()+"~", []byte(s), 0o666), os.Rename(w.path()+"~", w.path())); err != nil {
		panic(err)
	}
	w.disk = &s
}

func (w *world) outside() {
	for i := range w.bases {
		w.bases[i].outside = true
	}
}

func decoded(disk string) string { return workspace.Images([]byte(disk))[0] }

func (w *world) joined(text, disk string) {
	if decoded(disk) == text {
		w.pair, w.drift = &pairOf{text, disk}, false
		w.pairs = append(w.pairs, *w.pair)
	}
}

func (w *world) open(*tally) error {
	if w.text != nil || w.disk == nil {
		return nil
	}
	t := decoded(*w.disk)
	w.text, w.ver, w.undo, w.pair = &t, 1, nil, nil
	if w.rnd.IntN(4) == 0 {
		w.ver = 0
	}
	w.say("open %q at version %d", t, w.ver)
	w.joined(t, *w.disk)
	return w.ws.DidOpen(w.uri(), "text", w.ver, t)
}

func (w *world) close(*tally) error {
	if w.text == nil {
		return nil
	}
	w.say("close")
	w.text, w.pair, w.under = nil, nil, nil
	return w.ws.DidClose(w.uri())
}

func (w *world) setText(t string) error {
	if *w.text == t {
		return nil
	}
	w.undo = append(w.undo, *w.text)
	w.text = &t
	w.ver++
	w.passing()
	return w.ws.DidChange(w.uri(), w.ver, []workspace.ContentChange{{Text: t}})
}

func (w *world) typed(*tally) error {
	if w.text == nil {
		return nil
	}
	t := w.vary(*w.text)
	w.say("type %q", t)
	return w.setText(t)
}

// vary changes, adds or removes a line.
func (w *world) vary(t string) string {
	l := lines(t)
	i := w.rnd.IntN(len(l) + 1)
	eol := "\n"
	if strings.Contains(t, "\r\n") {
		eol = "\r\n"
	}
	switch {
	case i < len(l) && w.rnd.IntN(3) == 0:
		l[i] = ""
	case i < len(l) && w.rnd.IntN(2) == 0:
		l[i] = w.fresh() + l[i][len(chomp(l[i])):]
	case i == len(l) && i > 0 && !strings.HasSuffix(l[i-1], "\n"):
		l[i-1] += eol
		l = append(l, w.fresh())
	default:
		l = append(l[:i:i], append([]string{w.fresh() + eol}, l[i:]...)...)
	}
	return strings.Join(l, "")
}

func (w *world) undone(*tally) error {
	if w.text == nil || len(w.undo) == 0 {
		return nil
	}
	t := w.undo[w.rnd.IntN(len(w.undo))]
	w.say("undo to %q", t)
	return w.setText(t)
}

func (w *world) saved(*tally) error {
	if w.text == nil {
		return nil
	}
	w.say("save")
	w.putDisk(w.enc(*w.text))
	w.joined(*w.text, *w.disk)
	return w.ws.DidSave(w.uri(), nil)
}

func (w *world) savedFormatted(s *tally) error {
	if w.text == nil {
		return nil
	}
	if err := w.setText(strings.ReplaceAll(*w.text, " <", "  <")); err != nil {
		return err
	}
	return w.saved(s)
}

func (w *world) reloaded(s *tally) error {
	if w.text == nil || w.disk == nil {
		return nil
	}
	if w.rnd.IntN(2) == 0 {
		if err := w.close(s); err != nil {
			return err
		}
		return w.open(s)
	}
	t := decoded(*w.disk)
	w.say("reload %q", t)
	return w.setText(t)
}

func (w *world) touched(*tally) error {
	if w.disk == nil {
		return nil
	}
	w.say("touch")
	w.putDisk(*w.disk)
	return nil
}

func (w *world) external(*tally) error {
	was := ""
	if w.disk != nil {
		was = decoded(*w.disk)
	}
	d := w.enc(w.vary(was))
	if w.rnd.IntN(8) == 0 {
		d = decoded(d) // in another encoding
	}
	w.say("external write %q", d)
	w.putDisk(d)
	w.outside()
	w.passing()
	return nil
}

// passing: a disk that decodes to the buffer's text is joined if somebody looks
// now, and a session that reads or writes does.
func (w *world) passing() {
	if w.text != nil && w.disk != nil && decoded(*w.disk) == *w.text {
		w.maybe = append(w.maybe, pairOf{*w.text, *w.disk})
		w.drift = true
	}
}

func (w *world) rejoin() {
	if w.text != nil && w.disk != nil && decoded(*w.disk) == *w.text {
		w.joined(*w.text, *w.disk)
	}
}

func (w *world) deleted(*tally) error {
	if w.disk == nil {
		return nil
	}
	w.say("delete")
	w.disk = nil
	w.outside()
	return os.Remove(w.path())
}

func (w *world) checkout(*tally) error {
	d := w.enc(w.versions[w.rnd.IntN(len(w.versions))])
	w.say("checkout %q", d)
	w.putDisk(d)
	w.outside()
	w.passing()
	return nil
}

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
	w.known, w.saw, w.sawWhole = true, now, whole
}

func (c content) plain() string {
	if c.text {
		return c.s
	}
	return decoded(c.s)
}

// answer is what the oracle says about a write.
type answer int

const (
	mustRefuse answer = iota
	either
	mustAllow
)

// same compares what was seen with what is there.
func (w *world) same(saw, now content) answer {
	switch {
	case saw.text == now.text:
		if saw.s == now.s {
			return mustAllow
		}
		if saw.text { // two texts of one disk content
			for _, p := range w.pairs {
				if p.text == now.s && w.sawDisk != nil && p.disk == *w.sawDisk && decoded(*w.sawDisk) == saw.s {
					return either
				}
			}
		}
		return mustRefuse
	case saw.s == now.s:
		return mustAllow
	}
	text, disk := saw.s, now.s
	if now.text {
		text, disk = now.s, saw.s
	}
	for _, p := range w.pairs {
		if p == (pairOf{text, disk}) {
			return mustAllow
		}
	}
	if decoded(disk) == text {
		return either
	}
	return mustRefuse
}

// judge is the brute force: rule by rule, on whole contents.
func (w *world) judge(base given) answer {
	w.rejoin()
	now, there := w.truth()
	if !there {
		return mustRefuse
	}
	a := min(w.same(w.saw, now), w.same(base.is, now))
	if now.text {
		a = min(a, w.diskKnown())
	}
	return a
}

func (w *world) diskKnown() answer {
	if w.disk == nil {
		if w.sawAbsent {
			return mustAllow
		}
		return mustRefuse
	}
	d := *w.disk
	switch {
	case w.sawDisk != nil && *w.sawDisk == d, w.pair != nil && w.pair.disk == d && !w.drift, decoded(d) == *w.text:
		return mustAllow
	case w.pair != nil && w.pair.disk == d:
		return either
	case decoded(d) == w.saw.plain():
		return either
	}
	for _, p := range w.maybe {
		if p.disk == d {
			return either
		}
	}
	return mustRefuse
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
		w.disk, w.under = &d, w.text
		w.sawNow(content{false, d}, w.sawWhole)
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

// The editor.

func (w *world) Abilities() EditorAbilities { return w.can }

func (w *world) Apply(_ context.Context, e EditorWrite) (EditorAnswer, error) {
	switch {
	case w.text == nil:
		return EditorAnswer{Reason: "closed"}, nil
	case e.Buffer.Version != w.ver:
		return EditorAnswer{Reason: "version", Version: w.ver}, nil
	case e.Buffer.Text != *w.text:
		return EditorAnswer{Reason: "content", Version: w.ver}, nil
	case e.Buffer.Version == 0 && !w.can.CompareAndSet:
		w.bad = fmt.Errorf("an edit was sent for version 0")
	}
	t := *w.text
	var changes []workspace.ContentChange
	for i := len(e.Splices) - 1; i >= 0; i-- {
		s := e.Splices[i]
		changes = append(changes, workspace.ContentChange{Range: &workspace.Range{
			Start: workspace.PositionAt(t, s.Start, workspace.UTF8),
			End:   workspace.PositionAt(t, s.End, workspace.UTF8),
		}, Text: s.New})
		t = t[:s.Start] + s.New + t[s.End:]
	}
	w.undo = append(w.undo, *w.text)
	w.text = &t
	w.ver++
	if err := w.ws.DidChange(w.uri(), w.ver, changes); err != nil {
		w.bad = err
	}
	a := EditorAnswer{Applied: true, Version: w.ver, SHA256Applied: workspace.DigestOfString(t)}
	if !e.Save || w.noSave {
		w.passing()
		return a, nil
	}
	if w.disk == nil || w.pair == nil || *w.disk != w.pair.disk {
		w.bad = fmt.Errorf("a save was asked for that overwrites what the buffer was not loaded from")
		return a, nil
	}
	w.putDisk(w.enc(t))
	w.joined(t, *w.disk)
	if w.rnd.IntN(2) == 0 {
		w.ws.DidSave(w.uri(), nil)
	}
	a.Saved, a.SHA256After = true, workspace.DigestOfString(t)
	return a, nil
}
