package commit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stella-ls/stella-ls/internal/workspace"
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

	box  *intents
	slot string // the file's name in box.dir
}

// intents is this process's directory of the intent record. A lock in it says
// that the process lives; other processes' directories are left alone until
// their lock can be taken.
type intents struct {
	parent string
	dir    string
	lock   *os.File

	mu    sync.Mutex // guards what follows
	free  []string   // slots to use again: their number is bounded by what is under way or parked
	slots int
	live  int
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
	err := b.lock.Close() // first: Windows removes no open file
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil && b.live == 0 {
		err = os.RemoveAll(b.dir)
	}
	return err
}

// take gives out the name of a slot that no intent uses.
func (b *intents) take() (slot string, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live++
	if n := len(b.free); n > 0 {
		slot, b.free = b.free[n-1], b.free[:n-1]
		return slot, false
	}
	b.slots++
	return fmt.Sprintf("%d.intent", b.slots), true
}

func (b *intents) give(slot string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live--
	b.free = append(b.free, slot)
}

// prepare writes a first, unsynced form: enough for a killed process, whose
// half-filled temporary would otherwise stay behind.
func (b *intents) prepare(in *intent) error {
	in.box = b
	slot, fresh := b.take()
	in.slot = slot
	err := in.write(false)
	if err == nil && fresh {
		err = syncDir(b.dir)
	}
	if err != nil {
		b.give(slot)
		return fmt.Errorf("intent record: %w", err)
	}
	return nil
}

// ready makes the intent durable. Nothing moves before it returns.
func (in *intent) ready() error {
	in.Ready = true
	if err := in.write(true); err != nil {
		return fmt.Errorf("intent record: %w", err)
	}
	return nil
}

// slotSize is what a slot is padded to, so that rewriting it changes no
// metadata and a sync of it is one write to the disk.
const slotSize = 4096

// write puts the intent into its slot, over whatever was there: a checksum, a
// space, and one line. A torn line is no intent, which is right: nothing has
// moved until the line was synced.
func (in *intent) write(sync bool) error {
	line, err := json.Marshal(in)
	if err != nil {
		return err
	}
	line = append([]byte(checksum(line)+" "), line...)
	if pad := slotSize - 1 - len(line)%slotSize; pad > 0 {
		line = append(line, bytes.Repeat([]byte(" "), pad)...)
	}
	return writeSlot(in.file(), append(line, '\n'), sync)
}

func writeSlot(name string, line []byte, sync bool) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(line, 0)
	if sync {
		err = errors.Join(err, f.Sync())
	}
	return errors.Join(err, f.Close())
}

// readIntent returns nil for a slot that holds no intent.
func readIntent(name string) (*intent, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	sum, line, _ := bytes.Cut(bytes.TrimRight(line, " "), []byte(" "))
	in := &intent{}
	if string(sum) != checksum(line) || json.Unmarshal(line, in) != nil {
		return nil, nil
	}
	return in, nil
}

func checksum(line []byte) string {
	return strings.TrimPrefix(string(workspace.DigestOf(line)), "sha256:")[:16]
}

func (in *intent) file() string { return filepath.Join(in.box.dir, in.slot) }

// done empties the slot. That need not be durable: an intent that comes back
// after a crash finds nothing left to do.
func (in *intent) done() {
	writeSlot(in.file(), []byte("\n"), false)
	for _, n := range []string{in.Before, in.After} {
		if n != "" {
			os.Remove(filepath.Join(in.box.dir, n))
		}
	}
	in.box.give(in.slot)
}

// side writes a synced file beside the intent and returns its name.
func (in *intent) side(suffix string, content []byte) (string, error) {
	name := newID() + suffix
	if err := writeSynced(filepath.Join(in.box.dir, name), content); err != nil {
		return "", fmt.Errorf("intent record: %w", err)
	}
	return name, nil
}
