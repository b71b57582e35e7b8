package extract_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stella-ls/stella-ls/graph/extract"
	"github.com/stella-ls/stella-ls/graph/facts"
	"github.com/stella-ls/stella-ls/graph/lang/all"
)

func TestQueriesCompile(t *testing.T) {
	var us extract.Units
	defer us.Close()
	for _, l := range all.Languages {
		if _, err := us.Get(l); err != nil {
			t.Error(err)
		}
	}
}

// TestDump prints the facts of a file, for people who write queries:
// DUMP=path go test -run TestDump ./graph/extract
func TestDump(t *testing.T) {
	p := os.Getenv("DUMP")
	if p == "" {
		t.Skip("DUMP names no file")
	}
	text, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	var us extract.Units
	defer us.Close()
	w := extract.NewWorker(&us)
	defer w.Close()
	f, err := w.File(context.Background(), all.For(p), text)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Print(facts.Describe(f))
}
