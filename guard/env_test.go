package guard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// env is a workspace in a temporary directory, an editor without a screen, and
// one session.
type env struct {
	t    testing.TB
	dir  string
	ws   *workspace.Workspace
	g    *Guard
	s    *Session
	ed   *editor
	set  config.Guard
	step int
	told []string
}

func newEnv(t testing.TB, with ...func(*Options)) *env {
	t.Helper()
	dir := t.TempDir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	e := &env{t: t, dir: dir, set: config.Default().Guard}
	e.ws = workspace.New(workspace.Options{Roots: []string{dir}})
	e.ws.SetEncoding(workspace.UTF8)
	e.ed = &editor{e: e, bufs: map[string]*buffer{}, can: EditorAbilities{CompareAndSet: true}}
	o := Options{
		Workspace: e.ws, StateDir: t.TempDir(), Editor: e.ed,
		Settings:   func() config.Guard { return e.set },
		Formatters: func() bool { return true },
		Tell:       func(m string) { e.told = append(e.told, m) },
		disk:       plainDisk{},
	}
	for _, f := range with {
		f(&o)
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	e.g, e.s = g, g.Session("s-1", dir)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // no need to wait for parked files
		g.Close(ctx)
	})
	return e
}

func (e *env) path(name string) string { return filepath.Join(e.dir, filepath.FromSlash(name)) }
func (e *env) uri(name string) string  { return "file://" + e.path(name) }

func (e *env) name(name string) workspace.Name {
	e.t.Helper()
	n, err := e.ws.Resolve(e.dir, name)
	if err != nil {
		e.t.Fatal(err)
	}
	return n
}

func (e *env) disk(name, content string) {
	e.t.Helper()
	p := e.path(name)
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		e.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o666); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) wantDisk(name, want string) {
	e.t.Helper()
	b, err := os.ReadFile(e.path(name))
	if err != nil {
		e.t.Fatal(err)
	}
	if string(b) != want {
		e.t.Fatalf("%s on disk is %q, want %q", name, b, want)
	}
}

// read delivers lines first to last (0,0: all) and returns the base.
func (e *env) read(name string, lines ...int) workspace.Digest {
	e.t.Helper()
	return e.readBy(e.s, name, false, lines...)
}

// readBoth delivers the buffer and, as disk_diff, what the disk has.
func (e *env) readBoth(name string) workspace.Digest { return e.readBy(e.s, name, true) }

func (e *env) readBy(s *Session, name string, diskShown bool, lines ...int) workspace.Digest {
	e.t.Helper()
	f, err := e.ws.View(context.Background(), e.name(name))
	if err != nil {
		e.t.Fatal(err)
	}
	o := Observation{File: f, DiskShown: diskShown, Gone: !f.Exists(), Origin: e.origin("read_file")}
	o.First, o.Last = 1, CountLines(f.Truth())
	if len(lines) == 2 {
		o.First, o.Last = lines[0], lines[1]
	}
	s.Deliver(o)
	return f.Base()
}

func (e *env) origin(tool string) Origin {
	e.step++
	return Origin{Turn: 1, Step: e.step, Tool: tool}
}

func (e *env) apply(changes ...Change) []Result {
	return e.s.Apply(context.Background(), []Origin{e.origin("edit_file")}, false, changes)
}

func edit(name string, base workspace.Digest, pairs ...string) Change {
	c := Change{Kind: ChangeEdit, Path: name, Base: base}
	for i := 0; i < len(pairs); i += 2 {
		c.Edits = append(c.Edits, Replacement{Old: pairs[i], New: pairs[i+1]})
	}
	return c
}

func write(name string, base workspace.Digest, content string) Change {
	return Change{Kind: ChangeWrite, Path: name, Base: base, Content: content}
}

// ok demands that everything was applied.
func (e *env) ok(rs []Result) Result {
	e.t.Helper()
	for _, r := range rs {
		if !r.OK() {
			e.t.Fatalf("refused: %s: %s (by %v)\n%s", r.Status, r.Message, r.ChangedBy, r.Diff)
		}
	}
	return rs[len(rs)-1]
}

// no demands a status for everything.
func (e *env) no(rs []Result, want Status) Result {
	e.t.Helper()
	for _, r := range rs {
		if r.Status != want {
			e.t.Fatalf("status is %s (%s), want %s", r.Status, r.Message, want)
		}
		if r.Message == "" || r.Next == "" {
			e.t.Fatalf("a %s result without message or next step: %+v", want, r)
		}
		if strings.Contains(r.Message, "\n") {
			e.t.Fatalf("a message of several lines: %q", r.Message)
		}
	}
	return rs[0]
}

func (e *env) stale(rs []Result, causes ...string) Result {
	e.t.Helper()
	r := e.no(rs, StatusStale)
	if len(causes) > 0 && fmt.Sprint(r.ChangedBy) != fmt.Sprint(causes) {
		e.t.Fatalf("changed by %q, want %q", r.ChangedBy, causes)
	}
	return r
}

// editor is a client without a screen: real buffers and versions, and a switch
// for each quirk.
type editor struct {
	mu   sync.Mutex // one event of the editor at a time; tests without threads need not care
	e    *env
	bufs map[string]*buffer
	can  EditorAbilities

	before     func()                   // runs between the guard's decision and the compare
	onSave     func(string) string      // format on save
	lie        bool                     // skips the edit and says that it was applied
	lost       error                    // applied, but the answer never arrives
	mute       bool                     // never answers
	refuse     string                   // answers with this reason
	refusals   int                      // how often; 0: always
	noSave     string                   // refuses to save
	full       bool                     // sends whole texts
	encode     func(text string) []byte // how a save encodes; nil: UTF-8
	writes     []EditorWrite            // what was asked
	afterApply func()                   // runs right after the edit, before the answer
}

