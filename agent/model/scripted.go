package model

import (
	"errors"
	"fmt"
	"os"

	"github.com/stella-ls/stella-ls/agent/model/script"
	"github.com/stella-ls/stella-ls/internal/fakemodel"
)

// Scripted is a model that plays a script. It starts the fake server and talks
// to it as it would to the real one, so that a scripted run takes the same path.
type Scripted struct {
	Model
	Engine *script.Engine
	server *fakemodel.Server
	record *os.File // nil: the script wants none
}

// NewScripted plays s. A nil gate makes the script's waits an error.
func NewScripted(s *script.Script, gate *script.Gate, cfg Config) (*Scripted, error) {
	if s == nil {
		return nil, errors.New("no script to play")
	}
	engine := script.NewEngine(s, gate)
	server, err := fakemodel.Start(engine)
	if err != nil {
		return nil, err
	}
	var record *os.File
	if s.Record != "" {
		if record, err = os.OpenFile(s.Record, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("the script's record cannot be opened: %w", err), server.Close())
		}
		server.Copy(record)
	}
	cfg.BaseURL, cfg.Key, cfg.scripted, cfg.label = server.URL, server.Key, true, "script"
	if cfg.Model == "" {
		cfg.Model = "script"
	}
	m := NewAnthropic(cfg).(*anthropicModel)
	m.endpoint.provider = "script"
	return &Scripted{Model: m, Engine: engine, server: server, record: record}, nil
}

// Requests are the requests as they arrived at the fake server, for tests.
func (s *Scripted) Requests() []fakemodel.Recorded { return s.server.Requests() }

// Close ends the fake server. Calls under way fail.
func (s *Scripted) Close() error {
	err := s.server.Close()
	if s.record != nil {
		err = errors.Join(err, s.record.Close())
	}
	return err
}
