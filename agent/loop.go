package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"

	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/guard"
)

// The same call with the same result is said to the model at loopTold and ends
// the turn at loopEnds.
const (
	loopTold = 3
	loopEnds = 6
)

// loopWatch counts equal calls with equal results within one turn. A change
// that was applied starts the count of everything that looks at the workspace
// anew, since testing again after an edit is no loop; the count of changes
// themselves goes on.
type loopWatch struct {
	looks   map[[32]byte]int
	changes map[[32]byte]int
}

func newLoopWatch() *loopWatch {
	return &loopWatch{looks: map[[32]byte]int{}, changes: map[[32]byte]int{}}
}

// saw counts one finished call and returns how often it was seen.
func (l *loopWatch) saw(call tools.Call, res tools.Result) int {
	key := loopKey(call, res)
	if r, ok := res.Object.(guard.Result); ok && r.OK() {
		l.looks = map[[32]byte]int{}
		l.changes[key]++
		return l.changes[key]
	}
	l.looks[key]++
	return l.looks[key]
}

// loopKey is equal for calls that differ only in their ids.
func loopKey(call tools.Call, res tools.Result) [32]byte {
	input := []byte(call.Input)
	var compact bytes.Buffer
	if json.Compact(&compact, input) == nil {
		input = compact.Bytes()
	}
	if r, ok := res.Object.(guard.Result); ok {
		r.EditID, r.Message = "", ""
		res.Object = r
		res.Head, res.Body = "", ""
	}
	h := sha256.New()
	for _, part := range [][]byte{[]byte(call.Tool), input, []byte(call.BadInput), []byte(res.Text())} {
		h.Write(part)
		h.Write([]byte{0})
	}
	return [32]byte(h.Sum(nil))
}
