package lsp

import (
	"context"
	"encoding/json"
	"slices"
	"sort"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// clientCaps is what of the client's capabilities decides something here.
type clientCaps struct {
	stella          ClientCapabilities
	ui              bool // one of our extensions: it has its own commands and views
	applyEdit       bool
	documentChanges bool
	showDocument    bool
	progress        bool
	watchFiles      bool
	configuration   bool
	actionLiterals  bool
	disabledActions bool
}

func (s *Server) lifeRoutes(t table) {
	request(t, protocol.MethodInitialize, inline, s.initialize)
	request(t, protocol.MethodShutdown, inline, s.shutdown)
	notification(t, protocol.MethodInitialized, func(*struct{}) error { return s.initialized() })
	notification(t, protocol.MethodExit, func(*struct{}) error {
		s.finish("the client said exit", 1)
		return nil
	})
	notification(t, protocol.MethodSetTrace, func(p *protocol.SetTraceParams) error {
		s.toClient.verbose.Store(p.Value == protocol.TraceValueVerbose)
		return nil
	})
}

// initialize answers at once: nothing is read, indexed or connected before.
func (s *Server) initialize(_ context.Context, p *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	s.client.caps = readCaps(&p.Capabilities)
	s.counting = counting{pickEncoding(&p.Capabilities), lineEnds(p.ClientInfo.Name)}
	var opts InitializationOptions
	if len(p.InitializationOptions) > 0 {
		if err := json.Unmarshal(p.InitializationOptions, &opts); err != nil {
			s.log.Warn("initializationOptions do not fit and are ignored", "error", err)
		}
	}
	s.roots = rootsOf(p)
	s.ws = s.config.Workspace(slices.Clone(s.roots))
	s.ws.SetEncoding(s.counting.encoding)
	s.ws.SetLines(s.counting.lines)
	s.start = Opening{
		Workspace: s.ws, Trusted: opts.Trusted, Settings: opts.Settings,
		Client: &sessionClient{s}, Editor: &editor{s},
		Changed: s.status.push,
		Tell:    func(m string) { s.client.show(protocol.MessageTypeWarning, m) },
		Inform:  func(m string) { s.client.show(protocol.MessageTypeInfo, m) },

		MemoriesChanged: func(string, []string) { s.diagnose.lookAtMemories() },

		Log: s.log,

		Indexing: (&indexing{s: s}).step, WatchesFiles: s.client.caps.watchFiles,
	}
	if p.ProcessID != nil {
		go s.watchParent(s.dispatch.base, int(*p.ProcessID))
	}
	s.dispatch.life.Store(lifeRunning)
	return &protocol.InitializeResult{
		Capabilities: s.capabilities(),
		ServerInfo:   protocol.ServerInfo{Name: "stella-ls", Version: protocol.NewOptional(s.config.Version)},
	}, nil
}

func (s *Server) initialized() error {
	s.openBackend(s.dispatch.base)
	if s.client.caps.watchFiles {
		go s.registerWatchers()
	}
	return nil
}

func (s *Server) shutdown(context.Context, *struct{}) (any, error) {
	s.dispatch.life.Store(lifeShutdown)
	return nil, nil
}

func (s *Server) capabilities() protocol.ServerCapabilities {
	everything := protocol.FileOperationRegistrationOptions{Filters: []protocol.FileOperationFilter{{
		Scheme: new("file"), Pattern: protocol.FileOperationPattern{Glob: "**/*"},
	}}}
	own, _ := json.Marshal(map[string]any{"stella": ServerCapabilities{
		Version: s.config.Version, Methods: s.customMethods(),
	}})
	return protocol.ServerCapabilities{
		PositionEncoding: protocol.PositionEncodingKind(s.counting.encoding),
		TextDocumentSync: &protocol.TextDocumentSyncOptions{
			OpenClose: new(true),
			Change:    new(protocol.TextDocumentSyncKindIncremental),
			Save:      &protocol.SaveOptions{IncludeText: new(true)},
		},
		CodeActionProvider: &protocol.CodeActionOptions{
			CodeActionKinds: []protocol.CodeActionKind{protocol.CodeActionKindQuickFix, kindAsk},
		},
		CompletionProvider:        &protocol.CompletionOptions{TriggerCharacters: []string{"_"}},
		HoverProvider:             protocol.Boolean(true),
		DefinitionProvider:        protocol.Boolean(true),
		TypeDefinitionProvider:    protocol.Boolean(true),
		ImplementationProvider:    protocol.Boolean(true),
		ReferencesProvider:        protocol.Boolean(true),
		DocumentHighlightProvider: protocol.Boolean(true),
		DocumentSymbolProvider:    protocol.Boolean(true),
		WorkspaceSymbolProvider:   protocol.Boolean(true),
		CallHierarchyProvider:     protocol.Boolean(true),
		FoldingRangeProvider:      protocol.Boolean(true),
		SelectionRangeProvider:    protocol.Boolean(true),
		DocumentLinkProvider:      &protocol.DocumentLinkOptions{},
		ExecuteCommandProvider:    protocol.ExecuteCommandOptions{Commands: s.commandNames()},
		Workspace: &protocol.WorkspaceOptions{
			WorkspaceFolders: &protocol.WorkspaceFoldersServerCapabilities{
				Supported: new(true), ChangeNotifications: protocol.Boolean(true),
			},
			FileOperations: &protocol.FileOperationOptions{
				DidCreate: everything, WillCreate: everything, DidRename: everything,
				WillRename: everything, DidDelete: everything, WillDelete: everything,
			},
		},
		Experimental: own,
	}
}

// customMethods are the stella/ methods of the dispatch table.
func (s *Server) customMethods() []string {
	var names []string
	for method := range s.dispatch.routes {
		if strings.HasPrefix(method, "stella/") {
			names = append(names, method)
		}
	}
	sort.Strings(names)
	return names
}

// pickEncoding takes the client's first choice: all three are exact here, and
// the client knows which costs it no conversion. UTF-16 is the protocol's
// default and the only one that every client has.
func pickEncoding(c *protocol.ClientCapabilities) workspace.Encoding {
	if c.General == nil {
		return workspace.UTF16
	}
	for _, e := range c.General.PositionEncodings {
		if known := workspace.Encoding(e); slices.Contains([]workspace.Encoding{workspace.UTF8, workspace.UTF16, workspace.UTF32}, known) {
			return known
		}
	}
	return workspace.UTF16
}

// lineEnds is what a client takes for the end of a line. Neovim counts its own
// lines, which a carriage return does not end.
func lineEnds(clientName string) workspace.Lines {
	name := strings.ToLower(clientName)
	if strings.Contains(name, "neovim") || strings.Contains(name, "nvim") {
		return workspace.NewlineLines
	}
	return workspace.SpecLines
}

func readCaps(c *protocol.ClientCapabilities) clientCaps {
	var out clientCaps
	var exp struct {
		Stella *ClientCapabilities `json:"stella"`
	}
	if len(c.Experimental) > 0 && json.Unmarshal(c.Experimental, &exp) == nil && exp.Stella != nil {
		out.stella, out.ui = *exp.Stella, true
	}
	if w := c.Workspace; w != nil {
		out.applyEdit = is(w.ApplyEdit)
		out.documentChanges = w.WorkspaceEdit != nil && is(w.WorkspaceEdit.DocumentChanges)
		out.watchFiles = w.DidChangeWatchedFiles != nil && is(w.DidChangeWatchedFiles.DynamicRegistration)
		out.configuration = is(w.Configuration)
	}
	if w := c.Window; w != nil {
		out.progress = is(w.WorkDoneProgress)
		out.showDocument = w.ShowDocument != nil && w.ShowDocument.Support
	}
	if t := c.TextDocument; t != nil && t.CodeAction != nil {
		out.actionLiterals = len(t.CodeAction.CodeActionLiteralSupport.CodeActionKind.ValueSet) > 0
		out.disabledActions = is(t.CodeAction.DisabledSupport)
	}
	return out
}

func is(b *bool) bool { return b != nil && *b }

// rootsOf returns the workspace's directories: the folders, else the older ways
// to name one.
func rootsOf(p *protocol.InitializeParams) []string {
	if folders, ok := p.WorkspaceFolders.Get(); ok && len(folders) > 0 {
		var roots []string
		for _, f := range folders {
			if dir, ok := pathOf(f.URI); ok {
				roots = append(roots, dir)
			}
		}
		return roots
	}
	if p.RootURI != nil {
		if dir, ok := pathOf(*p.RootURI); ok {
			return []string{dir}
		}
	}
	if dir, ok := p.RootPath.Get(); ok && dir != "" {
		return []string{dir}
	}
	return nil
}

func pathOf(u uri.URI) (string, bool) {
	if !strings.HasPrefix(string(u), "file:") {
		return "", false
	}
	dir := u.FsPath()
	return dir, dir != "" && dir != "/"
}
