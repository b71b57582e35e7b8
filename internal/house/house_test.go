package house

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/stella-ls/stella-ls/"

// upper says which packages a package (and those below it in its directory) must
// never reach, and so which way the arrows point.
var upper = []struct {
	from string
	to   []string
	why  string
}{
	{"internal/workspace", []string{"guard", "graph", "contextengine", "agent", "lsp", "internal/server", "cmd"}, "what a file holds does not depend on who asks"},
	{"internal/config", []string{"internal/workspace", "guard", "graph", "contextengine", "agent", "lsp", "internal/server", "cmd"}, "settings are read before anything exists"},
	{"internal/process", []string{"internal/workspace", "guard", "graph", "contextengine", "agent", "lsp", "internal/server", "cmd"}, "a command is run the same way whoever wants it"},
	{"guard", []string{"graph", "contextengine", "agent", "lsp", "internal/server", "cmd"}, "the guard never knows who asks"},
	{"internal/record", []string{"graph", "contextengine", "agent", "lsp", "internal/server", "cmd"}, "the record keeps what it is given"},
	{"graph", []string{"guard", "contextengine", "agent", "lsp", "internal/server", "cmd"}, "the graph answers anyone"},
	{"contextengine", []string{"guard", "agent", "lsp", "internal/server", "cmd"}, "memory outlives sessions; it asks the graph and nobody else"},
	{"agent", []string{"lsp", "internal/server", "cmd"}, "the protocol is an adapter, not a dependency"},
	{"lsp", []string{"internal/server", "cmd"}, "the wiring knows the parts, not the other way round"},
}

// equipment is for tests and for looking at the product from outside. Beside
// itself only what is named here may use it.
var equipment = map[string][]string{
	"internal/fakeeditor": {"internal/demo", "internal/server", "cmd/stella-ls"},
	"internal/demo":       {"cmd/stella-ls"},
	"internal/scenario":   {},
	"internal/torture":    {},
	"internal/bench":      {},
}

type listed struct {
	ImportPath string
	Dir        string
	Deps       []string
	Imports    []string
	Doc        string
	Name       string
	GoFiles    []string
}

func packages(t *testing.T) map[string]listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Deps,Imports,Doc,Name,GoFiles", "./...")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]listed{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if own, ok := strings.CutPrefix(p.ImportPath, module); ok {
			all[own] = p
		}
	}
	if len(all) < 10 {
		t.Fatalf("only %d packages found", len(all))
	}
	return all
}

// within reports whether pkg is root or below it.
func within(pkg, root string) bool { return pkg == root || strings.HasPrefix(pkg, root+"/") }

func TestArrowsPointDown(t *testing.T) {
	all := packages(t)
	for _, rule := range upper {
		found := false
		for name, p := range all {
			if !within(name, rule.from) {
				continue
			}
			found = true
			for _, dep := range p.Deps {
				own, ok := strings.CutPrefix(dep, module)
				if ok && slices.ContainsFunc(rule.to, func(up string) bool { return within(own, up) }) {
					t.Errorf("%s reaches %s: %s", name, own, rule.why)
				}
			}
		}
		if !found {
			t.Errorf("no package %s: the rule about it guards nothing", rule.from)
		}
	}
}

func TestProtocolTypesOfOCPImportNothing(t *testing.T) {
	p, ok := packages(t)["contextengine/ocp"]
	if !ok {
		t.Fatal("no package contextengine/ocp")
	}
	for _, dep := range p.Deps {
		if strings.Contains(strings.SplitN(dep, "/", 2)[0], ".") {
			t.Errorf("contextengine/ocp reaches %s; anyone must be able to vendor it", dep)
		}
	}
}

