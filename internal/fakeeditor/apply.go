package fakeeditor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
)

// serveEdit answers both kinds of edit request, or holds them while frozen.
func (e *Editor) serveEdit(m message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.o.Quirks.NeverAnswers {
		return
	}
	if e.frozen {
		e.held = append(e.held, m)
		return
	}
	e.edit(m)
}

// Freeze makes the editor busy: edit requests wait until Thaw.
func (e *Editor) Freeze() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.frozen = true
}

// Thaw answers, in order, what came while frozen.
func (e *Editor) Thaw() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.frozen = false
	for _, m := range e.held {
		e.edit(m)
	}
	e.held = nil
}

// Apply carries out a workspace edit that the person chose (a code action's).
func (e *Editor) Apply(edit json.RawMessage) error {
	params, err := json.Marshal(map[string]json.RawMessage{"edit": edit})
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	result, fault := e.workspaceEdit(params)
	if fault != nil {
		return errors.New(fault.Message)
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return err
	}
	var r struct {
		Applied       bool   `json:"applied"`
		FailureReason string `json:"failureReason"`
	}
	if err := json.Unmarshal(raw, &r); err != nil || !r.Applied {
		return errors.Join(err, errors.New("the edit was not applied: "+r.FailureReason))
	}
	return nil
}

func (e *Editor) edit(m message) {
	var result any
	var fault *RPCError
	if m.Method == "stella/applyEdit" {
		result, fault = e.compareAndSet(m.Params)
	} else {
		result, fault = e.workspaceEdit(m.Params)
	}
	switch {
	case e.o.Quirks.DropsAnswer:
	case fault != nil:
		e.conn.replyError(m.ID, fault.Code, fault.Message)
	default:
		e.conn.reply(m.ID, result)
	}
}

// casResult is the answer to stella/applyEdit.
type casResult struct {
	Applied       bool   `json:"applied"`
	Reason        string `json:"reason,omitempty"`
	Version       int    `json:"version"`
	SHA256Applied string `json:"sha256_applied"`
	Saved         bool   `json:"saved"`
	SaveReason    string `json:"save_reason,omitempty"`
	SHA256After   string `json:"sha256_after,omitempty"`
}

// compareAndSet is what our extensions do with stella/applyEdit.
func (e *Editor) compareAndSet(params json.RawMessage) (any, *RPCError) {
	if !e.o.Extension {
		return nil, &RPCError{Code: -32601, Message: "no such method: stella/applyEdit"}
	}
	var p struct {
		URI     string     `json:"uri"`
		Version int        `json:"version"`
		SHA256  string     `json:"sha256"`
		Edits   []TextEdit `json:"edits"`
		Save    bool       `json:"save"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &RPCError{Code: -32602, Message: err.Error()}
	}
	b := e.byURI(p.URI)
	if b == nil {
		return casResult{Reason: "closed"}, nil
	}
	if e.o.Quirks.Lies {
		return casResult{Applied: true, Version: b.version + 1, SHA256Applied: p.SHA256, Saved: p.Save}, nil
	}
	e.flush(b)
	no := func(reason string) (any, *RPCError) { return casResult{Reason: reason, Version: b.version}, nil }
	if b.version != p.Version {
		return no("version")
	}
	if sum([]byte(b.text)) != p.SHA256 {
		return no("content")
	}
	if err := e.change(b, sorted(e.coords(b).toSplices(b.text, p.Edits))); err != nil {
		return no("error")
	}
	e.flush(b)
	r := casResult{Applied: true, Version: b.version, SHA256Applied: sum([]byte(b.text))}
	if p.Save {
		r.Saved, r.SaveReason = e.saveForServer(b)
		r.Version, r.SHA256After = b.version, sum([]byte(b.text))
		if !r.Saved {
			r.SHA256After = ""
		}
	}
	return r, nil
}

func (e *Editor) saveForServer(b *buffer) (saved bool, reason string) {
	switch err := e.save(b, saveByExtension); {
	case err == nil:
		return true, ""
	case errors.Is(err, ErrConflict):
		return false, "changed on disk"
	case errors.Is(err, fs.ErrPermission):
		return false, "readonly"
	default:
		return false, err.Error()
	}
}

// workspaceEdit is the standard request, with the client's habits.
func (e *Editor) workspaceEdit(params json.RawMessage) (any, *RPCError) {
	q := e.o.Quirks
	if q.NoApplyEdit {
		return nil, &RPCError{Code: -32601, Message: "no such method: workspace/applyEdit"}
	}
	if q.Lies {
		return map[string]any{"applied": true}, nil
	}
	var p struct {
		Edit struct {
			Changes         map[string][]TextEdit `json:"changes"`
			DocumentChanges []documentChange      `json:"documentChanges"`
		} `json:"edit"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &RPCError{Code: -32602, Message: err.Error()}
	}
	changes := p.Edit.DocumentChanges
	for _, uri := range slices.Sorted(mapKeys(p.Edit.Changes)) {
		d := documentChange{Edits: p.Edit.Changes[uri]}
		d.TextDocument.URI = uri
		changes = append(changes, d)
	}
	if reason := e.stale(changes); reason != "" && !q.SaysYes {
		return map[string]any{"applied": false, "failureReason": reason}, nil
	}
	for _, d := range changes {
		if d.stale(e) {
			continue // Neovim leaves the document out and goes on
		}
		if err := e.applyDocument(d); err != nil {
			return map[string]any{"applied": false, "failureReason": err.Error()}, nil
		}
	}
	return map[string]any{"applied": true}, nil
}

