package graph

import (
	"bytes"

	"github.com/stella-ls/stella-ls/graph/internal/sitter"
)

// editBetween is the one edit that turns a into b.
func editBetween(a, b []byte) sitter.Edit {
	n := min(len(a), len(b))
	p := commonPrefix(a, b, n)
	s := commonSuffix(a, b, n-p)
	e := sitter.Edit{Start: uint32(p), OldEnd: uint32(len(a) - s), NewEnd: uint32(len(b) - s)}
	e.StartPoint = pointAt(a, p)
	e.OldEndPoint = pointFrom(a, e.StartPoint, p, len(a)-s)
	e.NewEndPoint = pointFrom(b, e.StartPoint, p, len(b)-s)
	return e
}

func commonPrefix(a, b []byte, n int) int {
	const block = 4096
	p := 0
	for p+block <= n && bytes.Equal(a[p:p+block], b[p:p+block]) {
		p += block
	}
	for p < n && a[p] == b[p] {
		p++
	}
	return p
}

func commonSuffix(a, b []byte, n int) int {
	const block = 4096
	s := 0
	for s+block <= n && bytes.Equal(a[len(a)-s-block:len(a)-s], b[len(b)-s-block:len(b)-s]) {
		s += block
	}
	for s < n && a[len(a)-1-s] == b[len(b)-1-s] {
		s++
	}
	return s
}

// pointAt counts lines as tree-sitter does: at "\n" only.
func pointAt(text []byte, at int) sitter.Point {
	return pointFrom(text, sitter.Point{}, 0, at)
}

func pointFrom(text []byte, p sitter.Point, from, at int) sitter.Point {
	part := text[from:at]
	if n := bytes.Count(part, []byte{'\n'}); n > 0 {
		return sitter.Point{Row: p.Row + uint32(n), Column: uint32(len(part) - 1 - bytes.LastIndexByte(part, '\n'))}
	}
	return sitter.Point{Row: p.Row, Column: p.Column + uint32(len(part))}
}
