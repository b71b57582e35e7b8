package tools

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

//go:embed save_memory.md
var saveMemoryText string

//go:embed cite_memory.md
var citeMemoryText string

// Memory is the context engine, as save_memory and cite_memory need it. It
// never writes a file: the draft is written through the gate like any file.
// An error that has a Status method gives that status to the result.
type Memory interface {
	// PrepareSave checks a wanted memory. base is the digest of the file that an
	// update was planned against; derived says where the turn's knowledge is from.
	PrepareSave(ctx context.Context, slug, memory, base string, derived bool) (MemoryDraft, error)
	// Saved tells that a draft was written.
	Saved(ctx context.Context, d MemoryDraft) error
	// Cite records a citation and returns one sentence about its effect.
	Cite(ctx context.Context, session string, turn int, c Citation) (string, error)
}

// MemoryDraft is a checked memory, ready to be written.
type MemoryDraft struct {
	ID, Slug string
	Path     string // absolute
	Content  string // the whole file
	Origin   string // agent, derived
	// Flags are what people should look at.
	Flags []string
}

// Citation is one use of a memory.
type Citation struct {
	MemoryID string `json:"memory_id"`
	Score    int    `json:"useful_score"`
	Truthful bool   `json:"truthful"`
	Remark   string `json:"remark"`
}

// MemoryTools are save_memory and cite_memory over m.
func MemoryTools(m Memory) []Tool { return []Tool{&saveMemory{memory: m}, citeMemory{m}} }

type saveMemory struct {
	memory Memory
	// drafts are what calls under way were admitted with, by call id.
	drafts sync.Map
}

type memoryInput struct {
	Slug   string           `json:"slug"`
	Memory string           `json:"memory"`
	Base   workspace.Digest `json:"base"`
}

func (*saveMemory) Spec() Spec {
	return Spec{
		Name: "save_memory", Description: saveMemoryText, Effect: Mutates, Permission: PermitWrite,
		Schema: schemaOf(`{"type":"object","required":["slug","memory"],"additionalProperties":false,"properties":{
			"slug":{"type":"string","pattern":"^[a-z0-9_-]{1,64}$"},
			"memory":{"type":"string","minLength":1,"maxLength":2000},
			"base":{"type":"string"}}}`),
	}
}

func (*saveMemory) Joins() bool { return false }

func (*saveMemory) Run(context.Context, Env, Call) (Result, error) { return Result{}, errNotRun }

func (t *saveMemory) Changes(ctx context.Context, env Env, call Call) ([]guard.Change, *Result) {
	var in memoryInput
	if res := decode(call.Input, &in); res != nil {
		return nil, res
	}
	d, err := t.memory.PrepareSave(ctx, in.Slug, in.Memory, string(in.Base), env.Derived)
	if err != nil {
		r := memoryFault("save_memory", err)
		return nil, &r
	}
	t.drafts.Store(call.ID, d)
	return []guard.Change{{Kind: guard.ChangeWrite, Path: d.Path, Base: in.Base, Content: d.Content}}, nil
}

// After tells the context engine what was written.
func (t *saveMemory) After(ctx context.Context, env Env, call Call, res *Result) {
	kept, _ := t.drafts.LoadAndDelete(call.ID)
	d, drafted := kept.(MemoryDraft)
	if r, ok := res.Object.(guard.Result); !ok || !r.OK() || !drafted {
		return
	}
	res.Head = fmt.Sprintf("saved %s as %s; it is recalled from the next session on", filepath.Base(d.Path), d.ID)
	if d.Origin == "derived" {
		res.Body = "It is marked as derived: this turn read things that are not files of the workspace, so a person has to confirm it."
	}
	for _, f := range d.Flags {
		res.Body += "\nFlagged: " + f
		env.notice("memory " + d.Slug + " is flagged: " + f)
	}
	if err := t.memory.Saved(ctx, d); err != nil {
		res.Body += "\nThe file is written, but it could not be entered into the store yet: " + err.Error()
	}
}

type citeMemory struct{ memory Memory }

type citeObject struct {
	Status   guard.Status `json:"status"`
	MemoryID string       `json:"memory_id"`
}

func (citeMemory) Spec() Spec {
	return Spec{
		Name: "cite_memory", Description: citeMemoryText, Effect: Talks,
		Schema: schemaOf(`{"type":"object","required":["memory_id","useful_score","truthful","remark"],"additionalProperties":false,"properties":{
			"memory_id":{"type":"string","minLength":1},
			"useful_score":{"type":"integer","minimum":1,"maximum":5},
			"truthful":{"type":"boolean"},
			"remark":{"type":"string","minLength":1,"maxLength":300}}}`),
	}
}

func (t citeMemory) Run(ctx context.Context, env Env, call Call) (Result, error) {
	var c Citation
	if res := decode(call.Input, &c); res != nil {
		return *res, nil
	}
	effect, err := t.memory.Cite(ctx, env.Session, call.Turn, c)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		return memoryFault("cite_memory", err), nil
	}
	return Result{Head: effect, Object: citeObject{guard.StatusOK, c.MemoryID}, Status: "ok"}, nil
}

func memoryFault(tool string, err error) Result {
	status := guard.StatusInvalid
	if s, ok := err.(interface{ Status() string }); ok {
		status = guard.Status(s.Status())
	}
	return Failed(status, "", tool+": "+err.Error(), "correct the call and make it again, or leave it")
}
