package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/stella-ls/stella-ls/agent/model/script"
	"github.com/stella-ls/stella-ls/internal/fakemodel"
)

// wire is a model server of this process that a scenario puts before the real
// Anthropic or OpenAI client of the built server. The zero value is none: then
// the server plays the script itself.
type wire struct {
	provider string
	path     string // of the base URL
	gate     *script.Gate
	server   *fakemodel.Server
}

func chooseWire(w *world, a []string) error {
	if a[0] != "anthropic" && a[0] != "openai" {
		return fmt.Errorf("no wire format %q", a[0])
	}
	w.wire = wire{provider: a[0]}
	if len(a) > 1 {
		w.wire.path = a[1]
	}
	return nil
}

// chooseModel is the [model] table of the settings, with the script at path.
func (w *world) chooseModel(path string) (string, error) {
	if w.wire.provider == "" {
		return fmt.Sprintf("[model]\nprovider = \"script\"\nscript = %q\n", path), nil
	}
	w.wire.close()
	s, err := script.Load(path)
	if err != nil {
		return "", err
	}
	w.wire.gate = &script.Gate{}
	if w.wire.server, err = fakemodel.Start(script.NewEngine(s, w.wire.gate)); err != nil {
		return "", err
	}
	return fmt.Sprintf("[model]\nprovider = %q\nname = \"scripted\"\nreflection_name = %q\nbase_url = %q\n",
		w.wire.provider, fakemodel.ReflectionName, w.wire.server.URL+w.wire.path), nil
}

// env is what the built server finds in its environment.
func (x wire) env() []string {
	if x.server == nil {
		return nil
	}
	return []string{strings.ToUpper(x.provider) + "_API_KEY=" + x.server.Key}
}

func (x wire) close() {
	if x.server != nil {
		_ = x.server.Close() // ends answers under way; there is nobody left to tell
	}
}

func release(w *world, a []string) error {
	if w.wire.gate != nil {
		w.wire.gate.Release(a[0])
		return nil
	}
	return w.call("stella/test/release", map[string]string{"name": a[0]}, nil)
}

// turnRequests are what arrived of turns, without the reflections, which come
// when they come.
func (w *world) turnRequests() ([]string, error) {
	if w.wire.server == nil {
		return nil, errors.New("no model server: say \"model anthropic\" first")
	}
	var bodies []string
	for _, r := range w.wire.server.Requests() {
		if !bytes.Contains(r.Body, []byte(`"`+fakemodel.ReflectionName+`"`)) {
			bodies = append(bodies, string(r.Body))
		}
	}
	return bodies, nil
}

func wantModelCalls(w *world, a []string) error {
	all, err := w.turnRequests()
	if err != nil {
		return err
	}
	return compare("the number of model calls", fmt.Sprint(len(all)), "is", a[0])
}

func wantModelSaw(w *world, a []string) error {
	all, err := w.turnRequests()
	if err != nil {
		return err
	}
	if a[0] == "any" {
		return compare("the requests to the model", strings.Join(all, ""), a[1], a[2])
	}
	var n int
	if _, err := fmt.Sscanf(a[0], "%d", &n); err != nil || n < 1 || n > len(all) {
		return fmt.Errorf("no request %s of %d", a[0], len(all))
	}
	return compare("request "+a[0]+" to the model", all[n-1], a[1], a[2])
}