type buffer struct {
	text    string
	version int32
	open    bool
}

func (d *editor) Abilities() EditorAbilities { return d.can }

func (d *editor) open(name, text string, version int32) {
	d.e.t.Helper()
	u := d.e.uri(name)
	d.bufs[u] = &buffer{text: text, version: version, open: true}
	if err := d.e.ws.DidOpen(u, "text", version, text); err != nil {
		d.e.t.Fatal(err)
	}
}

// load opens a file as an editor does.
func (d *editor) load(name string) {
	d.e.t.Helper()
	b, err := os.ReadFile(d.e.path(name))
	if err != nil {
		d.e.t.Fatal(err)
	}
	d.open(name, workspace.Images(b)[0], 1)
}

func (d *editor) buf(name string) *buffer { return d.bufs[d.e.uri(name)] }

// typed replaces the buffer's text, as typing would.
func (d *editor) typed(name, text string) {
	d.e.t.Helper()
	u := d.e.uri(name)
	b := d.bufs[u]
	b.text = text
	b.version++
	if err := d.e.ws.DidChange(u, b.version, []workspace.ContentChange{{Text: text}}); err != nil {
		d.e.t.Fatal(err)
	}
}

func (d *editor) save(name string) {
	d.e.t.Helper()
	u := d.e.uri(name)
	if err := os.WriteFile(d.e.path(name), d.bytes(d.bufs[u].text), 0o666); err != nil {
		d.e.t.Fatal(err)
	}
	if err := d.e.ws.DidSave(u, nil); err != nil {
		d.e.t.Fatal(err)
	}
}

func (d *editor) close(name string) {
	d.e.t.Helper()
	u := d.e.uri(name)
	delete(d.bufs, u)
	if err := d.e.ws.DidClose(u); err != nil {
		d.e.t.Fatal(err)
	}
}

func (d *editor) bytes(text string) []byte {
	if d.encode != nil {
		return d.encode(text)
	}
	return []byte(text)
}

func (d *editor) wantText(name, want string) {
	d.e.t.Helper()
	if b := d.buf(name); b == nil || b.text != want {
		d.e.t.Fatalf("buffer %s is %+v, want %q", name, b, want)
	}
}

func (d *editor) Apply(ctx context.Context, w EditorWrite) (EditorAnswer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes = append(d.writes, w)
	if d.before != nil {
		f := d.before
		d.before = nil
		f()
	}
	if d.mute {
		<-ctx.Done()
		return EditorAnswer{}, ctx.Err()
	}
	b := d.bufs[w.Buffer.URI]
	switch {
	case d.refuse != "":
		reason := d.refuse
		if d.refusals--; d.refusals == 0 {
			d.refuse = ""
		}
		return EditorAnswer{Reason: reason}, nil
	case d.lie:
		return EditorAnswer{Applied: true, Version: w.Buffer.Version + 1}, nil
	case b == nil:
		return EditorAnswer{Reason: "closed"}, nil
	case b.version != w.Buffer.Version:
		return EditorAnswer{Reason: "version", Version: b.version}, nil
	case workspace.DigestOfString(b.text) != w.Buffer.Digest:
		return EditorAnswer{Reason: "content", Version: b.version}, nil
	}
	d.change(w, b)
	a := EditorAnswer{Applied: true, Version: b.version, SHA256Applied: workspace.DigestOfString(b.text)}
	if d.afterApply != nil {
		d.afterApply()
	}
	if d.lost != nil {
		return EditorAnswer{}, d.lost
	}
	if w.Save {
		d.saveAfter(w, b, &a)
	}
	return a, nil
}

// change applies the splices from the last to the first, as editors do, and
// reports each as one content change of one notification.
func (d *editor) change(w EditorWrite, b *buffer) {
	var changes []workspace.ContentChange
	for i := len(w.Splices) - 1; i >= 0; i-- {
		s := w.Splices[i]
		changes = append(changes, workspace.ContentChange{
			Range: &workspace.Range{
				Start: workspace.PositionAt(b.text, s.Start, workspace.UTF8),
				End:   workspace.PositionAt(b.text, s.End, workspace.UTF8),
			}, Text: s.New,
		})
		b.text = b.text[:s.Start] + s.New + b.text[s.End:]
	}
	if d.full {
		changes = []workspace.ContentChange{{Text: b.text}}
	}
	b.version++
	if err := d.e.ws.DidChange(w.Buffer.URI, b.version, changes); err != nil {
		d.e.t.Errorf("didChange: %v", err)
	}
}

func (d *editor) saveAfter(w EditorWrite, b *buffer, a *EditorAnswer) {
	if d.noSave != "" {
		a.SaveReason = d.noSave
		return
	}
	if d.onSave != nil {
		if t := d.onSave(b.text); t != b.text {
			b.text = t
			b.version++
			d.e.ws.DidChange(w.Buffer.URI, b.version, []workspace.ContentChange{{Text: t}})
		}
	}
	if err := os.WriteFile(strings.TrimPrefix(w.Buffer.URI, "file://"), d.bytes(b.text), 0o666); err != nil {
		d.e.t.Fatal(err)
	}
	d.e.ws.DidSave(w.Buffer.URI, nil)
	a.Saved, a.SHA256After = true, workspace.DigestOfString(b.text)
}

func (e *env) remove(name string) {
	e.t.Helper()
	if err := os.Remove(e.path(name)); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) wantGone(name string) {
	e.t.Helper()
	if _, err := os.Lstat(e.path(name)); !os.IsNotExist(err) {
		e.t.Fatalf("%s is there (%v)", name, err)
	}
}
