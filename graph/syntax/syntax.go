// Package syntax is a syntax tree as one flat slice: the named nodes in the order
// of the text, parents before children. Code that has to look around a node (what
// a value is expected to be, which parameter an argument is for) reads it in
// plain Go; the tree of the C library is gone by then or may be freed.
package syntax

// Node is a named node. Next is the index after its last descendant, so that
// node i's first child is i+1 and a child's next sibling is its Next.
type Node struct {
	Start, End uint32
	Parent     int32 // -1 for the root
	Next       int32
	Symbol     uint16
	Field      uint16 // the field of the parent that it is, 0 for none
}

// Tree is a text with its nodes.
type Tree struct {
	Text  []byte
	Nodes []Node
	// Kinds and Fields are the grammar's names by number.
	Kinds, Fields []string
}

// None is no node.
const None int32 = -1

// Kind is the type of node n, "" for None.
func (t *Tree) Kind(n int32) string {
	if n < 0 || int(t.Nodes[n].Symbol) >= len(t.Kinds) {
		return ""
	}
	return t.Kinds[t.Nodes[n].Symbol]
}

// Field is the name of the field that node n is in its parent, or "".
func (t *Tree) Field(n int32) string {
	if n < 0 || int(t.Nodes[n].Field) >= len(t.Fields) {
		return ""
	}
	return t.Fields[t.Nodes[n].Field]
}

// Parent is the node around n, or None.
func (t *Tree) Parent(n int32) int32 {
	if n < 0 {
		return None
	}
	return t.Nodes[n].Parent
}

// First is the first named child, or None.
func (t *Tree) First(n int32) int32 {
	if n < 0 || t.Nodes[n].Next == n+1 {
		return None
	}
	return n + 1
}

// Sibling is the next named child of the same parent, or None.
func (t *Tree) Sibling(n int32) int32 {
	p := t.Parent(n)
	if p < 0 || t.Nodes[n].Next >= t.Nodes[p].Next {
		return None
	}
	return t.Nodes[n].Next
}

// Child is the first child with a field name, or None.
func (t *Tree) Child(n int32, field string) int32 {
	for c := t.First(n); c != None; c = t.Sibling(c) {
		if t.Field(c) == field {
			return c
		}
	}
	return None
}

// Last is the last named child, or None.
func (t *Tree) Last(n int32) int32 {
	last := None
	for c := t.First(n); c != None; c = t.Sibling(c) {
		last = c
	}
	return last
}

// Str is the text of a node.
func (t *Tree) Str(n int32) string {
	if n < 0 {
		return ""
	}
	return string(t.Text[t.Nodes[n].Start:t.Nodes[n].End])
}

// Start and End are the node's range in bytes.
func (t *Tree) Start(n int32) uint32 { return t.Nodes[n].Start }
func (t *Tree) End(n int32) uint32   { return t.Nodes[n].End }

// Between is the text between two nodes, where the operator stands.
func (t *Tree) Between(a, b int32) string {
	if a < 0 || b < 0 || t.Nodes[a].End > t.Nodes[b].Start {
		return ""
	}
	return string(t.Text[t.Nodes[a].End:t.Nodes[b].Start])
}
