// Package extract turns a text into facts: it runs a language's queries over
// the syntax tree and interprets the captures.
//
// A query marks nodes with capture names; this is the whole vocabulary:
//
//	@def.KIND      a definition (KIND is a kind's name, "_" for a space); needs @name
//	@def.selffield a field that an assignment to self.x makes
//	@name          the definition's name
//	@of            names the definition (by its name) that the match's other captures add to:
//	@body          where its signature ends
//	@type          the type written for it, or for what it returns
//	@init          what its initial value calls or builds
//	@base          a base class, trait or interface
//	@owner         the type that it belongs to, written elsewhere than around it
//	@doc           its doc string
//	@wider         a larger range (decorators, export)
//	@exported @default @static    flags
//	@cjs           must read exports or module.exports, else the match is void
//	@all           must read __all__, else the match is void
//	@self          must be one of SelfNames, else the match is void
//	@scope.KIND    block, function, class, module
//	@ref @ref.ROLE an identifier: call, type, write, text; @ref alone is read
//	@ref.quoted    one only if it stands in name quotes (SQL)
//	@ref.word      a type in a string, if it can be one
//	@ref.class     the same where other strings stand too: with a capital letter
//	@ref.member    it is a member; of @recv, @recv.call, @recv.path, @recv.arg
//	@ignore        not a name
//	@comment @attribute
//	@import @import.KIND  an import: reexport, export, dynamic, mod, raw; with
//	@import.source @import.module @import.name @import.alias @import.ns
//	@import.default @import.star, and @import.fn, which must be one of ImportCalls
package extract

import (
	"fmt"
	"strings"
	"sync"

	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/internal/sitter"
	"github.com/stella-ls/stella-ls/graph/lang"
)

type op uint8

const (
	opNone op = iota
	opDef
	opSelfField
	opName
	opOf
	opBody
	opType
	opInit
	opBase
	opOwner
	opDoc
	opWider
	opExported
	opDefault
	opStatic
	opCJS
	opAll
	opSelf
	opScope
	opRef
	opQuoted
	opWord
	opClass
	opMember
	opRecv
	opRecvCall
	opRecvPath
	opRecvArg
	opIgnore
	opComment
	opAttribute
	opImport
	opImportRaw
	opSource
	opModule
	opImportName
	opAlias
	opNS
	opDefaultName
	opStar
	opFn
)

// action is what a capture name means, with its argument.
type action struct {
	op  op
	arg uint8
}

var plainOps = map[string]action{
	"name": {op: opName}, "of": {op: opOf}, "body": {op: opBody}, "type": {op: opType}, "init": {op: opInit},
	"base": {op: opBase}, "owner": {op: opOwner}, "doc": {op: opDoc}, "wider": {op: opWider},
	"exported": {op: opExported}, "default": {op: opDefault}, "static": {op: opStatic}, "cjs": {op: opCJS}, "all": {op: opAll}, "self": {op: opSelf},
	"scope.block": {opScope, uint8(facts.BlockScope)}, "scope.function": {opScope, uint8(facts.FunctionScope)},
	"scope.class": {opScope, uint8(facts.ClassScope)}, "scope.module": {opScope, uint8(facts.ModuleScope)},
	"ref": {opRef, uint8(facts.Read)}, "ref.call": {opRef, uint8(facts.Call)}, "ref.type": {opRef, uint8(facts.TypeUse)},
	"ref.write": {opRef, uint8(facts.Write)}, "ref.text": {opRef, uint8(facts.Text)}, "ref.member": {op: opMember}, "ref.quoted": {op: opQuoted}, "ref.word": {opWord, uint8(facts.TypeUse)}, "ref.class": {opClass, uint8(facts.TypeUse)},
	"recv": {op: opRecv}, "recv.call": {op: opRecvCall}, "recv.path": {op: opRecvPath}, "recv.arg": {op: opRecvArg},
	"ignore": {op: opIgnore}, "comment": {op: opComment}, "attribute": {op: opAttribute},
	"import": {opImport, uint8(facts.ImportStatic)}, "import.reexport": {opImport, uint8(facts.ReExport)},
	"import.export": {opImport, uint8(facts.LocalExport)}, "import.dynamic": {opImport, uint8(facts.ImportDynamic)},
	"import.mod": {opImport, uint8(facts.ModDecl)}, "import.raw": {op: opImportRaw},
	"import.source": {op: opSource}, "import.module": {op: opModule}, "import.name": {op: opImportName},
	"import.alias": {op: opAlias}, "import.ns": {op: opNS}, "import.default": {op: opDefaultName},
	"import.star": {op: opStar}, "import.fn": {op: opFn},
}

// Unit is a language with its compiled query, shared by all workers.
type Unit struct {
	*lang.Language
	Grammar *sitter.Language
	query   *sitter.Query
	actions []action // by capture number
	recv    []lang.RecvMode
	quiet   []bool // by symbol: comments and attributes, which belong to what follows
}

// NewUnit compiles a language's queries. They are part of the program, so an
// error is a defect that a test of the language shows.
func NewUnit(l *lang.Language) (*Unit, error) {
	u := &Unit{Language: l, Grammar: sitter.NewLanguage(l.Grammar())}
	q, err := sitter.NewQuery(u.Grammar, l.Queries)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	u.query = q
	u.actions = make([]action, len(q.Captures))
	for i, name := range q.Captures {
		a, ok := plainOps[name]
		if kind, is := strings.CutPrefix(name, "def."); is {
			a, ok = action{opDef, uint8(facts.KindOf(strings.ReplaceAll(kind, "_", " ")))}, true
			if kind == "selffield" {
				a = action{opSelfField, uint8(facts.Field)}
			} else if a.arg == 0 {
				ok = false
			}
		}
		if !ok {
			q.Close()
			return nil, fmt.Errorf("%s: query uses an unknown capture @%s", l.Name, name)
		}
		u.actions[i] = a
	}
	for i := 0; u.Grammar.SymbolName(uint16(i)) != "ERROR" || i == 0; i++ {
		name := u.Grammar.SymbolName(uint16(i))
		u.recv = append(u.recv, l.Recv[name])
		u.quiet = append(u.quiet, strings.HasSuffix(name, "comment") || name == "attribute_item")
	}
	return u, nil
}

// isComment reports whether a match of one capture is what docs looks for.
func (u *Unit) isComment(c sitter.Capture) bool {
	o := u.actions[c.Capture].op
	return o == opComment || o == opAttribute
}

func (u *Unit) recvMode(symbol uint16) lang.RecvMode {
	if int(symbol) < len(u.recv) {
		return u.recv[symbol]
	}
	return lang.Unknown
}

// Units compiles each language once, when it is first needed.
type Units struct {
	mu sync.Mutex
	m  map[*lang.Language]*Unit
}

// Get returns the compiled form of l.
func (us *Units) Get(l *lang.Language) (*Unit, error) {
	us.mu.Lock()
	defer us.mu.Unlock()
	if u := us.m[l]; u != nil {
		return u, nil
	}
	u, err := NewUnit(l)
	if err != nil {
		return nil, err
	}
	if us.m == nil {
		us.m = map[*lang.Language]*Unit{}
	}
	us.m[l] = u
	return u, nil
}

// Close frees all queries.
func (us *Units) Close() {
	us.mu.Lock()
	defer us.mu.Unlock()
	for _, u := range us.m {
		u.query.Close()
	}
	us.m = nil
}
