package demo

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// server builds the binary that the demo starts as its child.
func server(t *testing.T) string {
	bin := filepath.Join(t.TempDir(), "stella-ls")
	out, err := exec.Command("go", "build", "-race", "-o", bin, "github.com/stella-ls/stella-ls/cmd/stella-ls").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// editors that this machine has: the cache that scripts/editors.sh fills, or
// what STELLA_NVIM names.
func neovims(t *testing.T) []string {
	var out []string
	if named := os.Getenv("STELLA_NVIM"); named != "" {
		out = append(out, named)
	}
	cache := os.Getenv("STELLA_EDITORS")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(dir, "stella-ls-editors")
	}
	found, err := filepath.Glob(filepath.Join(cache, "nvim-*", "usr", "bin", "nvim"))
	if err != nil {
		t.Fatal(err)
	}
	return append(out, found...)
}

func TestDemoSaysTheSameTwice(t *testing.T) {
	bin := server(t)
	cwd := t.TempDir()
	t.Chdir(cwd)
	runs := map[string]Options{"fake": {}}
	for _, n := range neovims(t) {
		runs[n] = Options{Editor: "nvim", Nvim: n}
	}
	for name, o := range runs {
		o.Server = bin
		var first string
		for i := range 2 {
			var out bytes.Buffer
			o.Out = &out
			if err := Run(context.Background(), o); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, out.String())
			}
			if i == 0 {
				first = out.String()
				t.Logf("%s:\n%s", name, first)
			} else if out.String() != first {
				t.Errorf("%s says something else the second time:\n%s", name, out.String())
			}
		}
	}
	left, err := os.ReadDir(cwd)
	if err != nil || len(left) > 0 {
		t.Errorf("the demo left something in the current directory: %v %v", left, err)
	}
}
