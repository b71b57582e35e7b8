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

// canonical resolves every symbolic link of an absolute path and spells each
// existing element as its directory does. Elements that do not exist stay as
// they are. entry is the same with the last element's link left alone.
func canonical(abs string) (target, entry string, err error) {
	dir, base := filepath.Split(filepath.Clean(abs))
	dir = filepath.Clean(dir)
	if base == "" { // the file system's root
		return dir, dir, nil
	}
	links := 0
	dir, err = follow(dir, &links)
	if err != nil {
		return "", "", err
	}
	name := entryName(dir, base)
	entry = filepath.Join(dir, name)
	target, err = followLast(dir, name, &links)
	return target, entry, err
}

func follow(dir string, links *int) (string, error) {
	parent, base := filepath.Split(dir)
	parent = filepath.Clean(parent)
	if base == "" {
		return dir, nil
	}
	parent, err := follow(parent, links)
	if err != nil {
		return "", err
	}
	return followLast(parent, entryName(parent, base), links)
}

func followLast(dir, name string, links *int) (string, error) {
	path := filepath.Join(dir, name)
	fi, err := os.Lstat(path)
	if err != nil || fi.Mode()&fs.ModeSymlink == 0 {
		return path, nil // what is not there cannot be a link; View will say why
	}
	if *links++; *links > maxLinks {
		return "", &PathError{Op: "resolve", Path: path, Err: errors.New("has too many symbolic links"), Hint: "look for a link that points to itself"}
	}
	to, err := os.Readlink(path)
	if err != nil {
		return "", &PathError{Op: "resolve", Path: path, Err: err}
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	parent, base := filepath.Split(filepath.Clean(to))
	if base == "" {
		return filepath.Clean(to), nil
	}
	parent, err = follow(filepath.Clean(parent), links)
	if err != nil {
		return "", err
	}
	return followLast(parent, entryName(parent, base), links)
}

// entryName returns how dir spells name: name itself when it has exactly that
// entry, the stored spelling on a volume that folds case, the other Unicode
// normal form when only that one exists.
func entryName(dir, name string) string {
	fi, err := os.Lstat(filepath.Join(dir, name))
	if err == nil {
		if other := swapCase(name); other != name {
			if fo, err := os.Lstat(filepath.Join(dir, other)); err == nil && os.SameFile(fi, fo) && fi.Mode()&fs.ModeSymlink == 0 {
				return storedName(dir, name, fi)
			}
		}
		return name
	}
	for _, form := range []norm.Form{norm.NFC, norm.NFD} {
		if other := form.String(name); other != name {
			if _, err := os.Lstat(filepath.Join(dir, other)); err == nil {
				return other
			}
		}
	}
	return name
}

// storedName finds the entry of a case-folding directory that fi is. A hard
// link under the swapped spelling is an entry of its own and keeps its name.
func storedName(dir, name string, fi fs.FileInfo) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return name
	}
	found := name
	for _, e := range entries {
		if e.Name() == name {
			return name
		}
		if strings.EqualFold(e.Name(), name) {
			if ei, err := e.Info(); err == nil && os.SameFile(ei, fi) {
				found = e.Name()
			}
		}
	}
	return found
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

// below reports whether path is dir or lies below it, by path elements.
func below(dir, path string) (rel string, ok bool) {
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
