package fakeeditor

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"time"
)

// buffer is one open document.
type buffer struct {
	path, uri, language string
	text                string
	version             int // as last told to the server
	tick                int // Neovim's changedtick; grows with every change
	layout              layout
	disk                stamp // of the last load or save

	// undo holds the states before each change, redo those taken back. A state
	// has an id; the buffer is clean when its id is that of the last save.
	id, savedID, ids int
	undo, redo       []state

	// late holds content changes that the editor has not yet sent.
	late []contentChange
}

// maxUndo bounds how far back undo goes; a state is a whole text.
const maxUndo = 500

type state struct {
	id   int
	text string
}

// stamp is what an editor remembers of the file on disk to notice changes by others.
type stamp struct {
	exists bool
	mtime  time.Time
	size   int64
	sum    string
}

type contentChange struct {
	Range *Range `json:"range,omitempty"`
	Text  string `json:"text"`
}

func (b *buffer) dirty() bool { return b.id != b.savedID }

// record makes text the buffer's new state.
func (b *buffer) record(text string) {
	b.undo = append(b.undo, state{b.id, b.text})
	if over := len(b.undo) - maxUndo; over > 0 {
		b.undo = b.undo[over:]
	}
	b.redo = nil
	b.ids++
	b.id, b.text = b.ids, text
}

// rewind goes to the last state of from, leaving the present one in to.
func (b *buffer) rewind(from, to *[]state) (string, bool) {
	if len(*from) == 0 {
		return "", false
	}
	last := (*from)[len(*from)-1]
	*from = (*from)[:len(*from)-1]
	*to = append(*to, state{b.id, b.text})
	b.id = last.id
	return last.text, true
}

// look takes the stamp of a file.
func look(path string) (stamp, []byte, error) {
	raw, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return stamp{}, nil, nil
	}
	if err != nil {
		return stamp{}, nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, nil, err
	}
	return stamp{true, info.ModTime(), info.Size(), sum(raw)}, raw, nil
}

// same compares as editors that are careful do: times and sizes first, bytes
// when those differ (a touch is no change).
func (s stamp) same(o stamp) bool {
	return s.exists == o.exists && s.sum == o.sum
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(h[:])
}