func TestTestEquipmentStaysOut(t *testing.T) {
	all := packages(t)
	for tool, users := range equipment {
		for name, p := range all {
			_, itself := equipment[name]
			if itself || slices.ContainsFunc([]string{"internal/torture", "internal/bench"}, func(e string) bool { return within(name, e) }) || slices.Contains(users, name) {
				continue
			}
			if slices.Contains(p.Deps, module+tool) {
				t.Errorf("%s reaches %s, which is test equipment", name, tool)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for name, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		if len(p.Doc) < 20 {
			t.Errorf("%s has no package comment", name)
		}
	}
}

// readers are the calls that can bring in a file's content or a directory's.
var readers = map[string][]string{
	"os":       {"ReadFile", "Open", "OpenFile", "OpenRoot", "OpenInRoot", "ReadDir", "DirFS", "CopyFS"},
	"ioutil":   {"ReadFile", "ReadDir"},
	"fs":       {"ReadFile", "ReadDir", "WalkDir"},
	"filepath": {"Walk", "WalkDir", "Glob"},
	"unix":     {"Open", "Openat", "Openat2"},
	"syscall":  {"Open"},
}

// mayRead lists who else reads files, and why that is no file of a workspace
// whose content somebody decides by, or how it is made good.
var mayRead = map[string]string{
	"internal/workspace": "the only reader of workspace files",
	"guard/commit":       "reads the target inside the write itself, under a lease, through one descriptor",
	"guard/formatter.go": "reads the candidate's own temporary back",
	"internal/config":    "settings and trust, in the user's directory and .stella/settings.toml, before a workspace exists",

	"agent/tools/walk.go":        "directory entries for listing and searching; content comes from View",
	"agent/tools/custom.go":      "names of .stella/tools; definitions are configuration",
	"internal/process":           "/proc, to find what a command left running",
	"agent/model/script":         "the script that the user named",
	"agent/model/scripted.go":    "writes the record that the script asks for",
	"contextengine/files":        "memories and rules below .stella, its own files",
	"contextengine/reflect.go":   "its own log of reflections",
	"contextengine/taxonomy.go":  "names of directories, for domains",
	"contextengine/internal/db":  "its own database's header",
	"internal/record":            "its own repository, in the user's state directory",
	"internal/server/watches.go": "/proc/sys, for the limit of watches",
	"internal/demo":              "the sample that it made itself",
	"internal/fakeeditor":        "an editor reads its files",
	"internal/scenario":          "a person looks at the disk",
	"internal/torture":           "an outside program",
	"internal/bench":             "looks at the server from outside",
	"internal/graphbench":        "measures the graph over repositories that it makes itself",
	"internal/graphaccuracy":     "compares the graph with other servers over packages that it fetched itself",
	"internal/contextbench":      "measures recall over workspaces that it makes itself",
	"graph":                      "its own index and cache; sources come from View",
	"contextengine/store":        "its own database",
}

func TestOnlyTheWorkspaceReadsWorkspaceFiles(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") && path != root {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		calls, err := readCalls(path)
		if err != nil || len(calls) == 0 {
			return err
		}
		for allowed := range mayRead {
			if rel == allowed || strings.HasPrefix(rel, allowed+"/") {
				used[allowed] = true
				return nil
			}
		}
		t.Errorf("%s calls %s: ask workspace.View, or say in mayRead why this is no workspace file", rel, strings.Join(calls, ", "))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !used["internal/workspace"] || !used["guard/commit"] {
		t.Error("the scan did not find the readers that are known to exist")
	}
}

// readCalls returns the reading calls of one file, by the packages that it
// really imports.
func readCalls(path string) ([]string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return nil, err
	}
	imported := map[string]string{}
	for _, spec := range f.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		base := p[strings.LastIndex(p, "/")+1:]
		if spec.Name != nil {
			imported[spec.Name.Name] = base
		} else {
			imported[base] = base
		}
	}
	var calls []string
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && slices.Contains(readers[imported[x.Name]], sel.Sel.Name) {
			calls = append(calls, imported[x.Name]+"."+sel.Sel.Name)
		}
		return true
	})
	return calls, nil
}
