package lsp

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated part of docs/protocol.md")

// member is one field of a wire type.
type member struct {
	name     string
	typ      string
	optional bool
	comment  string
}

// wire is what protocol.go declares.
type wire struct {
	methods []string // in order
	name    map[string]string
	comment map[string]string
	types   []string // in order
	members map[string][]member
	doc     map[string]string
}

func parseProtocol(t *testing.T) wire {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "protocol.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	w := wire{name: map[string]string{}, comment: map[string]string{}, members: map[string][]member{}, doc: map[string]string{}}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				lit, ok := spec.Values[0].(*ast.BasicLit)
				if !ok {
					continue
				}
				method, _ := strconv.Unquote(lit.Value)
				w.methods = append(w.methods, method)
				w.name[method] = spec.Names[0].Name
				w.comment[method] = strings.TrimSpace(spec.Comment.Text())
			case *ast.TypeSpec:
				st, ok := spec.Type.(*ast.StructType)
				if !ok {
					continue
				}
				w.types = append(w.types, spec.Name.Name)
				w.doc[spec.Name.Name] = strings.Join(strings.Fields(g.Doc.Text()), " ")
				for _, field := range st.Fields.List {
					tag, _ := strconv.Unquote(field.Tag.Value)
					name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
					w.members[spec.Name.Name] = append(w.members[spec.Name.Name], member{
						name: name, optional: options == "omitempty", typ: wireType(field.Type),
						comment: strings.TrimSpace(field.Comment.Text()),
					})
				}
			}
		}
	}
	return w
}

// wireType is a Go type as JSON sees it.
func wireType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return wireType(e.X)
	case *ast.ArrayType:
		return "[" + wireType(e.Elt) + "]"
	case *ast.SelectorExpr: // json.RawMessage
		return "object"
	case *ast.Ident:
		switch e.Name {
		case "bool":
			return "boolean"
		case "int", "int32", "int64", "uint32", "float64":
			return "number"
		default:
			return e.Name
		}
	default:
		return "?"
	}
}

func (w wire) markdown() string {
	var b strings.Builder
	b.WriteString("| method | constant |\n|---|---|\n")
	for _, m := range w.methods {
		note := w.name[m]
		if c := w.comment[m]; c != "" {
			note += " (" + c + ")"
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", m, note)
	}
	for _, t := range w.types {
		fmt.Fprintf(&b, "\n### %s\n\n", t)
		if doc := w.doc[t]; doc != "" {
			b.WriteString(doc + "\n\n")
		}
		for _, m := range w.members[t] {
			opt := ""
			if m.optional {
				opt = "?"
			}
			fmt.Fprintf(&b, "- `%s%s`: %s", m.name, opt, m.typ)
			if m.comment != "" {
				b.WriteString(", " + m.comment)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

const (
	pageFile   = "../docs/protocol.md"
	beginMark  = "<!-- generated -->\n"
	endMark    = "<!-- end -->\n"
	scriptFile = "../editors/vscode/src/protocol.ts"
	luaFile    = "../editors/nvim/lua/stella/protocol.lua"
)

func TestProtocolPage(t *testing.T) {
	w := parseProtocol(t)
	page, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), beginMark)
	if !ok {
		t.Fatalf("%s has no %q", pageFile, beginMark)
	}
	got, tail, ok := strings.Cut(rest, endMark)
	if !ok {
		t.Fatalf("%s has no %q", pageFile, endMark)
	}
	want := w.markdown()
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("%s differs from protocol.go: go test ./lsp -run TestProtocol -update", pageFile)
	}
	if err := os.WriteFile(pageFile, []byte(head+beginMark+want+endMark+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

var (
	quotedMethod = regexp.MustCompile(`'(stella/[a-zA-Z/]+)'`)
	tsInterface  = regexp.MustCompile(`(?s)export interface (\w+) \{(.*?)\n?\}\n`)
	tsMember     = regexp.MustCompile(`^\s*(\w+)(\??):`)
	luaClass     = regexp.MustCompile(`(?m)^---@class stella\.(\w+)\n((?:---@field .*\n)+)`)
	luaField     = regexp.MustCompile(`(?m)^---@field (\w+)(\??) `)
)

func TestProtocolMirrorTypeScript(t *testing.T) {
	text := readMirror(t, scriptFile)
	w := parseProtocol(t)
	sameMethods(t, scriptFile, text, w)
	found := map[string][]member{}
	for _, m := range tsInterface.FindAllStringSubmatch(text, -1) {
		found[m[1]] = tsMembers(m[2])
	}
	compareTypes(t, scriptFile, found, w)
}

func TestProtocolMirrorLua(t *testing.T) {
	text := readMirror(t, luaFile)
	w := parseProtocol(t)
	sameMethods(t, luaFile, text, w)
	found := map[string][]member{}
	for _, m := range luaClass.FindAllStringSubmatch(text, -1) {
		for _, f := range luaField.FindAllStringSubmatch(m[2], -1) {
			found[m[1]] = append(found[m[1]], member{name: f[1], optional: f[2] == "?"})
		}
	}
	compareTypes(t, luaFile, found, w)
}

func readMirror(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func sameMethods(t *testing.T, file, text string, w wire) {
	t.Helper()
	got := map[string]bool{}
	for _, m := range quotedMethod.FindAllStringSubmatch(text, -1) {
		got[m[1]] = true
	}
	for _, m := range w.methods {
		if !got[m] {
			t.Errorf("%s lacks the method %s", file, m)
		}
		delete(got, m)
	}
	for m := range got {
		t.Errorf("%s has the method %s, which protocol.go lacks", file, m)
	}
}

// tsMembers returns the members of an interface's body, not those of the types
// written inside it.
func tsMembers(body string) []member {
	var out []member
	depth, start := 0, 0
	add := func(part string) {
		for line := range strings.Lines(part) {
			if m := tsMember.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				out = append(out, member{name: m[1], optional: m[2] == "?"})
				return
			}
		}
	}
	for i, c := range body {
		switch c {
		case '{', '(', '[':
			depth++
		case '}', ')', ']':
			depth--
		case ';':
			if depth == 0 {
				add(body[start:i])
				start = i + 1
			}
		}
	}
	add(body[start:])
	return out
}

// mirrorOnly are types of the mirrors that are other packages' shapes.
var mirrorOnly = []string{"Refusal"}

// compareTypes wants every type that the mirror has to be the same; at least the
// ones of the compare-and-set must be there.
func compareTypes(t *testing.T, file string, found map[string][]member, w wire) {
	t.Helper()
	for _, need := range []string{"ApplyEditParams", "ApplyEditResult", "GuardedFile", "Update"} {
		if _, ok := found[need]; !ok {
			t.Errorf("%s lacks the type %s", file, need)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		want, ok := w.members[name]
		if !ok {
			if !slices.Contains(mirrorOnly, name) {
				t.Errorf("%s has the type %s, which protocol.go lacks", file, name)
			}
			continue
		}
		if got, want := spell(found[name]), spell(want); got != want {
			t.Errorf("%s: %s is {%s}, protocol.go says {%s}", file, name, got, want)
		}
	}
}

func spell(members []member) string {
	var names []string
	for _, m := range members {
		if m.optional {
			m.name += "?"
		}
		names = append(names, m.name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestCompareTypesCanFail(t *testing.T) {
	for _, body := range []string{"a: string; b?: { c: number }; d: [x: 1]", "\n  a: string;\n  b?: {\n    c: number;\n  };\n  d: 'x' | 'y';\n"} {
		if got := spell(tsMembers(body)); got != "a b? d" {
			t.Errorf("members of %q are %q", body, got)
		}
	}
}
