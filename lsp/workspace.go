package lsp

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// maxDiskEvents bounds the distinct paths that wait to be looked at; a branch
// switch of a large repository brings ten thousands. Events are hints, so what
// is above is dropped, and said.
const maxDiskEvents = 100_000

type (
	watchedFilesParams struct {
		Changes []struct {
			URI string `json:"uri"`
		} `json:"changes"`
	}
	foldersParams struct {
		Event struct {
			Added   []folder `json:"added"`
			Removed []folder `json:"removed"`
		} `json:"event"`
	}
	folder struct {
		URI uri.URI `json:"uri"`
	}
	filesParams struct {
		Files []struct {
			URI    string `json:"uri"`
			OldURI string `json:"oldUri"`
			NewURI string `json:"newUri"`
		} `json:"files"`
	}
	configurationParams struct {
		Settings json.RawMessage `json:"settings"`
	}
)

func (s *Server) workspaceRoutes(t table) {
	disk := &diskEvents{see: func(uri string) {
		if name, err := s.ws.ResolveURI(uri); err == nil {
			s.ws.DiskEvent(name.Path, workspace.Cause{Kind: workspace.Outside})
			s.graphChanged(name.Path)
		}
	}, dropped: func(n int) { s.log.Warn("disk events dropped; the next read of each file tells", "count", n) }}
	notification(t, protocol.MethodWorkspaceDidChangeWatchedFiles, func(p *watchedFilesParams) error {
		for _, c := range p.Changes {
			disk.add(c.URI)
		}
		return nil
	})
	moved := func(p *filesParams) error {
		for _, f := range p.Files {
			disk.add(f.URI, f.OldURI, f.NewURI)
		}
		return nil
	}
	for _, method := range []string{protocol.MethodWorkspaceDidCreateFiles, protocol.MethodWorkspaceDidRenameFiles, protocol.MethodWorkspaceDidDeleteFiles} {
		notification(t, method, moved)
	}
	// Nothing to add to what the editor is about to do; the answer is quick so
	// that it does not wait.
	for _, method := range []string{protocol.MethodWorkspaceWillCreateFiles, protocol.MethodWorkspaceWillRenameFiles, protocol.MethodWorkspaceWillDeleteFiles} {
		request(t, method, inline, func(context.Context, *filesParams) (any, error) { return nil, nil })
	}
	notification(t, protocol.MethodWorkspaceDidChangeWorkspaceFolders, s.foldersChanged)
	notification(t, protocol.MethodWorkspaceDidChangeConfiguration, func(p *configurationParams) error {
		go s.reconfigure(p.Settings)
		return nil
	})
}

// foldersChanged compares the client's own spellings: the workspace resolves
// links, so its roots may be spelled otherwise.
func (s *Server) foldersChanged(p *foldersParams) error {
	gone := map[string]bool{}
	for _, f := range p.Event.Removed {
		if dir, ok := pathOf(f.URI); ok {
			gone[dir] = true
		}
	}
	s.roots = slices.DeleteFunc(s.roots, func(dir string) bool { return gone[dir] })
	for _, f := range p.Event.Added {
		if dir, ok := pathOf(f.URI); ok && !slices.Contains(s.roots, dir) {
			s.roots = append(s.roots, dir)
		}
	}
	s.ws.SetRoots(slices.Clone(s.roots))
	return nil
}

// reconfigure passes the stella section on. Clients that follow the newer model
// send no settings and are asked.
func (s *Server) reconfigure(settings json.RawMessage) {
	var wrapped struct {
		Stella json.RawMessage `json:"stella"`
	}
	section := settings
	if json.Unmarshal(settings, &wrapped) == nil && wrapped.Stella != nil {
		section = wrapped.Stella
	}
	if (len(section) == 0 || string(section) == "null") && s.client.caps.configuration {
		var got []json.RawMessage
		ask := map[string]any{"items": []map[string]string{{"section": "stella"}}}
		if err := s.client.call(s.dispatch.base, clientDeadline, protocol.MethodWorkspaceConfiguration, ask, &got); err != nil || len(got) == 0 {
			s.log.Warn("the client's settings could not be read", "error", err)
			return
		}
		section = got[0]
	}
	if _, err := s.sessions(s.dispatch.base); err != nil || s.backend.Reconfigure == nil {
		return
	}
	if err := s.backend.Reconfigure(section); err != nil {
		s.client.show(protocol.MessageTypeWarning, "Stella: the settings were not taken over: "+err.Error())
	}
}

// registerWatchers asks the client to report every change below the roots.
func (s *Server) registerWatchers() {
	options, err := protocol.Marshal(&protocol.DidChangeWatchedFilesRegistrationOptions{
		Watchers: []protocol.FileSystemWatcher{{GlobPattern: protocol.Pattern("**/*")}},
	})
	if err != nil {
		return
	}
	p := &protocol.RegistrationParams{Registrations: []protocol.Registration{{
		ID: "stella-watch", Method: protocol.MethodWorkspaceDidChangeWatchedFiles, RegisterOptions: options,
	}}}
	if err := s.client.call(s.dispatch.base, clientDeadline, protocol.MethodClientRegisterCapability, p, nil); err != nil {
		s.log.Info("the client does not watch files", "error", err)
	}
}

// diskEvents takes hints on the read loop and looks at the paths elsewhere,
// each once however often it was named meanwhile.
type diskEvents struct {
	see     func(uri string)
	dropped func(n int)

	mu      sync.Mutex // guards what follows
	pending map[string]bool
	lost    int
	running bool
}

func (d *diskEvents) add(uris ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending == nil {
		d.pending = map[string]bool{}
	}
	for _, u := range uris {
		switch {
		case u == "":
		case len(d.pending) >= maxDiskEvents:
			d.lost++
		default:
			d.pending[u] = true
		}
	}
	if !d.running && len(d.pending) > 0 {
		d.running = true
		go d.work()
	}
}

func (d *diskEvents) work() {
	for {
		d.mu.Lock()
		batch, lost := d.pending, d.lost
		d.pending, d.lost = nil, 0
		d.running = len(batch) > 0
		d.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		if lost > 0 {
			d.dropped(lost)
		}
		for uri := range batch {
			d.see(uri)
		}
	}
}

// graphChanged passes a disk event on to the graph, once there is one; its first
// pass looks at everything anyway.
func (s *Server) graphChanged(p workspace.Path) {
	select {
	case <-s.ready:
		if s.openErr == nil && s.backend.Graph != nil {
			s.backend.Graph.FilesChanged(p)
		}
	default:
	}
}
