package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"github.com/BurntSushi/toml"

	"github.com/stella-ls/stella-ls/internal/tomlfile"
)

// FileName is the name of both settings files.
const FileName = "settings.toml"

// maxFile bounds a settings file; what is bigger is no settings file.
const maxFile = 1 << 20

// Sources say where the layers are. An empty member leaves its layer out.
type Sources struct {
	Home string // $STELLA_HOME
	Root string // the project's directory
	// Trusted is whether the workspace is; see Trust.
	Trusted bool
	// Editor is the editor's "stella" section, a JSON object.
	Editor json.RawMessage
}

// Problem is something in the settings that was not used as it stands.
type Problem struct {
	File    string // path, or "editor settings"
	Line    int    // from 1; 0 when not known
	Key     string // dotted; empty when the file as a whole is meant
	Message string
	// Unreadable is true when the whole layer could not be used.
	Unreadable bool
}

func (p Problem) String() string {
	s := p.File
	if p.Line > 0 {
		s += fmt.Sprintf(":%d", p.Line)
	}
	s += ": "
	if p.Key != "" {
		s += p.Key + " "
	}
	return s + p.Message
}

// Load reads all layers. It always returns settings that can be used: what is
// wrong in a layer is reported and left out. When the user's or the project's
// file cannot be read as a whole, what it may have forbidden is not known, and
// every permission that is not denied becomes "ask".
func Load(src Sources) (Settings, []Problem) {
	s := Default()
	var problems []Problem
	l := loader{settings: &s, trusted: src.Trusted, report: func(p Problem) { problems = append(problems, p) }}
	if src.Home != "" {
		l.file(UserLayer, filepath.Join(src.Home, FileName))
	}
	if src.Root != "" {
		l.file(ProjectLayer, filepath.Join(src.Root, ".stella", FileName))
	}
	l.editor(src.Editor)
	if l.unknown {
		for _, p := range []*string{&s.Permissions.Write, &s.Permissions.Command, &s.Permissions.Network, &s.Permissions.MCP} {
			if *p == "allow" {
				*p = "ask"
			}
		}
		s.Permissions.Always = nil
	}
	return s, problems
}

type loader struct {
	settings *Settings
	trusted  bool
	report   func(Problem)
	unknown  bool // a file could not be read
}

func (l *loader) file(layer Layer, path string) {
	text, err := readBounded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	tree := map[string]any{}
	if err == nil {
		_, err = tomlfile.Decode(text, &tree)
	}
	if err != nil {
		l.unknown = true
		p := Problem{File: path, Message: "cannot be read: " + err.Error() + "; until it is, nothing is allowed without asking", Unreadable: true}
		var parse toml.ParseError
		if errors.As(err, &parse) {
			p.Line, p.Message = parse.Position.Line, parse.Message+"; until this is mended, nothing is allowed without asking"
		}
		l.report(p)
		return
	}
	list := statements(text)
	before := l.settings.Model.Script
	l.apply(layer, tree, func(key, message string) {
		l.report(Problem{File: path, Line: lineOf(list, key), Key: key, Message: message})
	})
	if s := &l.settings.Model.Script; *s != before && !filepath.IsAbs(*s) {
		*s = filepath.Join(filepath.Dir(path), *s)
	}
}

func readBounded(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return "", fmt.Errorf("it is not a regular file of at most %d bytes", maxFile)
	}
	b, err := os.ReadFile(path)
	return string(b), err
}

// editorOwn are keys of the editor's section that are the extension's own.
var editorOwn = map[string]bool{"server": true, "trace": true, "editor": true, "client": true, "enable": true}

func (l *loader) editor(section json.RawMessage) {
	const name = "editor settings"
	var tree map[string]any
	if len(section) == 0 {
		return
	}
	if err := json.Unmarshal(section, &tree); err != nil {
		l.report(Problem{File: name, Message: "are not an object: " + err.Error(), Unreadable: true})
		return
	}
	for k := range tree {
		if editorOwn[k] {
			delete(tree, k)
		}
	}
	l.apply(EditorLayer, tree, func(key, message string) {
		l.report(Problem{File: name, Key: "stella." + key, Message: message})
	})
}

func (l *loader) apply(layer Layer, tree map[string]any, report func(key, message string)) {
	a := applier{report: report, permit: permit(layer, l.trusted), lenient: layer == EditorLayer}
	a.table("", reflect.ValueOf(l.settings).Elem(), tree)
}
