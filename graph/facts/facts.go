// Package facts is the model of what one file says by itself: its definitions,
// its scopes, every identifier with its role, its imports. It also packs that
// into one blob and back (see Encode).
//
// A File depends on the bytes of the text and nothing else, so that it can be
// cached by their digest. Offsets are bytes of the text. Indexes into the slices
// of the same File are int32, with None for "no such thing".
package facts

// None is the index of nothing.
const None int32 = -1

// Version changes whenever the meaning or the encoding of facts changes, or what
// the queries of a language extract. Stored facts of another version are not read.
//
//	1: first form
//	2: Python types in strings, arguments of generic types are uses
//	3: expressions, from which types are worked out
//	4: an assertion at the top level of Python says nothing of the types after it
const Version = 4

// Kind is what a definition defines.
type Kind uint8

// The kinds, in no particular order but fixed: they are stored.
const (
	KindNone Kind = iota
	Function
	Method
	Class
	Struct
	Enum
	Variant
	Trait
	Interface
	Type
	Const
	Static
	Variable
	Field
	Property
	Module
	Namespace
	Macro
	Impl
	Union
	Parameter
	TypeParam
	Constructor
	Table
	Column
	View
	MaterializedView
	Index
	Procedure
	Trigger
	Schema
	Sequence
	Constraint
	kinds
)

var kindNames = [kinds]string{
	"", "function", "method", "class", "struct", "enum", "variant", "trait", "interface", "type", "const", "static",
	"variable", "field", "property", "module", "namespace", "macro", "impl", "union", "parameter", "type parameter",
	"constructor", "table", "column", "view", "materialized view", "index", "procedure", "trigger", "schema",
	"sequence", "constraint",
}

func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return ""
}

// KindOf is the kind with this name, or KindNone.
func KindOf(name string) Kind {
	for k, n := range kindNames {
		if n == name && n != "" {
			return Kind(k)
		}
	}
	return KindNone
}

// TypeLike reports whether the definition has members of its own.
func (k Kind) TypeLike() bool {
	switch k {
	case Class, Struct, Enum, Trait, Interface, Type, Union, Table, View, MaterializedView:
		return true
	}
	return false
}

// Callable reports whether the definition can be called.
func (k Kind) Callable() bool {
	switch k {
	case Function, Method, Macro, Constructor, Procedure:
		return true
	}
	return false
}

// Role is what an identifier is doing where it stands. A later role wins when
// two queries give one each.
type Role uint8

const (
	Read Role = iota
	TypeUse
	Call
	Write
	ImportUse
	Text       // inside a macro's tokens: what it means there is not known for sure
	Definition // the name of a definition
	roles
)

var roleNames = [roles]string{"read", "type", "call", "write", "import", "text", "definition"}

func (r Role) String() string {
	if r < roles {
		return roleNames[r]
	}
	return ""
}

// RecvKind is what stands before the dot of a member.
type RecvKind uint8

const (
	NoRecv      RecvKind = iota // not a member
	RecvUnknown                 // some expression
	RecvName                    // the identifier Occ.Recv, or the member that it names
	RecvCall                    // a call of Occ.Recv
	RecvSelf                    // self, this, cls
	RecvSuper                   // super
	RecvArg                     // not a member: the name of an argument in a call of Occ.Recv
	RecvExpr                    // a member of the type of the expression Occ.Recv
	RecvBoth                    // that, and what it means without: {x} is a variable and a key
	recvKinds
)

// Expr reports whether Occ.Recv is an index of File.Exprs.
func (r RecvKind) Expr() bool { return r == RecvExpr || r == RecvBoth }

// Linked reports whether Occ.Recv is an occurrence.
func (r RecvKind) Linked() bool { return r == RecvName || r == RecvCall || r == RecvArg }

// Span is a range of bytes.
type Span struct{ Start, End uint32 }

// Occ is one identifier.
type Occ struct {
	Start uint32
	Name  uint32 // index into File.Names; the identifier ends at Start plus its length
	Recv  int32  // occurrence or expression; see RecvKind
	Role  Role
	RecvK RecvKind
}

