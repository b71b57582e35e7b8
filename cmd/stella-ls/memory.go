package main

import (
	"context"

	"github.com/stella-ls/stella-ls/agent/memory"
	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/contextengine"
	"github.com/stella-ls/stella-ls/contextengine/cli"
	"github.com/stella-ls/stella-ls/internal/config"
)

func initCommand(ctx context.Context, e env) int   { return cli.Init(ctx, contextEnv(e)) }
func memoryCommand(ctx context.Context, e env) int { return cli.Memory(ctx, contextEnv(e)) }

func contextEnv(e env) cli.Env {
	return cli.Env{
		Args: e.args, Stdout: e.stdout, Stderr: e.stderr,
		Ask: func(root string) (contextengine.Ask, error) {
			home, err := config.Home(e.getenv)
			if err != nil {
				return nil, err
			}
			trusted, _, _ := config.NewTrust(home).Trusted(root)
			settings, _ := config.Load(config.Sources{Home: home, Root: root, Trusted: trusted})
			m, err := model.Choose(settings.Model, e.getenv, model.Options{})
			if err != nil {
				return nil, err
			}
			return memory.Ask(m), nil
		},
	}
}
