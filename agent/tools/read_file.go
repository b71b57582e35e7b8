package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

//go:embed read_file.md
var readFileText string

const (
	readLines    = 2000
	readBytes    = 64 << 10
	diskDiffMost = 16 << 10 // bytes of disk_diff; a longer one is not complete
)

type readFile struct{ files }

type readInput struct {
	Path  string `json:"path"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// readObject is line 2 of a read_file result.
type readObject struct {
	Status   guard.Status     `json:"status"`
	Path     string           `json:"path"`
	Base     workspace.Digest `json:"base"`
	Lines    string           `json:"lines"` // "1-40 of 300"
	Whole    bool             `json:"whole"`
	Source   string           `json:"source"` // buffer, disk
	Dirty    bool             `json:"dirty"`
	Disk     string           `json:"disk,omitempty"` // absent, unreadable
	DiskDiff string           `json:"disk_diff,omitempty"`
	Binary   bool             `json:"binary,omitempty"`
	Note     string           `json:"note,omitempty"`
}

func (readFile) Spec() Spec {
	return Spec{
		Name: "read_file", Description: readFileText, Effect: Reads, PathKeys: []string{"path"},
		Schema: schemaOf(`{"type":"object","required":["path"],"additionalProperties":false,"properties":{
			"path":{"type":"string","minLength":1},
			"start":{"type":"integer","minimum":1},
			"end":{"type":"integer","minimum":1}}}`),
	}
}

// Need asks before a file with a secret's name is shown to the model.
func (t readFile) Need(_ context.Context, env Env, call Call) Need {
	var in readInput
	if decode(call.Input, &in) != nil {
		return Need{}
	}
	name, err := env.resolve(t.ws, in.Path)
	if err != nil || !(secretName(name.Display) || secretName(string(name.Path))) {
		return Need{}
	}
	return Need{
		Ask: true, Rule: "read:" + name.Display,
		Question: Question{
			Kind: "question", Title: "Show " + name.Display + " to the model?",
			Detail: "Its name says that it holds secrets. What is read is sent to the model's provider.",
		},
	}
}

// secretName reports whether a file's name says that it holds secrets.
func secretName(p string) bool {
	base := strings.ToLower(path.Base(strings.ReplaceAll(p, "\\", "/")))
	for _, harmless := range []string{".example", ".sample", ".template", ".dist", ".pub"} {
		if strings.HasSuffix(base, harmless) {
			return false
		}
	}
	for _, glob := range []string{
		".env", ".env.*", "*.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
		"*credentials*", ".netrc", "_netrc", ".pgpass", ".npmrc", ".pypirc", ".htpasswd", "secrets.*", "*.kdbx",
	} {
		if ok, _ := path.Match(glob, base); ok {
			return true
		}
	}
	return false
}

func (t readFile) Run(ctx context.Context, env Env, call Call) (Result, error) {
	var in readInput
	if res := decode(call.Input, &in); res != nil {
		return *res, nil
	}
	if in.End != 0 && in.End < in.Start {
		return Invalid("read_file: end (%d) lies before start (%d)", in.End, in.Start), nil
	}
	file, res := t.view(ctx, env, in.Path)
	if res != nil {
		return *res, nil
	}
	if !file.Exists() {
		r := Failed(guard.StatusNotFound, file.Name.Display, file.Name.Display+" does not exist", "look for it with list_files, or create it with write_file")
		r.Observed = []guard.Observation{{File: file, Gone: true, Origin: origin(call)}}
		return r, nil
	}
	return t.show(file, in, call), nil
}

// show renders the wanted lines of a file that exists.
func (t readFile) show(file workspace.File, in readInput, call Call) Result {
	object := readObject{Status: guard.StatusOK, Path: file.Name.Display, Base: file.Base(), Source: "disk"}
	seen := guard.Observation{File: file, Origin: origin(call)}
	var remarks []string
	if b := file.Buffer; b != nil {
		object.Source, object.Dirty = "buffer", b.Dirty
		remarks = t.besideDisk(file, &object, &seen)
		if b.Unsure != "" {
			remarks = append(remarks, "this text may not be the editor's ("+b.Unsure+"): the file cannot be changed until the person saves or reopens it")
		}
	}
	text := textOf(file.Truth())
	if text.binary != "" {
		object.Binary, object.Lines = true, "0-0 of 0"
		head := fmt.Sprintf("%s is %s of %s; it is not shown", object.Path, text.binary, size(len(file.Truth())))
		return Result{Head: head, Object: object, Status: "ok", Observed: []guard.Observation{seen}}
	}
	total := len(text.lines)
	first := max(in.Start, 1)
	if first > total && total > 0 {
		return Invalid("%s has only %d lines; start is %d", object.Path, total, first)
	}
	body, last, cut := numbered(text.lines, first, in.End)
	object.Lines = fmt.Sprintf("%d-%d of %d", min(first, last), last, total)
	object.Whole = first == 1 && last == total && !cut
	seen.First, seen.Last = first, last
	if cut { // the last line was shown in part, so it does not count as seen
		seen.Last = last - 1
		remarks = append(remarks, fmt.Sprintf("line %d is too long and was cut", last))
	}
	if seen.Last < seen.First {
		seen.First, seen.Last = 0, 0
	}
	remarks = append(remarks, text.remarks()...)
	if last < total && (in.End == 0 || in.End > last) {
		remarks = append(remarks, fmt.Sprintf("more lines follow: read on with start %d", last+1))
	}
	object.Note = strings.Join(remarks, "; ")
	head := fmt.Sprintf("%s, lines %s, from the %s", object.Path, object.Lines, whereFrom(object))
	return Result{Head: head, Object: object, Status: "ok", Body: body, Observed: []guard.Observation{seen}}
}

func whereFrom(o readObject) string {
	switch {
	case o.Source == "disk":
		return "disk"
	case o.Dirty:
		return "editor (unsaved changes)"
	}
	return "editor"
}

// besideDisk says how the disk stands to an open buffer.
func (t readFile) besideDisk(file workspace.File, object *readObject, seen *guard.Observation) []string {
	b, disk := file.Buffer, file.Disk
	switch {
	case errors.Is(disk.Err, workspace.ErrUnreadable) || disk.Err != nil:
		object.Disk = "unreadable"
		return []string{"the disk could not be read: " + disk.Err.Error()}
	case !disk.Exists:
		object.Disk = "absent"
		return []string{"there is no such file on disk; this is the editor's text"}
	case t.ws.ImageOf(file.Name.Path, b.Digest, disk.Digest):
		seen.DiskShown = true
		return nil
	}
	onDisk := textOf(disk.Bytes)
	if onDisk.binary != "" {
		return []string{"the disk holds " + onDisk.binary + " and not the editor's text"}
	}
	diff := udiff.Unified("editor", "disk", strings.Join(textOf([]byte(b.Text)).lines, "\n")+"\n", strings.Join(onDisk.lines, "\n")+"\n")
	if len(diff) > diskDiffMost {
		object.DiskDiff = cutAt(diff, diskDiffMost)
		return []string{fmt.Sprintf("disk_diff is cut, %d bytes are missing", len(diff)-len(object.DiskDiff))}
	}
	object.DiskDiff = diff
	seen.DiskShown = true
	return nil
}

// numbered renders lines from first on, at most to end (0: no limit), within
// the bounds of one call. cut is true when the last line is only begun.
func numbered(lines []string, first, end int) (body string, last int, cut bool) {
	limit := min(len(lines), first+readLines-1)
	if end > 0 {
		limit = min(limit, end)
	}
	var b strings.Builder
	last = first - 1
	for n := first; n <= limit; n++ {
		line := fmt.Sprintf("%6d\t%s\n", n, lines[n-1])
		if b.Len()+len(line) > readBytes {
			if n > first {
				break
			}
			b.WriteString(cutAt(line, readBytes) + fmt.Sprintf(" [%d bytes left out]\n", len(line)-readBytes))
			return b.String(), n, true
		}
		b.WriteString(line)
		last = n
	}
	return b.String(), max(last, 0), false
}
