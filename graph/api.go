package graph

import (
	"context"
	"log/slog"
	"time"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// Options configure Open.
type Options struct {
	Workspace *workspace.Workspace
	// CacheDir is $STELLA_HOME/cache/graph. It may be deleted at any time
	// between runs. Empty keeps everything in memory.
	CacheDir string
	Log      *slog.Logger
	// Progress is called from the pass: files done of all. It must not block.
	Progress func(done, total int)
	// Notice tells a person something once: an index that was set aside, a
	// watcher that met its limit. It must not block.
	Notice func(text string)
	Clock  func() time.Time
	// ClientWatches is true when the editor reports file changes
	// (workspace/didChangeWatchedFiles, passed on through FilesChanged); then
	// no watcher of our own is started.
	ClientWatches bool
	// NoWatch starts neither; for one-shot commands.
	NoWatch bool
}

// How says on what an answer rests, best first.
type How string

const (
	HowLocal   How = "local"   // a scope around it, or the same file
	HowImport  How = "import"  // followed through imports and re-exports
	HowMember  How = "member"  // a member of a type or module that is known
	HowPackage How = "package" // the same package, crate or schema
	HowName    How = "name"    // nothing but the name; a guess
)

// rank orders answers; lower is better.
func (h How) rank() int {
	switch h {
	case HowLocal:
		return 0
	case HowImport:
		return 1
	case HowMember:
		return 2
	case HowPackage:
		return 3
	}
	return 4
}

// Op is one of the five questions.
type Op string

const (
	OpDefinitions Op = "definitions" // by symbol name
	OpReferences  Op = "references"  // by symbol name
	OpImports     Op = "imports"     // by file
	OpImporters   Op = "importers"   // by file
	OpNeighbors   Op = "neighbors"   // by file
)

// Query is a question as the tool, the command line and stella/graph/query ask it.
type Query struct {
	Op Op
	// Target is a symbol's name ("area", "Shape.area", "shapes::area") or a file's path.
	Target string
	// Path narrows a symbol to what is defined in, or meant in, that file.
	Path string
	// Position, with Path, asks about the name at that place: 0-based line and
	// UTF-16 character.
	Position *Position
	// Guesses also returns answers that rest on the name alone beside resolved ones.
	Guesses bool
	// Text also returns hits in strings and comments (references only).
	Text bool
	// Limit bounds Results; 0 is 200.
	Limit int
}

// Status tells the four kinds of nothing apart, and them from an answer.
type Status string

const (
	Found         Status = "found"
	Nothing       Status = "nothing"        // looked everywhere, there is none
	NotIndexed    Status = "not_indexed"    // the index is not complete yet
	NoInformation Status = "no_information" // this kind of file has no such information
	Failed        Status = "failed"         // could not tell
)

// Position is a 0-based line and UTF-16 character.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is [Start, End).
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Result is one row of an Answer. Which members are set follows the operation.
type Result struct {
	// Path is relative to the root, slash separated; null for an import that
	// leads to no file of the workspace.
	Path      *string `json:"path"`
	Range     *Range  `json:"range,omitempty"`
	NameRange *Range  `json:"name_range,omitempty"`
	// Kind is the definition's kind, a reference's role (call, import, write,
	// type, read), or for neighbors "imports" or "imported by".
	Kind      string `json:"kind,omitempty"`
	Name      string `json:"name,omitempty"`
	Container string `json:"container,omitempty"`
	How       How    `json:"how,omitempty"`
	// Text is the signature line of a definition, or the line of a reference.
	Text string `json:"text,omitempty"`

	// Imports only.
	Specifier string `json:"specifier,omitempty"`
	Status    string `json:"status,omitempty"` // "resolved", "external", "unresolved"
	Why       string `json:"why,omitempty"`

	// File is the identity of Path, for callers in this process.
	File workspace.Path `json:"-"`
}

// Answer is what a Query gives, and the JSON that `stella-ls graph --json`
// prints.
type Answer struct {
	Query  Op     `json:"query"`
	Target string `json:"target"`
	// Complete is false while a pass is running that may change the answer.
	Complete bool `json:"complete"`
	// AgeMS is how long ago the index last agreed with the disk, in
	// milliseconds; 0 when it does now.
	AgeMS   int64    `json:"age_ms"`
	Results []Result `json:"results"`
	// More counts results beyond the limit.
	More int `json:"more"`
	// Guesses counts answers by name alone that were left out.
	Guesses int    `json:"guesses,omitempty"`
	Status  Status `json:"status"`
	// Why explains a Status other than Found, in one sentence.
	Why string `json:"why,omitempty"`
}

// At is a place in a file, in the caller's encoding.
type At struct {
	Path workspace.Path
	Pos  workspace.Position
	Enc  workspace.Encoding
}

// Location is a definition or an occurrence, for the editor. Ranges are in the
// encoding that was asked for; the byte offsets are into the text that Version names.
type Location struct {
	Path               workspace.Path
	Version            int32 // of the open document; 0 when the disk was read
	Range, NameRange   workspace.Range
	Start, End         int
	NameStart, NameEnd int
	Name               string
	Kind               string // as Result.Kind
	Container          string
	How                How
}

// Symbol is a node of a document's outline.
type Symbol struct {
	Location
	Detail   string // signature line
	Children []Symbol
}

// HoverInfo is what is known about the symbol under the cursor.
type HoverInfo struct {
	Location                  // of the definition
	Under     workspace.Range // the name under the cursor
	Language  string          // fence language of Signature
	Signature string
	Doc       string // as written, comment signs removed
	// References and Files count resolved uses; Counted is false when counting
	// was cut short, the numbers are then lower bounds.
	References, Files int
	Counted           bool
}

// Call is one row of a call hierarchy: the other end, and where the calls are.
type Call struct {
	Symbol Location
	Sites  []workspace.Range // in the caller's file
}

// Link is an import that leads to a file.
type Link struct {
	Range  workspace.Range // of the specifier
	Target workspace.Path
}

// FoldingRange is a foldable region, whole lines.
type FoldingRange struct {
	StartLine, EndLine int
	Kind               string // "comment", "imports" or ""
}

// IndexStatus is what doctor and the status bar show.
type IndexStatus struct {
	Ready       bool
	Files       int
	ByLanguage  map[string]int
	Done, Total int            // of the running pass
	Skipped     map[string]int // reason -> files: "too large", "binary", "minified", "generated", "ignored by language"
	Broken      int            // files with syntax errors
	Watches     int            // directories watched; 0 when the client watches
	Watching    string         // "editor", "inotify", "reconcile only", "off"
	LastPass    time.Time
	Set         string // why the last index was set aside; empty when it was not
}

// Service is everything that lsp, agent/tools, contextengine and cmd use. *Graph
// implements it.
type Service interface {
	Start(ctx context.Context)
	Ready() <-chan struct{}
	Wait(ctx context.Context) error
	Close() error
	Status() IndexStatus
	Query(ctx context.Context, q Query) (Answer, error)
	FilesChanged(paths ...workspace.Path)
	Reindex()

	Definition(ctx context.Context, at At) ([]Location, error)
	TypeDefinition(ctx context.Context, at At) ([]Location, error)
	Implementation(ctx context.Context, at At) ([]Location, error)
	References(ctx context.Context, at At, declaration bool) ([]Location, error)
	Highlights(ctx context.Context, at At) ([]Location, error)
	DocumentSymbols(ctx context.Context, p workspace.Path, e workspace.Encoding) ([]Symbol, error)
	// WorkspaceSymbols leaves out files that keep refuses; nil keeps all.
	WorkspaceSymbols(ctx context.Context, query string, limit int, keep func(workspace.Path) bool, e workspace.Encoding) ([]Location, error)
	Hover(ctx context.Context, at At) (*HoverInfo, error)
	IncomingCalls(ctx context.Context, at At) ([]Call, error)
	OutgoingCalls(ctx context.Context, at At) ([]Call, error)
	Links(ctx context.Context, p workspace.Path, e workspace.Encoding) ([]Link, error)
	FoldingRanges(ctx context.Context, p workspace.Path) ([]FoldingRange, error)
	SelectionRanges(ctx context.Context, at At) ([]workspace.Range, error) // innermost first

	Broken(path workspace.Path, before, after []byte) string
	SymbolRange(path workspace.Path, text []byte, name string) [][2]int
}

var _ Service = (*Graph)(nil)
