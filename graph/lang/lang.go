// Package lang says what the graph has to know of a language. Each language is
// a folder below this one with its grammar, its queries (.scm) and its import
// rules, and one line in package all.
//
// The capture names that a language's queries use are the vocabulary of package
// extract; its doc comment lists them.
package lang

import (
	"path"
	"regexp"
	"strings"
	"unsafe"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/syntax"
)

// Language describes one language. It is made once and never changes.
type Language struct {
	Name  string // "rust"; also the key of stored facts
	Fence string // the name after ``` in Markdown
	// Exts are file name endings with their dot; Files are whole names.
	Exts, Files []string
	// Grammar is the pointer of the grammar's Go binding.
	Grammar func() unsafe.Pointer
	Queries string

	// Recv maps the node types that may stand before a member to what they are.
	Recv map[string]RecvMode
	// SelfNames are identifiers that mean the instance (Python's self and cls).
	SelfNames []string
	// Unwrap are types whose first argument is what matters (Optional[T], Box<T>).
	Unwrap []string
	// Rebinds is true when a second assignment to a name is the same variable.
	Rebinds bool
	// Binding reports whether a name in a pattern is a new variable; nil is yes.
	Binding func(name string) bool
	// ImportCalls are functions whose string argument is an import ("require").
	ImportCalls []string
	// ClassNames makes names declared in a class visible without a receiver to
	// code that stands directly in the class body.
	ClassNames bool
	// Shadows is true when a second declaration in a scope hides the first from
	// there on (Rust, Go).
	Shadows bool
	// ClosedModules is true when an inline module does not see the names around it (Rust).
	ClosedModules bool
	// Family names languages whose files import each other; empty is Name.
	Family string
	// FoldCase makes names compare without case (SQL).
	FoldCase bool

	// Unquote takes quotes off names (SQL).
	Unquote bool
	// Prepare returns text with every byte at its place, in a form that the
	// grammar understands better; nil parses text itself.
	Prepare func(text []byte) []byte
	// Resync matches the beginning of lines at which a definition begins at the
	// left margin; after a syntax error the text is taken up again there.
	Resync *regexp.Regexp
	// Split cuts a text into parts that are parsed one by one; nil parses it whole.
	Split func(text []byte) []Segment
	// Header finds a definition in a part that did not parse; nil does not try.
	Header func(text []byte) (Header, bool)
	// ImportTree decodes the argument of a use declaration at offset at.
	ImportTree func(text []byte, start, end uint32) []facts.Import
	// Fix adds what queries cannot say to the facts of [from, to) of a text, which
	// are top-level pieces of it.
	Fix func(text []byte, from, to uint32, f *facts.File)
	// Infer writes down what is known of types (see package infer); nil: nothing
	// beyond what the queries capture.
	Infer func(t *syntax.Tree, f *facts.File)

	// Resolver makes the import rules for one workspace; nil: no imports.
	Resolver func(env Env) Resolver
	// Package is the key of files that see each other's names without an
	// import; "" when there is no such thing for the file.
	Package func(path string) string
	// Exports reports whether a file-level definition can be imported from
	// another file; nil is always.
	Exports func(d facts.Def) bool
	// Roots are the names that begin a path at a module ("crate", "super").
	Roots []string
}

// RecvMode says how the receiver is found in its node.
type RecvMode uint8

const (
	Unknown  RecvMode = iota
	ByEnd             // the identifier that ends where the node ends
	ByHead            // the first name in the node
	Instance          // self, this
	Super
)

// Segment is a part of a text.
type Segment struct {
	Start, End uint32
	// Parse is false for parts that hold no definitions and no names worth having
	// (data); Header is still asked.
	Parse bool
}

// Header is what a definition's first words say.
type Header struct {
	Kind               facts.Kind
	Flags              facts.Flags
	NameStart, NameEnd uint32 // within the segment's text, quotes excluded
	Owner              string
}

// Env is what import rules may look at: the files of the workspace. Paths are
// absolute and slash separated. Every look is remembered, so that the import is
// resolved again when its answer would change.
type Env interface {
	// Root is the root of the workspace that holds path.
	Root(path string) string
	IsFile(path string) bool
	IsDir(path string) bool
	// Config is the content of a small file such as package.json; nil if there is none.
	Config(path string) []byte
	// Files named name anywhere in the root, for manifests.
	Named(root, name string) []string
	// Entries are the names in a directory.
	Entries(dir string) []string
	// Facts of another file, nil when it has none.
	Facts(path string) *facts.File
}

// Status of a resolved import.
type Status uint8

const (
	Unresolved Status = iota
	Resolved
	External
)

func (s Status) String() string { return [...]string{"unresolved", "resolved", "external"}[s] }

// Target is what an import points at.
type Target struct {
	Status Status
	// File is the module's file. Dir is set instead for a package without one
	// (a namespace package), or with it when the module has submodules.
	File, Dir string
	// Rest are names to look up in File, one after the other.
	Rest []string
	Why  string // unresolved and external: one sentence
}

// Resolver knows one language's import rules. It is not used concurrently.
type Resolver interface {
	// Import resolves im as written in the file from.
	Import(from string, im *facts.Import) Target
	// Member finds a submodule of a module that no definition or import names.
	Member(t Target, name string) Target
	// Begin resolves a path root such as "crate" or "super" as used in from at
	// byte at.
	Begin(from string, root string, at uint32) Target
	// Configs reports whether a change of a file invalidates everything that
	// the rules remember; existence: it was created or deleted.
	Configs(path string, existence bool) bool
}

// Matches reports whether a path is of language l.
func (l *Language) Matches(p string) bool {
	base := path.Base(p)
	for _, e := range l.Exts {
		if strings.HasSuffix(base, e) && len(base) > len(e) {
			return true
		}
	}
	for _, f := range l.Files {
		if base == f {
			return true
		}
	}
	return false
}

// FamilyName is Family, or Name.
func (l *Language) FamilyName() string {
	if l.Family != "" {
		return l.Family
	}
	return l.Name
}
