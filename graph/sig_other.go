//go:build !unix || darwin

package graph

import (
	"io/fs"

	"github.com/stella-ls/stella-ls/graph/store"
)

func signature(fi fs.FileInfo) store.Sig {
	return store.Sig{Size: fi.Size(), MTime: fi.ModTime().UnixNano()}
}
