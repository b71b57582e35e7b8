package commit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// intent is the durable word about a change in progress. It is written before
// anything moves and removed when nothing of the change is left to do, so what
// Recover finds is exactly what a crash interrupted.
type intent struct {
	ID     string `json:"id"`
	Op     string `json:"op"` // replace, create, delete, move, in-place
	Root   string `json:"root,omitempty"`
	Path   string `json:"path"`
	To     string `json:"to,omitempty"` // move: the second name
	ToRoot string `json:"toRoot,omitempty"`
	// Temps are the siblings that the change may have left behind.
	Temps []string `json:"temps,omitempty"`
	// Ready is false while the temporary is still being filled: until then it was
	// never at the path and holds nobody's bytes but ours.
	Ready     bool   `json:"ready"`
	Base      Digest `json:"base,omitempty"`
	Candidate Digest `json:"candidate,omitempty"`
	// Before and After name files beside the intent that hold both contents
	// (in-place only, where the file itself can be left torn).
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`

	box *intents
}

// intents is this process's directory of the intent record. A lock in it says
// that the process lives; other processes' directories are left alone until
// their lock can be taken.
type intents struct {
	parent string
	dir    string
	lock   *os.File
}

const lockName = "lock"

func openIntents(parent string) (*intents, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fmt.Errorf("intent record: %w", err)
	}
	for {
		b, err := newIntents(parent)
		if err != nil {
			return nil, fmt.Errorf("intent record: %w", err)
		}
		if b != nil {
			return b, syncDir(parent)
		}
	}
}

// newIntents makes a directory and locks it. Another process's Recover may take
// a directory that is not locked yet for a dead one's; then the answer is nil.
func newIntents(parent string) (*intents, error) {
	dir := filepath.Join(parent, fmt.Sprintf("%d-%s", os.Getpid(), newID()))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if lockFile(lock) == nil {
		mine, errA := lock.Stat()
		there, errB := os.Stat(lock.Name())
		if errA == nil && errB == nil && os.SameFile(mine, there) {
			return &intents{parent: parent, dir: dir, lock: lock}, nil
		}
	}
	return nil, lock.Close()
}

// close removes the directory if no intent is left in it.
func (b *intents) close() error {
	left, err := filepath.Glob(filepath.Join(b.dir, "*.json"))
	err = errors.Join(err, b.lock.Close()) // first: Windows removes no open file
	if err == nil && len(left) == 0 {
		err = os.RemoveAll(b.dir)
	}
	return err
}

// prepare writes a first, unsynced form: enough for a killed process, whose
// half-filled temporary would otherwise stay behind.
func (b *intents) prepare(in *intent) error {
	in.ID, in.box = newID(), b
	line, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if err := os.WriteFile(in.file(), line, 0o600); err != nil {
		return fmt.Errorf("intent record: %w", err)
	}
	return nil
}

// ready makes the intent durable. Nothing moves before it returns.
func (in *intent) ready() error {
	in.Ready = true
	line, err := json.Marshal(in)
	if err == nil {
		err = writeSynced(in.file(), line)
	}
	if err != nil {
		return fmt.Errorf("intent record: %w", err)
	}
	return nil
}

func (in *intent) file() string { return filepath.Join(in.box.dir, in.ID+".json") }

// done removes the intent. Its return need not be durable: an intent that
// comes back after a crash finds nothing left to do.
func (in *intent) done() {
	os.Remove(in.file())
	for _, n := range []string{in.Before, in.After} {
		if n != "" {
			os.Remove(filepath.Join(in.box.dir, n))
		}
	}
}

// side writes a synced file beside the intent and returns its name.
func (in *intent) side(suffix string, content []byte) (string, error) {
	name := in.ID + suffix
	if err := writeSynced(filepath.Join(in.box.dir, name), content); err != nil {
		return "", fmt.Errorf("intent record: %w", err)
	}
	return name, nil
}