// ScopeKind tells what a scope does to names.
type ScopeKind uint8

const (
	FileScope ScopeKind = iota
	BlockScope
	FunctionScope // what is declared inside is local
	ClassScope    // what is declared inside is reached through a receiver
	ModuleScope   // an inline module or namespace
	scopeKinds
)

// Scope is a region that declares names. Scope 0 is the file.
type Scope struct {
	Start, End uint32
	Parent     int32
	Kind       ScopeKind
}

// Flags of a definition.
type Flags uint16

const (
	Exported  Flags = 1 << iota
	Local           // not visible outside a function
	Default         // the default export
	FromText        // found by its header's text, not by the grammar
	Hidden          // never an answer by itself (impl blocks)
	OnType          // a member of the type, not of an instance
	Signature       // a function without its body, maybe one of several
	Arrow           // a function that has the self of what is around it
)

// Def is a definition.
type Def struct {
	Name       uint32
	Kind       Kind
	Flags      Flags
	Start, End uint32 // the whole definition, decorators and export keyword included
	NameStart  uint32
	SigEnd     uint32 // the signature is Start..SigEnd
	Doc        Span   // doc comment or docstring; empty when there is none
	Parent     int32  // the definition around it
	Scope      int32  // the scope that declares it
	Owner      int32  // occurrence: the type that it belongs to when that is not Parent (impl, receiver)
	Type       int32  // occurrence: the head of the written type, of the value or of what a call returns
	Init       int32  // occurrence: what is called or named by the initial value
	// Val is the expression of its type: as written, of its initial value, or as
	// what surrounds it expects. That of a function is an XFunc; that of a
	// property with code behind it is the type of the property.
	Val   int32
	Bases []int32
}

// ImportKind is the form of an import.
type ImportKind uint8

const (
	ImportStatic  ImportKind = iota // import and use
	ImportDynamic                   // import(), require() inside an expression
	ReExport                        // export … from; pub use
	LocalExport                     // export { a as b }: Spec is empty
	ModDecl                         // Rust: mod name;
	Ambient                         // reference paths and the like
	importKinds
)

// BindKind is how a binding relates to the target.
type BindKind uint8

const (
	Named       BindKind = iota // one exported name
	Whole                       // the module itself
	Star                        // everything the target exports
	BindDefault                 // the default export
	bindKinds
)

// Binding is one name that an import brings.
type Binding struct {
	Kind BindKind
	// Name is the name on the target's side; empty for Whole and Star.
	Name string
	// As is the name here, or under which it is exported; empty for Star.
	As string
	// AsStart is where As stands, NameStart where Name stands; equal when there
	// is no renaming.
	AsStart, NameStart uint32
	// Binds: As is a name in this file. Exports: As is a name others can import.
	Binds, Exports bool
}

// Import is one import, re-export, use or module declaration.
type Import struct {
	Kind       ImportKind
	Start, End uint32 // the statement
	Spec       string // as written, quotes removed
	SpecStart  uint32
	TypeOnly   bool
	Scope      int32
	Bindings   []Binding
}

// File is what one file says.
type File struct {
	Size    uint32
	Lines   []uint32 // byte offset of each line's first byte; Lines[0] is 0
	ASCII   bool
	Errors  []Span   // places that did not parse, at most MaxErrors
	Notes   []string // what was left out, for people
	Names   []string
	Scopes  []Scope
	Defs    []Def    // by NameStart
	Occs    []Occ    // by Start
	Imports []Import // by Start
	Exprs   []Expr   // operands before what uses them
	// Pieces are where the expressions of each top-level piece of the text begin,
	// by Start. They are for open documents and not packed.
	Pieces []Piece
}

// Piece is a top-level piece of the text that begins at byte Start, with the index
// of its first expression.
type Piece struct {
	Start uint32
	Expr  int32
}

// MaxErrors bounds File.Errors.
const MaxErrors = 16
