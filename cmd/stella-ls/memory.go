package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/stella-ls/stella-ls/agent/memory"
	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/contextengine"
	"github.com/stella-ls/stella-ls/contextengine/cli"
	"github.com/stella-ls/stella-ls/graph"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/keyring"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

func initCommand(ctx context.Context, e env) int   { return cli.Init(ctx, contextEnv(ctx, e)) }
func memoryCommand(ctx context.Context, e env) int { return cli.Memory(ctx, contextEnv(ctx, e)) }

func contextEnv(ctx context.Context, e env) cli.Env {
	return cli.Env{
		Args: e.args, Stdout: e.stdout, Stderr: e.stderr,
		Ask: func(root string) (contextengine.Ask, error) {
			home, err := config.Home(e.getenv)
			if err != nil {
				return nil, err
			}
			trusted, _, _ := config.NewTrust(home).Trusted(root)
			settings, _ := config.Load(config.Sources{Home: home, Root: root, Trusted: trusted})
			m, err := model.Choose(settings.Model, e.getenv, model.Options{Keyring: func(name string) (string, error) { return keyring.Get(ctx, e.getenv, name) }})
			if err != nil {
				return nil, err
			}
			return memory.Ask(m), nil
		},
		Index: func(ctx context.Context, root string) error { return fillGraph(ctx, e, root) },
	}
}

// fillGraph indexes a workspace once, so that the first question finds an index.
func fillGraph(ctx context.Context, e env, root string) error {
	home, err := config.Home(e.getenv)
	if err != nil {
		return err
	}
	g, err := graph.Open(graph.Options{
		Workspace: workspace.New(workspace.Options{Roots: []string{root}}),
		CacheDir:  filepath.Join(home, "cache", "graph"), NoWatch: true,
		Notice: func(text string) { fmt.Fprintln(e.stderr, text) },
	})
	if err != nil {
		return err
	}
	g.Start(ctx)
	return errors.Join(g.Wait(ctx), g.Close())
}
