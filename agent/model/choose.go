package model

import (
	"errors"
	"fmt"
	"io"

	"github.com/stella-ls/stella-ls/agent/model/script"
	"github.com/stella-ls/stella-ls/internal/config"
)

// The models taken where the settings name none.
const (
	DefaultAnthropic = "claude-sonnet-5-5"
	DefaultOpenAI    = "gpt-6.1-sol"
)

// ErrNoModel is that nothing says which model to use. Its text says what to do.
var ErrNoModel = errors.New("no model is configured: set ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment, " +
	"or [model] provider, name and base_url in settings.toml (a local server needs no key); " +
	"`stella-ls demo` shows the whole thing without a model")

// Options are what settings and environment cannot say.
type Options struct {
	// Gate opens the waits of scripts; nil without --test-hooks.
	Gate *script.Gate
	// Backoff and Timeouts replace the defaults, in tests.
	Backoff  Backoff
	Timeouts Timeouts
}

// Choose returns the model that the settings name, else the one whose key is
// first found in the environment (Anthropic, then OpenAI), else ErrNoModel.
// A model may hold a server or connections: Close it.
func Choose(s config.Model, env func(string) string, o Options) (Model, error) {
	provider := s.Provider
	if provider == "" {
		switch {
		case s.Script != "":
			provider = "script"
		case s.BaseURL != "":
			return nil, errors.New("model.base_url is set, but not model.provider: say anthropic, or openai for any compatible server")
		case env("ANTHROPIC_API_KEY") != "":
			provider = "anthropic"
		case env("OPENAI_API_KEY") != "":
			provider = "openai"
		default:
			return nil, ErrNoModel
		}
	}
	cfg := Config{Model: s.Name, ReflectionModel: s.ReflectionName, BaseURL: s.BaseURL, MaxTokens: s.MaxOutputTokens,
		OldHeaders: s.OldHeaders, Price: Price(s.Price), Backoff: o.Backoff, Timeouts: o.Timeouts}
	switch provider {
	case "anthropic":
		return chooseAnthropic(cfg, env)
	case "openai":
		return chooseOpenAI(cfg, env)
	case "script":
		return chooseScript(s.Script, cfg, o.Gate)
	}
	return nil, fmt.Errorf("model.provider %q is unknown: use anthropic, openai or script", provider)
}

func chooseAnthropic(cfg Config, env func(string) string) (Model, error) {
	cfg.Key = env("ANTHROPIC_API_KEY")
	if cfg.BaseURL == "" {
		cfg.BaseURL = env("ANTHROPIC_BASE_URL")
	}
	if cfg.Key == "" && cfg.BaseURL == "" {
		return nil, errors.New("model.provider is anthropic, but ANTHROPIC_API_KEY is not set in the environment of the language server")
	}
	if cfg.Model == "" {
		cfg.Model = DefaultAnthropic
	}
	return NewAnthropic(cfg), nil
}

func chooseOpenAI(cfg Config, env func(string) string) (Model, error) {
	cfg.Key = env("OPENAI_API_KEY")
	if cfg.BaseURL == "" {
		cfg.BaseURL = env("OPENAI_BASE_URL")
	}
	if cfg.Key == "" && cfg.BaseURL == "" {
		return nil, errors.New("model.provider is openai, but neither OPENAI_API_KEY is set in the environment of the language server, nor model.base_url to a server that needs no key")
	}
	if cfg.Model == "" {
		if cfg.BaseURL != "" {
			return nil, errors.New("model.name is not set; a server at model.base_url has its own names")
		}
		cfg.Model = DefaultOpenAI
	}
	return NewOpenAI(cfg), nil
}

func chooseScript(path string, cfg Config, gate *script.Gate) (Model, error) {
	if path == "" {
		return nil, errors.New("model.provider is script, but model.script names no file")
	}
	s, err := script.Load(path)
	if err != nil {
		return nil, err
	}
	return NewScripted(s, gate, cfg)
}

// Close ends what a model holds; nil is fine.
func Close(m Model) error {
	if c, ok := m.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
