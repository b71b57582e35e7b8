package graph

import (
	"bytes"

	"github.com/stella-ls/stella-ls/internal/workspace"
)

// source is what the graph needs of the workspace: the bytes on disk, the open
// buffers, and to be told when either may have changed.
type source interface {
	Roots() []string
	// Read returns the bytes on disk without a byte order mark, as editors show
	// them, at most limit of them; more is workspace.ErrTooLarge.
	Read(path string, limit int64) ([]byte, error)
	Document(path string) (workspace.Buffer, bool)
	Documents() []string
	// Subscribe calls f with a path whenever its buffer (disk is false) or its
	// file may have changed. f must not block.
	Subscribe(f func(path string, disk bool)) (cancel func())
	// Display is the path as people and models write it, Resolve reads it back.
	Display(path string) string
	Resolve(spelled string) (path string, err error)
}

// fromWorkspace adapts a Workspace.
type fromWorkspace struct{ w *workspace.Workspace }

func (s fromWorkspace) Roots() []string { return s.w.Roots() }

func (s fromWorkspace) Read(path string, limit int64) ([]byte, error) {
	text, err := s.w.ReadDisk(workspace.Path(path), limit)
	return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), err
}

func (s fromWorkspace) Document(path string) (workspace.Buffer, bool) {
	return s.w.Document(workspace.Path(path))
}

func (s fromWorkspace) Documents() []string {
	var out []string
	for _, d := range s.w.Documents() {
		out = append(out, string(d.Name.Path))
	}
	return out
}

func (s fromWorkspace) Subscribe(f func(path string, disk bool)) (cancel func()) {
	return s.w.Subscribe(func(e workspace.Event) {
		switch e.Kind {
		case workspace.DiskChanged, workspace.Saved:
			f(string(e.Path), true)
		default:
			f(string(e.Path), false)
		}
	})
}

func (s fromWorkspace) Display(path string) string {
	return s.w.NameOf(workspace.Path(path)).Display
}

func (s fromWorkspace) Resolve(spelled string) (string, error) {
	n, err := s.w.Resolve("", spelled)
	return string(n.Path), err
}
