package fakeeditor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Editor is one running editor with its connection to one server.
type Editor struct {
	o    Options
	conn *conn
	log  *log

	mu        sync.Mutex
	enc       string
	buffers   map[string]*buffer // by absolute path
	saveHooks saveHooks
	timers    map[*buffer]*time.Timer
	prompts   prompts
	frozen    bool // stops answering edits until thawed
	held      []message
	server    json.RawMessage // the initialize result
}

// saveHooks is what the server asked for in textDocumentSync.
type saveHooks struct{ will, text bool }

// New connects an editor to a server; r is what the server writes, w what it
// reads. Initialize comes next.
func New(r io.Reader, w io.WriteCloser, o Options) *Editor {
	if o.Kind == "" {
		o.Kind = VSCode
	}
	if len(o.Encodings) == 0 {
		o.Encodings = []string{"utf-16"}
		if o.Kind.neovim() {
			o.Encodings = []string{"utf-8", "utf-16", "utf-32"}
		}
	}
	e := &Editor{o: o, log: newLog(), buffers: map[string]*buffer{}, timers: map[*buffer]*time.Timer{}}
	e.attach(r, w)
	return e
}

// Offline is an editor without a server: what it would tell goes nowhere.
func Offline(o Options) *Editor {
	r, _ := io.Pipe()
	return New(r, discard{io.Discard}, o)
}

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

func (e *Editor) attach(r io.Reader, w io.WriteCloser) {
	e.conn = newConn(r, w, e.serve, e.log.add)
}

// Reattach connects the same editor, buffers and all, to a new server process.
func (e *Editor) Reattach(r io.Reader, w io.WriteCloser) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.prompts = prompts{}
	e.attach(r, w)
}

// Gone is closed when the server has closed its side.
func (e *Editor) Gone() <-chan struct{} { return e.conn.done }

// Initialize does the handshake and opens, in the server, every buffer that is
// open in the editor (after a restart).
func (e *Editor) Initialize(ctx context.Context) error {
	raw, err := e.Call(ctx, "initialize", e.initializeParams())
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.server = raw
	if err := e.readCapabilities(raw); err != nil {
		return err
	}
	e.conn.notify("initialized", struct{}{})
	for _, path := range slices.Sorted(mapKeys(e.buffers)) {
		e.sendOpen(e.buffers[path])
	}
	return nil
}

func (e *Editor) initializeParams() map[string]any {
	folders := []map[string]string{}
	for _, r := range e.o.Roots {
		folders = append(folders, map[string]string{"uri": fileURI(r), "name": filepath.Base(r)})
	}
	q := e.o.Quirks
	edit := map[string]any{"documentChanges": !q.NoVersions, "resourceOperations": []string{"create", "rename", "delete"}}
	capabilities := map[string]any{
		"general": map[string]any{"positionEncodings": e.o.Encodings},
		"window":  map[string]any{"workDoneProgress": true, "showMessage": map[string]any{}, "showDocument": map[string]any{"support": true}},
		"workspace": map[string]any{
			"applyEdit": !q.NoApplyEdit, "workspaceEdit": edit, "workspaceFolders": true, "configuration": true,
			"didChangeWatchedFiles": map[string]any{"dynamicRegistration": !e.o.Kind.neovim()},
			"fileOperations":        map[string]any{"didRename": true, "willRename": true, "didDelete": true, "didCreate": true},
		},
		"textDocument": map[string]any{
			"synchronization": map[string]any{"willSave": true, "didSave": true, "dynamicRegistration": true},
			"codeAction": map[string]any{"codeActionLiteralSupport": map[string]any{
				"codeActionKind": map[string]any{"valueSet": []string{"", "quickfix", "refactor", "source"}}}},
		},
	}
	if e.o.Extension {
		capabilities["experimental"] = map[string]any{"stella": map[string]any{"applyEdit": true, "diagnostics": true, "permission": true}}
	}
	init := map[string]any{}
	if e.o.Trusted != nil {
		init["trusted"] = *e.o.Trusted
	}
	if len(e.o.Settings) > 0 {
		init["settings"] = e.o.Settings
	}
	params := map[string]any{
		"processId": nil, "clientInfo": map[string]string{"name": "fakeeditor-" + string(e.o.Kind), "version": "1"},
		"capabilities": capabilities, "initializationOptions": init, "workspaceFolders": folders,
	}
	if e.o.ProcessID != 0 {
		params["processId"] = e.o.ProcessID
	}
	params["rootUri"] = nil
	if len(e.o.Roots) > 0 {
		params["rootUri"] = fileURI(e.o.Roots[0])
	}
	return params
}

