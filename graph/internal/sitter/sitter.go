// Package sitter is the one place that talks to the tree-sitter C library.
//
// It takes the library from go-tree-sitter but not that module's Go types: a
// query over a file gives one capture per identifier, and fetching them one by
// one costs a crossing between Go and C and an allocation each, more than the
// parsing. Here a parse is one crossing and a whole query run is one crossing,
// which fills a flat array.
//
// Nothing here has a finalizer. Whoever makes a Parser, Tree, Query or Cursor
// closes it exactly once; Live counts what is open, for the leak tests. Offsets
// are bytes, in uint32: texts of 4 GiB and more are refused.
package sitter

/*
#include "sitter.h"
#if defined(__GLIBC__)
#include <malloc.h>
static void st_trim(void) { malloc_trim(0); }
#else
static void st_trim(void) {}
#endif
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/stella-ls/stella-ls/graph/syntax"
	_ "github.com/tree-sitter/go-tree-sitter" // the C library; its init must run before ours
)

var cAllocator = C.st_use_c_allocator() == 1

// Live counts open objects of the C library.
var Live struct{ Parsers, Trees, Queries, Cursors atomic.Int64 }

// ErrTooSlow says that a text was not parsed within its limit.
var ErrTooSlow = errors.New("parsing took too long")

// Language is a grammar.
type Language struct {
	ptr           *C.TSLanguage
	once          sync.Once
	names, fields []string
}

// NewLanguage wraps the pointer that a grammar's Go binding returns.
func NewLanguage(p unsafe.Pointer) *Language { return &Language{ptr: (*C.TSLanguage)(p)} }

// load reads the grammar's names.
func (l *Language) load() {
	for i := range uint32(C.ts_language_symbol_count(l.ptr)) {
		l.names = append(l.names, C.GoString(C.ts_language_symbol_name(l.ptr, C.uint16_t(i))))
	}
	l.fields = append(l.fields, "")
	for i := range uint32(C.ts_language_field_count(l.ptr)) {
		l.fields = append(l.fields, C.GoString(C.ts_language_field_name_for_id(l.ptr, C.uint16_t(i+1))))
	}
}

// SymbolName is the node type with this number.
func (l *Language) SymbolName(symbol uint16) string {
	l.once.Do(l.load)
	if int(symbol) < len(l.names) {
		return l.names[symbol]
	}
	return "ERROR"
}

// Parser parses texts of one language. It is not safe for concurrent use.
type Parser struct {
	ptr  *C.TSParser
	flag *C.size_t // in C memory: non-zero stops a running parse
}

// NewParser makes a parser for l. limit bounds one parse; 0 is no bound.
func NewParser(l *Language, limit time.Duration) (*Parser, error) {
	p := &Parser{ptr: C.ts_parser_new(), flag: (*C.size_t)(C.calloc(1, C.sizeof_size_t))}
	if !C.ts_parser_set_language(p.ptr, l.ptr) {
		C.ts_parser_delete(p.ptr)
		C.free(unsafe.Pointer(p.flag))
		return nil, errors.New("grammar and tree-sitter library do not fit together")
	}
	C.ts_parser_set_cancellation_flag(p.ptr, p.flag)
	if limit > 0 {
		C.ts_parser_set_timeout_micros(p.ptr, C.uint64_t(limit.Microseconds()))
	}
	Live.Parsers.Add(1)
	return p, nil
}

// Close frees the parser.
func (p *Parser) Close() {
	C.ts_parser_delete(p.ptr)
	C.free(unsafe.Pointer(p.flag))
	p.ptr = nil
	Live.Parsers.Add(-1)
}

// Parse parses text. With old, which must have been edited to fit text, only
// what changed is parsed again. It fails with ctx's error, or ErrTooSlow.
func (p *Parser) Parse(ctx context.Context, text []byte, old *Tree) (*Tree, error) {
	if uint64(len(text)) > math.MaxUint32-1 {
		return nil, fmt.Errorf("text of %d bytes is too large to parse", len(text))
	}
	flag := (*uintptr)(unsafe.Pointer(p.flag))
	atomic.StoreUintptr(flag, 0)
	if ctx.Done() != nil {
		done := make(chan struct{})
		stop := context.AfterFunc(ctx, func() { atomic.StoreUintptr(flag, 1); close(done) })
		// The flag must not be touched once the parser may be closed.
		defer func() {
			if !stop() {
				<-done
			}
		}()
	}
	var oldPtr *C.TSTree
	if old != nil {
		oldPtr = old.ptr
	}
	t := C.ts_parser_parse_string(p.ptr, oldPtr, bytesPtr(text), C.uint32_t(len(text)))
	runtime.KeepAlive(text)
	if t == nil {
		C.ts_parser_reset(p.ptr)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, ErrTooSlow
	}
	Live.Trees.Add(1)
	return &Tree{ptr: t, size: uint32(len(text))}, nil
}

var emptyText = [1]byte{}

func bytesPtr(b []byte) *C.char {
	if len(b) == 0 {
		return (*C.char)(unsafe.Pointer(&emptyText[0]))
	}
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(b)))
}

// Tree is a syntax tree. It costs about 31 bytes of C memory per byte of text.
type Tree struct {
	ptr  *C.TSTree
	size uint32
}

// Close frees the tree.
func (t *Tree) Close() {
	if t.ptr == nil {
		panic("sitter: tree closed twice")
	}
	C.ts_tree_delete(t.ptr)
	t.ptr = nil
	Live.Trees.Add(-1)
}

// Clone returns a second reference for another reader; both must be closed.
func (t *Tree) Clone() *Tree {
	Live.Trees.Add(1)
	return &Tree{ptr: C.ts_tree_copy(t.ptr), size: t.size}
}

// Point is a 0-based row and a column in bytes.
type Point struct{ Row, Column uint32 }

// Edit is one replacement: [Start, OldEnd) became [Start, NewEnd).
type Edit struct {
	Start, OldEnd, NewEnd                uint32
	StartPoint, OldEndPoint, NewEndPoint Point
}

func (p Point) c() C.TSPoint { return C.TSPoint{row: C.uint32_t(p.Row), column: C.uint32_t(p.Column)} }

// Edit tells the tree what changed in the text, before it is handed to Parse.
func (t *Tree) Edit(e Edit) {
	ce := C.TSInputEdit{
		start_byte: C.uint32_t(e.Start), old_end_byte: C.uint32_t(e.OldEnd), new_end_byte: C.uint32_t(e.NewEnd),
		start_point: e.StartPoint.c(), old_end_point: e.OldEndPoint.c(), new_end_point: e.NewEndPoint.c(),
	}
	C.ts_tree_edit(t.ptr, &ce)
	t.size += e.NewEnd - e.OldEnd
}

// From is the edit in a text of its own that begins where a line, the row-th of the
// whole text, does: at byte at.
func (e Edit) From(at, row uint32) Edit {
	e.Start, e.OldEnd, e.NewEnd = e.Start-at, e.OldEnd-at, e.NewEnd-at
	e.StartPoint.Row, e.OldEndPoint.Row, e.NewEndPoint.Row = e.StartPoint.Row-row, e.OldEndPoint.Row-row, e.NewEndPoint.Row-row
	return e
}

// Span is a range of bytes.
type Span struct{ Start, End uint32 }

// Changed compares an edited tree with the one that Parse made of it: the range
// from the first of the root's children that is not the same in both to the
// last. ok is false when none differs. Children are the same when they are one
// subtree, or agree in place, type, parse state, error and number of nodes; it
// walks the root's children only, where comparing all nodes costs as much as
// parsing.
func (t *Tree) Changed(next *Tree) (s Span, ok bool) {
	var lo, hi C.uint32_t
	ok = bool(C.st_changed(t.ptr, next.ptr, &lo, &hi))
	return Span{uint32(lo), uint32(hi)}, ok
}

// HasError reports whether anything in the tree did not parse.
func (t *Tree) HasError() bool { return bool(C.st_has_error(t.ptr)) }

// Node is a node's range and type, copied out of the tree.
type Node struct {
	Start, End uint32
	Symbol     uint16
	Named      bool
	Missing    bool // of Errors: a token that should be there
}

func nodes(n int, fill func(out *C.st_node, max C.uint32_t) C.uint32_t) []Node {
	buf := make([]C.st_node, n)
	got := int(fill(&buf[0], C.uint32_t(n)))
	out := make([]Node, 0, min(got, n))
	for _, x := range buf[:min(got, n)] {
		out = append(out, Node{Start: uint32(x.start), End: uint32(x.end), Symbol: uint16(x.symbol), Named: x.named != 0, Missing: x.kind == 2})
	}
	return out
}

// Errors lists at most limit places that did not parse, in order.
func (t *Tree) Errors(limit int) []Node { return t.ErrorsIn(0, math.MaxUint32, limit) }

// ErrorsIn is Errors of the root's children that lie within [from, to).
func (t *Tree) ErrorsIn(from, to uint32, limit int) []Node {
	return nodes(limit, func(o *C.st_node, m C.uint32_t) C.uint32_t {
		return C.st_errors(t.ptr, C.uint32_t(from), C.uint32_t(to), o, m)
	})
}

// Region widens [lo, hi] to whole groups of the root's children, and by the group
// after them: a group is quiet nodes, by symbol, and such without a name, then one
// other node. It reaches from the end of the group before it to its own end; the
// first one begins at 0, the last ends at the text's end. before is where the group
// before them begins. ok is false when the root itself did not parse.
func (t *Tree) Region(lo, hi uint32, quiet []bool) (s Span, before uint32, ok bool) {
	l, h, b := C.uint32_t(lo), C.uint32_t(hi), C.uint32_t(0)
	var q *C.uint8_t
	if len(quiet) > 0 {
		q = (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(quiet)))
	}
	ok = bool(C.st_region(t.ptr, q, C.uint32_t(len(quiet)), &b, &l, &h))
	return Span{uint32(l), min(uint32(h), t.size)}, uint32(b), ok
}

// Path lists the nodes around a byte, outermost first, at most limit.
func (t *Tree) Path(at uint32, limit int) []Node {
	return nodes(limit, func(o *C.st_node, m C.uint32_t) C.uint32_t { return C.st_path(t.ptr, C.uint32_t(at), o, m) })
}

// Multiline lists named nodes that span lines of text, at most limit.
func (t *Tree) Multiline(text []byte, limit int) []Node {
	if uint32(len(text)) < t.size {
		return nil
	}
	return nodes(limit, func(o *C.st_node, m C.uint32_t) C.uint32_t {
		return C.st_multiline(t.ptr, bytesPtr(text), o, m)
	})
}

// CountNodes walks the whole tree.
func (t *Tree) CountNodes() int { return int(C.st_count_nodes(t.ptr)) }

// Query is a compiled .scm file; it may be used by several cursors at once.
type Query struct {
	ptr      *C.TSQuery
	Captures []string // names by capture number
	Patterns int
}

// NewQuery compiles source. An error names the line.
func NewQuery(l *Language, source string) (*Query, error) {
	var at C.uint32_t
	var kind C.int
	src := []byte(source)
	q := C.ts_query_new(l.ptr, bytesPtr(src), C.uint32_t(len(src)), &at, &kind)
	if q == nil {
		line := 1 + strings.Count(source[:min(int(at), len(source))], "\n")
		rest := source[min(int(at), len(source)):]
		rest, _, _ = strings.Cut(rest, "\n")
		what := [...]string{"", "syntax", "node type", "field", "capture", "structure", "language"}
		return nil, fmt.Errorf("query line %d: bad %s near %q", line, what[min(int(kind), len(what)-1)], rest)
	}
	out := &Query{ptr: q, Patterns: int(C.ts_query_pattern_count(q))}
	for i := range uint32(C.ts_query_capture_count(q)) {
		var n C.uint32_t
		s := C.ts_query_capture_name_for_id(q, C.uint32_t(i), &n)
		out.Captures = append(out.Captures, C.GoStringN(s, C.int(n)))
	}
	Live.Queries.Add(1)
	return out, nil
}

// Close frees the query.
func (q *Query) Close() {
	C.ts_query_delete(q.ptr)
	q.ptr = nil
	Live.Queries.Add(-1)
}

// Capture is one captured node. Captures of one match have the same Match and
// stand together.
type Capture struct {
	Match      uint32
	Start, End uint32
	Capture    uint16
	Symbol     uint16
}

// Cursor runs queries. It is not safe for concurrent use.
type Cursor struct {
	ptr *C.TSQueryCursor
	buf *C.st_buffer // in C memory
	// flat is the last flat tree, in C memory.
	flat *C.st_flat_buffer
}

// maxMatches bounds the matches that are open at one time, so that a
// pathological file cannot take all memory.
const maxMatches = 1 << 14

// NewCursor makes a cursor.
func NewCursor() *Cursor {
	c := &Cursor{ptr: C.ts_query_cursor_new(), buf: (*C.st_buffer)(C.calloc(1, C.sizeof_st_buffer)),
		flat: (*C.st_flat_buffer)(C.calloc(1, C.sizeof_st_flat_buffer))}
	C.ts_query_cursor_set_match_limit(c.ptr, maxMatches)
	Live.Cursors.Add(1)
	return c
}

// Close frees the cursor.
func (c *Cursor) Close() {
	C.ts_query_cursor_delete(c.ptr)
	C.free(unsafe.Pointer(c.buf.v))
	C.free(unsafe.Pointer(c.buf))
	C.free(unsafe.Pointer(c.flat.v))
	C.free(unsafe.Pointer(c.flat))
	c.ptr = nil
	Live.Cursors.Add(-1)
}

// Run returns the captures of q over the part [from, to) of t, in the order in
// which matches end. The slice is valid until the next Run or Close. complete is false
// when the limit on open matches dropped some.
func (c *Cursor) Run(q *Query, t *Tree, from, to uint32) (captures []Capture, complete bool) {
	if !C.st_run(c.ptr, q.ptr, t.ptr, C.uint32_t(from), C.uint32_t(to), c.buf) {
		return nil, false
	}
	if c.buf.len == 0 {
		return nil, !bool(c.buf.exceeded)
	}
	return unsafe.Slice((*Capture)(unsafe.Pointer(c.buf.v)), int(c.buf.len)), !bool(c.buf.exceeded)
}

// RunAll is Run over the whole tree.
func (c *Cursor) RunAll(q *Query, t *Tree) ([]Capture, bool) { return c.Run(q, t, 0, math.MaxUint32) }

// Flatten copies the tree of text into a flat one: the root, and those of its
// children that lie within [from, to) with all that is in them. The nodes are valid
// until the next Flatten or Close.
func (c *Cursor) Flatten(l *Language, t *Tree, text []byte, from, to uint32) *syntax.Tree {
	l.once.Do(l.load)
	out := &syntax.Tree{Text: text, Kinds: l.names, Fields: l.fields}
	if C.st_flatten(t.ptr, C.uint32_t(from), C.uint32_t(to), c.flat) && c.flat.len > 0 {
		out.Nodes = unsafe.Slice((*syntax.Node)(unsafe.Pointer(c.flat.v)), int(c.flat.len))
	}
	return out
}

// Trim gives freed C memory back to the system; called after a pass.
func Trim() { C.st_trim() }

// CAllocator reports whether the C library allocates by itself.
func CAllocator() bool { return cAllocator }
