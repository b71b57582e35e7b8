package fakeeditor

import (
	"net/url"
	"path/filepath"
	"strings"
)

// fileURI spells a path as VS Code does: all but unreserved characters escaped.
func fileURI(path string) string {
	var b strings.Builder
	b.WriteString("file://")
	for _, c := range []byte(filepath.ToSlash(path)) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("/-._~", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte("0123456789ABCDEF"[c>>4])
			b.WriteByte("0123456789ABCDEF"[c&15])
		}
	}
	return b.String()
}

// filePath is the way back.
func filePath(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	return filepath.FromSlash(u.Path)
}

// URI is how this editor spells the path of a document.
func (e *Editor) URI(path string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.buffers[path]; b != nil {
		return b.uri
	}
	return fileURI(path)
}

// OpenAs opens path under the spelling uri.
func (e *Editor) OpenAs(path, uri string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := &buffer{path: path, uri: uri, language: "plaintext", tick: 4}
	if err := e.load(b); err != nil {
		return err
	}
	e.buffers[path] = b
	e.sendOpen(b)
	return nil
}
