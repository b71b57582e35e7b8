package workspace

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxLinks bounds the symbolic links followed in one path.
const maxLinks = 40

// resolver resolves the symbolic links of one path, at most maxLinks of them.
// base is a canonical directory at which it stops; empty for none.
type resolver struct {
	base  string
	links int
}

// canonical resolves every symbolic link of an absolute path and spells each
// existing element as its directory does. Elements that do not exist stay as
// they are. entry is the same with the last element's link left alone. A path
// below base, a directory known to be canonical, is resolved from there on.
func canonical(base, abs string) (target, entry string, err error) {
	dir, name := filepath.Split(filepath.Clean(abs))
	dir = filepath.Clean(dir)
	if name == "" { // the file system's root
		return dir, dir, nil
	}
	r := resolver{base: base}
	dir, err = r.follow(dir)
	if err != nil {
		return "", "", err
	}
	name, fi := entryName(dir, name)
	entry = filepath.Join(dir, name)
	target, err = r.followLast(entry, fi)
	return target, entry, err
}

// follow resolves a directory.
func (r *resolver) follow(dir string) (string, error) {
	parent, name := filepath.Split(dir)
	if name == "" || dir == r.base {
		return dir, nil
	}
	parent, err := r.follow(filepath.Clean(parent))
	if err != nil {
		return "", err
	}
	name, fi := entryName(parent, name)
	return r.followLast(filepath.Join(parent, name), fi)
}

// followLast resolves path, whose directory is resolved; fi is what Lstat says
// of it, nil when nothing is there: that cannot be a link, and View will say why.
func (r *resolver) followLast(path string, fi fs.FileInfo) (string, error) {
	if fi == nil || fi.Mode()&fs.ModeSymlink == 0 {
		return path, nil
	}
	if r.links++; r.links > maxLinks {
		return "", &PathError{Op: "resolve", Path: path, Err: errors.New("has too many symbolic links"), Hint: "look for a link that points to itself"}
	}
	to, err := os.Readlink(path)
	if err != nil {
		return "", &PathError{Op: "resolve", Path: path, Err: err}
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(path), to)
	}
	return r.follow(filepath.Clean(to))
}

// entryName returns how dir spells name: name itself when it has exactly that
// entry, the stored spelling on a volume that folds case, the other Unicode
// normal form when only that one exists. The information is Lstat's, nil when
// there is no such entry.
func entryName(dir, name string) (string, fs.FileInfo) {
	fi, err := os.Lstat(filepath.Join(dir, name))
	if err == nil {
		if fi.Mode()&fs.ModeSymlink == 0 && answersAlike(dir, name) {
			name = storedName(dir, name, fi)
		}
		return name, fi
	}
	for _, form := range []norm.Form{norm.NFC, norm.NFD} {
		if other := form.String(name); other != name {
			if fi, err := os.Lstat(filepath.Join(dir, other)); err == nil {
				return other, fi
			}
		}
	}
	return name, nil
}

// answersAlike reports whether dir also has something under another spelling of
// name: the same entry, on a volume that folds case or Unicode's normal forms.
// (The two file numbers need not be equal: some FUSE volumes number paths.)
func answersAlike(dir, name string) bool {
	other := swapCase(name)
	if other == name {
		if other = norm.NFD.String(name); other == name {
			other = norm.NFC.String(name)
		}
	}
	if other == name {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, other))
	return err == nil
}

// storedName finds the entry of a case-folding directory that name means. What
// has an entry of its own, such as a hard link under the swapped spelling or
// another file on a volume that keeps case apart, keeps its name.
func storedName(dir, name string, fi fs.FileInfo) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return name
	}
	var alike []string
	for _, e := range entries {
		if e.Name() == name {
			return name
		}
		if !strings.EqualFold(norm.NFC.String(e.Name()), norm.NFC.String(name)) {
			continue
		}
		if ei, err := e.Info(); err == nil && os.SameFile(ei, fi) {
			return e.Name()
		}
		alike = append(alike, e.Name())
	}
	if len(alike) == 1 {
		return alike[0]
	}
	return name
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

// Below reports whether path is dir or lies below it, by path elements; rel is
// where. Both are taken as they are spelled.
func Below(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return rel, true
}

// pathOfURI returns the path a file URI names, decoded; ok is false for other
// schemes, whose whole URI is then the identity.
func pathOfURI(uri string) (path string, ok bool, err error) {
	u, err := url.Parse(uri)
	if err != nil {
		// A client may send a bare percent sign: take the text as it stands.
		if rest, found := strings.CutPrefix(uri, "file://"); found {
			return filepath.FromSlash(rest), true, nil
		}
		return "", false, &PathError{Op: "resolve", Path: uri, Err: ErrBadPath, Hint: "send a file URI"}
	}
	if !strings.EqualFold(u.Scheme, "file") {
		return "", false, nil
	}
	p := u.Path
	if u.RawQuery != "" || u.ForceQuery { // "?" and "#" unescaped in a file name
		p += "?" + u.RawQuery
	}
	if u.Fragment != "" {
		p += "#" + u.Fragment
	}
	if p == "" {
		return "", false, &PathError{Op: "resolve", Path: uri, Err: ErrBadPath, Hint: "a file URI needs a path"}
	}
	if runtime.GOOS == "windows" && len(p) > 2 && p[0] == '/' && p[2] == ':' {
		p = strings.ToUpper(p[1:2]) + p[2:]
	} else if u.Host != "" && u.Host != "localhost" && runtime.GOOS == "windows" {
		p = "//" + u.Host + p
	}
	return filepath.FromSlash(p), true, nil
}

// uriOfPath is the canonical URI of an absolute path: every byte outside the
// unreserved set and "/" is percent-encoded, as VS Code does.
func uriOfPath(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.WriteString("file://")
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("/-._~", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}