// documentChange is a versioned edit, or a file operation when Kind is set.
type documentChange struct {
	Kind         string `json:"kind"`
	URI          string `json:"uri"`
	OldURI       string `json:"oldUri"`
	NewURI       string `json:"newUri"`
	TextDocument struct {
		URI     string `json:"uri"`
		Version *int   `json:"version"`
	} `json:"textDocument"`
	Edits []TextEdit `json:"edits"`
}

// stale reports whether the editor would leave d out: it was made for another
// version than the buffer's.
func (d documentChange) stale(e *Editor) bool {
	b, v, q := e.byURI(d.TextDocument.URI), d.TextDocument.Version, e.o.Quirks
	if d.Kind != "" || b == nil || v == nil || q.NoVersionCheck {
		return false
	}
	if q.ZeroApplies && *v == 0 {
		return false
	}
	if e.o.Kind.neovim() {
		return b.version > *v
	}
	return b.version != *v
}

func (e *Editor) stale(changes []documentChange) string {
	for _, d := range changes {
		if d.stale(e) {
			return d.TextDocument.URI + " has changed in the meantime"
		}
	}
	return ""
}

func (e *Editor) applyDocument(d documentChange) error {
	switch d.Kind {
	case "create":
		return os.WriteFile(filePath(d.URI), nil, 0o644)
	case "rename":
		return os.Rename(filePath(d.OldURI), filePath(d.NewURI))
	case "delete":
		return os.Remove(filePath(d.URI))
	}
	b := e.byURI(d.TextDocument.URI)
	if b == nil { // editors load the file into a buffer, changed and not saved
		path := filePath(d.TextDocument.URI)
		b = &buffer{path: path, uri: d.TextDocument.URI, language: "plaintext", tick: 4}
		if err := e.load(b); err != nil {
			return err
		}
		e.buffers[path] = b
		e.sendOpen(b)
	}
	return e.change(b, sorted(e.coords(b).toSplices(b.text, d.Edits)))
}

func (e *Editor) byURI(uri string) *buffer {
	for _, b := range e.buffers {
		if b.uri == uri {
			return b
		}
	}
	return nil
}

func sorted(s []splice) []splice {
	slices.SortStableFunc(s, func(a, b splice) int { return a.start - b.start })
	return s
}
