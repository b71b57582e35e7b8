package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Options are what a run needs.
type Options struct {
	Server string // the stella-ls binary
	Editor string // "" (the built-in one) or "nvim"
	Nvim   string // Neovim's binary; empty: STELLA_NVIM, then the PATH
	Out    io.Writer
}

// limit ends a run that hangs.
const limit = 60 * time.Second

// Run plays the demo and prints it. The error says what went otherwise than it should.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the demo was not over after %v", limit))
	defer cancel()
	s, err := newStage()
	defer s.remove()
	if err != nil {
		return err
	}
	p := newPrinter(o.Out)
	p.opening(o.Editor)
	play := playFake
	if o.Editor == "nvim" {
		play = playNvim
	}
	v := &verdict{}
	end, err := play(ctx, o, s, func(e event) {
		v.event(e)
		p.event(e)
	})
	if err != nil {
		return err
	}
	if err := v.check(end); err != nil {
		return err
	}
	p.closing(end)
	return p.err
}

// event is one thing that happened, in either editor.
type event struct {
	Person string  `json:"person,omitempty"` // something the person did
	Update *update `json:"update,omitempty"` // something the session did
}

// update is what stella/session/update carries, as far as the demo shows it.
type update struct {
	Kind  string          `json:"kind"`
	Text  string          `json:"text"`
	Tool  string          `json:"tool"`
	OK    *bool           `json:"ok"`
	Input json.RawMessage `json:"input"` // of a toolCall
}

// ending is how things stand when the turn is over.
type ending struct {
	Stop   string `json:"stop"`
	Error  string `json:"error"`
	Buffer string `json:"buffer"`
	Dirty  bool   `json:"dirty"`
	Disk   string `json:"-"`
}
