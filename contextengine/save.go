package contextengine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/stella-ls/stella-ls/contextengine/files"
	"github.com/stella-ls/stella-ls/contextengine/internal/text"
	"github.com/stella-ls/stella-ls/contextengine/store"
	"github.com/stella-ls/stella-ls/internal/secret"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

func isAbs(p string) bool { return filepath.IsAbs(p) }

func firstLine(s string) string { return text.FirstLine(s, labelLength) }

// PrepareSave checks a wanted memory and makes the whole file of it. Nothing is
// written: whoever writes it guards it like any other file.
func (e *Engine) PrepareSave(ctx context.Context, r SaveRequest) (Draft, error) {
	body := strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(r.Memory, "\uFFFD"), "\r\n", "\n"))
	switch n := utf8.RuneCountInString(body); {
	case !files.ValidSlug(r.Slug):
		return Draft{}, &Refusal{"invalid", fmt.Sprintf("%q cannot name a memory", r.Slug), "use 1 to 64 of a-z, 0-9, _ and -"}
	case n == 0:
		return Draft{}, &Refusal{"invalid", "the memory is empty", "say in one to three sentences what to remember"}
	case n > files.MaxMemory:
		return Draft{}, &Refusal{"invalid", fmt.Sprintf("the memory has %d characters, at most %d are kept", n, files.MaxMemory),
			"keep the lesson and leave out what the files say themselves"}
	case secret.Has(body):
		return Draft{}, &Refusal{"denied", "the text holds something that looks like a key or password, and memories are committed files",
			"say where the secret is kept, not what it is"}
	}
	d := Draft{ID: MemoryID(r.Slug), Slug: r.Slug, Path: e.lay.Memory(r.Slug), Origin: files.Agent}
	if r.Derived {
		d.Origin = files.Derived
		d.Flags = imperative(body)
	}
	doc := files.ParseDocument("")
	if old, _ := e.lay.ReadMemory(r.Slug); old != nil {
		doc = files.ParseDocument(old.Raw) // its other keys stay
		if old.Origin == files.Derived && r.Base != "" {
			d.Origin = files.Derived // distrust is lifted by a person only
		}
	}
	doc.Set("origin", d.Origin)
	doc.Body = body + "\n"
	d.Content = doc.String()
	return d, nil
}

// orders are turns of phrase that tell a reader to act; in a memory that came
// from outside they are shown to people.
var orders = regexp.MustCompile(`(?i)\b(always|never|must|ignore (?:all|any|previous|the)|disregard|make sure to|do not tell|don't tell|first run|instead run|execute|curl|wget)\b`)

func imperative(s string) (flags []string) {
	seen := map[string]bool{}
	for _, m := range orders.FindAllString(s, 20) {
		if m = strings.ToLower(m); !seen[m] {
			seen[m] = true
			flags = append(flags, m)
		}
	}
	return flags
}

// Saved tells that a draft's file was written: the store gets it at once, with
// its anchors as they are now.
func (e *Engine) Saved(ctx context.Context, d Draft) (MemoryInfo, error) {
	s, err := e.openStore(ctx, true)
	if err != nil {
		return MemoryInfo{}, err
	}
	m, problems := e.lay.ReadMemory(d.Slug)
	if m == nil {
		if len(problems) > 0 {
			return MemoryInfo{}, errors.New(problems[0].String())
		}
		return MemoryInfo{}, fmt.Errorf("%s is not there (saved in the editor only?)", e.lay.Rel(d.Path))
	}
	taxonomy, err := e.lay.ReadDomains()
	if err != nil {
		e.tellOnce(err.Error())
	}
	anchors, defined := e.anchorsOf(ctx, m.Text)
	err = s.Write(ctx, "save "+d.Slug, func(tx *store.Tx) error { return putMemory(tx, *m, anchors, defined, taxonomy) })
	if err != nil {
		return MemoryInfo{}, err
	}
	info, _, err := e.ByID(ctx, d.ID)
	return info, err
}

// SaveMemory checks a memory, writes its file and stores it. A slug that is
// taken is an update, for which Base must be the digest of the file that is there.
func (e *Engine) SaveMemory(ctx context.Context, r SaveRequest) (SaveResult, error) {
	d, err := e.PrepareSave(ctx, r)
	if err != nil {
		return SaveResult{}, err
	}
	if err := e.lay.Prepare(); err != nil {
		return SaveResult{}, err
	}
	out := SaveResult{ID: d.ID, Path: e.lay.Rel(d.Path), Origin: d.Origin, Flags: d.Flags, Created: r.Base == "",
		Base: string(workspace.DigestOfString(d.Content))}
	if r.Base == "" {
		err = files.Create(d.Path, []byte(d.Content))
	} else {
		err = files.Replace(d.Path, []byte(d.Content), workspace.Digest(r.Base))
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return SaveResult{}, &Refusal{"exists", fmt.Sprintf("there is a memory %s already", r.Slug), "read " + out.Path + " and pass its base to change it"}
	case errors.Is(err, files.ErrChanged), errors.Is(err, fs.ErrNotExist):
		return SaveResult{}, &Refusal{"stale_base", out.Path + " is not what it was when you read it", "read it again before you change it"}
	case err != nil:
		return SaveResult{}, err
	}
	_, err = e.Saved(ctx, d)
	return out, err
}

// Cite records that a session made use of a memory, and how good it was.
func (e *Engine) Cite(ctx context.Context, r CiteRequest) (CiteResult, error) {
	remark := strings.TrimSpace(secret.Mask(strings.ToValidUTF8(r.Remark, "\uFFFD")))
	switch n := utf8.RuneCountInString(remark); {
	case !nodeShape.MatchString(r.MemoryID) || len(r.MemoryID) != 28:
		return CiteResult{}, &Refusal{"invalid", fmt.Sprintf("%q is no memory id", r.MemoryID), "use the nod_ id that the frame shows"}
	case r.Score < 1 || r.Score > 5:
		return CiteResult{}, &Refusal{"invalid", fmt.Sprintf("useful_score is %d", r.Score), "give 1 (no use) to 5 (decisive)"}
	case n < 1 || n > 300:
		return CiteResult{}, &Refusal{"invalid", fmt.Sprintf("the remark has %d characters", n), "say in 1 to 300 characters what it was good for"}
	}
	l, err := e.openLedger(ctx, false)
	if err != nil {
		if errors.Is(err, store.ErrAbsent) {
			return CiteResult{}, notShown(r.MemoryID)
		}
		return CiteResult{}, err
	}
	if shown, err := l.WasShown(ctx, r.Session, r.MemoryID); err != nil {
		return CiteResult{}, err
	} else if !shown {
		return CiteResult{}, notShown(r.MemoryID)
	}
	return e.cite(ctx, r, remark)
}

func notShown(id string) error {
	return &Refusal{"denied", id + " was not shown in this session", "cite only what a recall frame or the prompt's memories showed you"}
}
