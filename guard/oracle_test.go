package guard

import (
	"context"
	"encoding/binary"
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
