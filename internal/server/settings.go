package server

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/stella-ls/stella-ls/internal/config"
)

// settings are the ones in force; the client may replace its section.
type settings struct {
	mu  sync.Mutex // guards now
	now config.Settings
}

func (s *settings) get() config.Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// set takes a new section of the client.
func (s *settings) set(section json.RawMessage) error {
	next := config.Default()
	if len(section) > 0 {
		if err := json.Unmarshal(section, &next); err != nil {
			return fmt.Errorf("the editor's stella section: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = next
	return nil
}
