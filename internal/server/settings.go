package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/internal/config"
)

// settingsPoll is how old a look at the settings files may be.
const settingsPoll = time.Second

// settings are the ones in force. They follow the files: a step of a session
// that comes later than settingsPoll after a change works with the change.
type settings struct {
	home, root string
	trusted    func() bool
	problem    func(config.Problem)

	mu      sync.Mutex // guards what follows; loading under it is two small reads
	editor  json.RawMessage
	now     config.Settings
	loaded  bool
	looked  time.Time
	stamp   [2]fileStamp
	trust   bool
	reports []config.Problem
}

// fileStamp tells whether a settings file may have changed; it decides about no
// write.
type fileStamp struct {
	size int64
	at   time.Time
}

func stampOf(path string) fileStamp {
	if info, err := os.Stat(path); err == nil {
		return fileStamp{info.Size(), info.ModTime()}
	}
	return fileStamp{size: -1}
}

func (s *settings) get() config.Settings {
	trust := s.trusted()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded && trust == s.trust && time.Since(s.looked) < settingsPoll {
		return s.now
	}
	stamp := [2]fileStamp{
		stampOf(filepath.Join(s.home, config.FileName)),
		stampOf(filepath.Join(s.root, ".stella", config.FileName)),
	}
	s.looked = time.Now()
	if !s.loaded || trust != s.trust || stamp != s.stamp {
		s.load(trust, stamp)
	}
	return s.now
}

// set takes a new section of the client.
func (s *settings) set(section json.RawMessage) {
	s.mu.Lock()
	s.editor, s.loaded = section, false
	s.mu.Unlock()
	s.get()
}

// load reads all layers and reports each problem once.
func (s *settings) load(trust bool, stamp [2]fileStamp) {
	now, problems := config.Load(config.Sources{Home: s.home, Root: s.root, Trusted: trust, Editor: s.editor})
	s.now, s.loaded, s.trust, s.stamp = now, true, trust, stamp
	for _, p := range problems {
		if !slices.Contains(s.reports, p) {
			s.problem(p)
		}
	}
	s.reports = problems
}
