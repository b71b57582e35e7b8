package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stella-ls/stella-ls/agent/model/toolinput"
)

// maxQuoted bounds how much of an unreadable input stays in the transcript.
const maxQuoted = 4000

// callPart makes a tool call of the raw text of its input. What is not a JSON
// object of whole Unicode is marked as bad input and never run; the transcript
// then holds an object that quotes it, since servers refuse anything else.
func callPart(id, tool, raw string) Part {
	p := Part{Kind: ToolCallPart, CallID: id, Tool: tool}
	if strings.TrimSpace(raw) == "" {
		raw = "{}" // a call without arguments
	}
	if p.BadInput = toolinput.Check(raw); p.BadInput == "" {
		var b bytes.Buffer
		if json.Compact(&b, []byte(raw)) == nil {
			p.Input = b.Bytes()
		}
		return p
	}
	quoted := strings.ToValidUTF8(raw, "\uFFFD")
	if len(quoted) > maxQuoted {
		quoted = strings.ToValidUTF8(quoted[:maxQuoted], "") + fmt.Sprintf("... (%d bytes more)", len(quoted)-maxQuoted)
	}
	p.Input, _ = json.Marshal(map[string]string{"unreadable_input": quoted}) // strings always encode
	return p
}