func (e *Editor) readCapabilities(raw json.RawMessage) error {
	var r struct {
		Capabilities struct {
			PositionEncoding string          `json:"positionEncoding"`
			Sync             json.RawMessage `json:"textDocumentSync"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("initialize result: %w", err)
	}
	e.enc = r.Capabilities.PositionEncoding
	if e.enc == "" {
		e.enc = "utf-16"
	}
	if e.enc != "utf-16" && !slices.Contains(e.o.Encodings, e.enc) {
		return fmt.Errorf("the server chose %q, which was not offered (%v)", e.enc, e.o.Encodings)
	}
	var sync struct {
		OpenClose bool            `json:"openClose"`
		Change    int             `json:"change"`
		WillSave  bool            `json:"willSave"`
		Save      json.RawMessage `json:"save"`
	}
	if err := json.Unmarshal(r.Capabilities.Sync, &sync); err != nil || !sync.OpenClose || sync.Change != 2 {
		return fmt.Errorf("the server must ask for open/close and incremental changes: %s", r.Capabilities.Sync)
	}
	e.saveHooks = saveHooks{sync.WillSave, strings.Contains(string(sync.Save), `"includeText":true`)}
	return nil
}

// Call sends a request and waits for its answer.
func (e *Editor) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	_, ch := e.Start(method, params)
	return wait(ctx, ch)
}

// Start sends a request without waiting; see Wait and Cancel. Editors send what
// they have held back before a request of the person; stella/test/ is nobody's.
func (e *Editor) Start(method string, params any) (json.RawMessage, <-chan message) {
	if !strings.HasPrefix(method, "stella/test/") {
		e.Flush()
	}
	return e.conn.call(method, params)
}

// Flush sends every change that is held back, as if its time had come.
func (e *Editor) Flush() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, path := range slices.Sorted(mapKeys(e.buffers)) {
		e.flush(e.buffers[path])
	}
}

// Wait waits for the answer of a started request.
func (e *Editor) Wait(ctx context.Context, ch <-chan message) (json.RawMessage, error) {
	return wait(ctx, ch)
}

// Cancel sends $/cancelRequest.
func (e *Editor) Cancel(id json.RawMessage) {
	e.conn.notify("$/cancelRequest", map[string]json.RawMessage{"id": id})
}

// Notify sends a notification.
func (e *Editor) Notify(method string, params any) { e.conn.notify(method, params) }

// SendRaw writes bytes as they are, to try what a broken client does.
func (e *Editor) SendRaw(b []byte) { e.conn.raw(b) }

// Shutdown ends the server in the proper way and waits until it is gone.
func (e *Editor) Shutdown(ctx context.Context) error {
	if _, err := e.Call(ctx, "shutdown", nil); err != nil {
		return fmt.Errorf("shutdown: %w", err)
	}
	e.Notify("exit", nil)
	select {
	case <-e.Gone():
		return nil
	case <-ctx.Done():
		return errors.New("the server did not exit after exit")
	}
}

// SetOptions changes the editor's habits from now on; what was declared to the
// server at the handshake stays declared.
func (e *Editor) SetOptions(o Options) {
	e.mu.Lock()
	defer e.mu.Unlock()
	o.Encodings = e.o.Encodings
	e.o = o
}

// ServerInfo is the result of initialize.
func (e *Editor) ServerInfo() json.RawMessage { return e.server }

// CloseInput ends the server's input, as an editor that dies does.
func (e *Editor) CloseInput() { e.conn.end() }

// Encoding is the negotiated position encoding.
func (e *Editor) Encoding() string { return e.enc }

func mapKeys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
