package model

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"

	"github.com/stella-ls/stella-ls/agent/model/script"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/keyring"
)

// The models taken where the settings name none.
const (
	DefaultAnthropic = "claude-sonnet-5-5"
	DefaultOpenAI    = "gpt-6.1-sol"
)

// ErrNoModel is that nothing says which model to use. Its text says what to do.
var ErrNoModel = errors.New("no model is configured: set ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment or keep it in the keyring, " +
	"or set [model] provider, name and base_url in settings.toml (a local server needs no key); " +
	"`stella-ls demo` shows the whole thing without a model")

// Options are what settings and environment cannot say.
type Options struct {
	// Gate opens the waits of scripts; nil without --test-hooks.
	Gate *script.Gate
	// Backoff and Timeouts replace the defaults, in tests.
	Backoff  Backoff
	Timeouts Timeouts
	// Keyring looks a key up by the name of its environment variable, which comes
	// first; an error is that there is none, or why it cannot be told. Nil is no
	// keyring.
	Keyring func(name string) (string, error)
}

// The names of the keys.
const (
	anthropicKey = "ANTHROPIC_API_KEY"
	openAIKey    = "OPENAI_API_KEY"
)

// keys finds keys: in the environment, else in the keyring, each looked up once.
type keys struct {
	env     func(string) string
	keyring func(string) (string, error)
	found   map[string]string
	trouble error // the keyring is there and gave no answer
}

func (k *keys) get(name string) string {
	if key := k.env(name); key != "" || k.keyring == nil {
		return key
	}
	if key, known := k.found[name]; known {
		return key
	}
	key, err := k.keyring(name)
	if err != nil && !errors.Is(err, keyring.ErrNone) {
		k.trouble = err
	}
	k.found[name] = key
	return key
}

// keyFor is the key for a server at base. One on this machine needs none, and
// what is in the keyring is not sent to whatever listens there.
func (k *keys) keyFor(name, base string) string {
	if u, err := url.Parse(base); err == nil && base != "" {
		if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback()) {
			return k.env(name)
		}
	}
	return k.get(name)
}

// notStored says how a key gets into the keyring, where there is one.
func notStored(name string) string {
	if how := keyring.Store(name); how != "" {
		return ", nor is it in the keyring (" + how + ")"
	}
	return ""
}

// none is err, with why the keyring gave no answer.
func (k *keys) none(err error) error {
	if k.trouble != nil {
		return fmt.Errorf("%w; %w", err, k.trouble)
	}
	return err
}

// first is the provider whose key is found first, the environment's before the
// keyring's.
func (k *keys) first() string {
	for _, find := range []func(string) string{k.env, k.get} {
		switch {
		case find(anthropicKey) != "":
			return "anthropic"
		case find(openAIKey) != "":
			return "openai"
		}
	}
	return ""
}

// Choose returns the model that the settings name, else the one whose key is
// first found (Anthropic, then OpenAI; in the environment, then in the keyring),
// else ErrNoModel.
// A model may hold a server or connections: Close it.
func Choose(s config.Model, env func(string) string, o Options) (Model, error) {
	k := &keys{env: env, keyring: o.Keyring, found: map[string]string{}}
	provider := s.Provider
	if provider == "" {
		switch {
		case s.Script != "":
			provider = "script"
		case s.BaseURL != "":
			return nil, errors.New("model.base_url is set, but not model.provider: say anthropic, or openai for any compatible server")
		default:
			if provider = k.first(); provider == "" {
				return nil, k.none(ErrNoModel)
			}
		}
	}
	cfg := Config{Model: s.Name, ReflectionModel: s.ReflectionName, BaseURL: s.BaseURL, MaxTokens: s.MaxOutputTokens,
		OldHeaders: s.OldHeaders, Price: Price(s.Price), Backoff: o.Backoff, Timeouts: o.Timeouts}
	switch provider {
	case "anthropic":
		return chooseAnthropic(cfg, k)
	case "openai":
		return chooseOpenAI(cfg, k)
	case "script":
		return chooseScript(s.Script, cfg, o.Gate)
	}
	return nil, fmt.Errorf("model.provider %q is unknown: use anthropic, openai or script", provider)
}

func chooseAnthropic(cfg Config, k *keys) (Model, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = k.env("ANTHROPIC_BASE_URL")
	}
	if cfg.Key = k.keyFor(anthropicKey, cfg.BaseURL); cfg.Key == "" && cfg.BaseURL == "" {
		return nil, k.none(errors.New("model.provider is anthropic, but ANTHROPIC_API_KEY is not set in the environment of the language server" + notStored(anthropicKey)))
	}
	if cfg.Model == "" {
		cfg.Model = DefaultAnthropic
	}
	return NewAnthropic(cfg), nil
}

func chooseOpenAI(cfg Config, k *keys) (Model, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = k.env("OPENAI_BASE_URL")
	}
	if cfg.Key = k.keyFor(openAIKey, cfg.BaseURL); cfg.Key == "" && cfg.BaseURL == "" {
		return nil, k.none(errors.New("model.provider is openai, but neither OPENAI_API_KEY is set in the environment of the language server, nor model.base_url to a server that needs no key" + notStored(openAIKey)))
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
