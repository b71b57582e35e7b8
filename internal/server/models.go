package server

import (
	"context"
	"errors"
	"sync"

	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/agent/model/script"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/keyring"
)

// models makes the models that sessions ask for. Sessions with the same settings
// share one: it holds connections, and a script is played once.
type models struct {
	env      func(string) string
	settings func() config.Settings
	gate     *script.Gate
	lookOnly bool

	mu   sync.Mutex // guards made
	made map[config.Model]model.Model
}

func newModels(o Options, settings func() config.Settings) *models {
	m := &models{env: o.Env, settings: settings, lookOnly: o.LookOnly, made: map[config.Model]model.Model{}}
	if o.TestHooks {
		m.gate = &script.Gate{}
	}
	return m
}

func (m *models) get(name string) (model.Model, error) {
	c := m.settings().Model
	if name != "" {
		c.Name = name
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if made := m.made[c]; made != nil {
		return made, nil
	}
	made, err := model.Choose(c, m.env, model.Options{Gate: m.gate, Keyring: keyringOf(m.env)})
	if err != nil && m.lookOnly {
		return noModel{err}, nil
	}
	if err != nil {
		return nil, err
	}
	m.made[c] = made
	return made, nil
}

// keyringOf is the platform's keyring. It is asked when a model is made, and a
// person may have to unlock it: the look-up bounds itself.
func keyringOf(env func(string) string) func(string) (string, error) {
	return func(name string) (string, error) { return keyring.Get(context.Background(), env, name) }
}

func (m *models) release(name string) {
	if m.gate != nil {
		m.gate.Release(name)
	}
}

func (m *models) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var failed error
	for _, made := range m.made {
		failed = errors.Join(failed, model.Close(made))
	}
	return failed
}

// noModel stands for a model that could not be made.
type noModel struct{ err error }

func (n noModel) Name() string { return "none" }

func (n noModel) Stream(context.Context, model.Request, func(model.Event)) (model.Response, error) {
	return model.Response{}, n.err
}
