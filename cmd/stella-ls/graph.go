package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stella-ls/stella-ls/graph"
	"github.com/stella-ls/stella-ls/internal/config"
)

func graphCommand(ctx context.Context, e env) int {
	home, err := config.Home(e.getenv)
	if err == nil {
		err = config.EnsureHome(home)
	}
	dir := ""
	if err == nil {
		dir, err = os.Getwd()
	}
	if err != nil {
		fmt.Fprintln(e.stderr, "stella-ls graph:", err)
		return exitNone
	}
	return graph.Main(ctx, e.args, graph.MainEnv{
		Stdout: e.stdout, Stderr: e.stderr, Dir: dir, CacheDir: filepath.Join(home, "cache", "graph"),
	})
}
