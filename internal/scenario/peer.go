package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stella-ls/stella-ls/internal/fakeeditor"
)

// peer runs a whole second server on the same tree and the same state
// directory, with an editor of its own that has nothing open, for one ask.
func (w *world) peer(steps []word) error {
	entries, err := compile(steps, 0)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(map[string]any{"turns": entries})
	if err != nil {
		return err
	}
	script := filepath.Join(filepath.Dir(w.root), "peer.yaml")
	if err := os.WriteFile(script, raw, 0o644); err != nil {
		return err
	}
	settings, err := json.Marshal(map[string]any{"model": map[string]string{"provider": "script", "script": script}})
	if err != nil {
		return err
	}
	o := w.options
	o.Roots, o.Settings = w.roots, settings
	p := &world{ctx: w.ctx, c: w.c, a: &Archive{}, root: w.root, sessions: map[string]*session{}, current: "peer"}
	p.ed, p.proc, err = fakeeditor.Launch(fakeeditor.Command{Path: w.c.Bin, Args: w.args, Env: w.env, Dir: w.root}, o)
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.converse(); err != nil {
		return p.report(fmt.Errorf("the peer: %w", err))
	}
	return nil
}

func (p *world) converse() error {
	ctx, cancel := p.deadline()
	defer cancel()
	if err := p.ed.Initialize(ctx); err != nil {
		return err
	}
	a, err := p.begin("Please go on.")
	if err != nil {
		return err
	}
	if err := p.join(a); err != nil {
		return err
	}
	if a.stop != "end_turn" {
		return errors.New("the turn stopped with " + a.stop + ": " + a.problem)
	}
	for _, r := range a.results {
		if !r.ok {
			return errors.New("a call failed: " + r.text)
		}
	}
	return p.stop()
}
