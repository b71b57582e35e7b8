package memory

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/contextengine"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

//go:embed save_memory.md
var saveText string

//go:embed cite_memory.md
var citeText string

// saveMemory is a memory file to write: the gate writes it like any file, and
// the store hears of it afterwards.
type saveMemory struct {
	m *Memory
	// drafts are what calls under way were admitted with, by call id.
	drafts *drafts
}

// drafts holds what was admitted and not yet written. A call that a rule or a
// person denies never comes back for its draft, so there is a bound.
type drafts struct {
	mu   sync.Mutex // guards list
	list map[string]contextengine.Draft
}

// maxDrafts is far above what one message of a model asks for at once.
const maxDrafts = 100

func (d *drafts) keep(call string, draft contextengine.Draft) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.list) >= maxDrafts {
		clear(d.list)
	}
	if d.list == nil {
		d.list = map[string]contextengine.Draft{}
	}
	d.list[call] = draft
}

func (d *drafts) take(call string) (contextengine.Draft, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	draft, ok := d.list[call]
	delete(d.list, call)
	return draft, ok
}

func (saveMemory) Spec() tools.Spec {
	return tools.Spec{
		Name: "save_memory", Description: strings.TrimSpace(saveText), Effect: tools.Mutates, Permission: tools.PermitWrite,
		Schema: json.RawMessage(`{"type":"object","required":["slug","memory"],"additionalProperties":false,"properties":{
			"slug":{"type":"string","minLength":1,"maxLength":64},"memory":{"type":"string","minLength":1},"base":{"type":"string"}}}`),
	}
}

// saved is the object of a save_memory result: the guard's, and the id.
type saved struct {
	guard.Result
	MemoryID string `json:"memory_id,omitempty"`
	Origin   string `json:"origin,omitempty"`
}

func (saveMemory) Joins() bool { return false }

// Keeps implements tools.Keeper: the slug is no path, and the origin is ours.
func (saveMemory) Keeps() bool { return true }

func (saveMemory) Run(context.Context, tools.Env, tools.Call) (tools.Result, error) {
	return tools.Result{}, errors.New("save_memory is carried out by the gate alone")
}

// Changes checks the memory and drafts its file.
func (t saveMemory) Changes(ctx context.Context, env tools.Env, call tools.Call) ([]guard.Change, *tools.Result) {
	var in struct {
		Slug   string `json:"slug"`
		Memory string `json:"memory"`
		Base   string `json:"base"`
	}
	fail := func(r tools.Result) ([]guard.Change, *tools.Result) { return nil, &r }
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return fail(tools.Invalid("the input cannot be read: %v", err))
	}
	e := t.m.Engine(env.Root)
	draft, err := e.PrepareSave(ctx, contextengine.SaveRequest{Slug: in.Slug, Memory: in.Memory, Base: in.Base, Derived: env.Derived})
	if err != nil {
		r, err := refused(err)
		if err != nil {
			return fail(tools.Failed("error", "", "save_memory failed: "+err.Error(), "tell the user"))
		}
		return fail(r)
	}
	if err := e.Layout().PrepareMemories(); err != nil {
		return fail(tools.Failed(guard.StatusDenied, "", "the memory cannot be kept: "+err.Error(), "tell the user"))
	}
	t.drafts.keep(call.ID, draft)
	return []guard.Change{{Kind: guard.ChangeWrite, Path: draft.Path, Base: workspace.Digest(in.Base), Content: draft.Content}}, nil
}

// After enters a memory that was written into the store.
func (t saveMemory) After(ctx context.Context, env tools.Env, call tools.Call, out *tools.Result) {
	draft, drafted := t.drafts.take(call.ID)
	res, ok := out.Object.(guard.Result)
	if !ok || !res.OK() || !drafted {
		return
	}
	e := t.m.Engine(env.Root)
	_ = os.Chmod(draft.Path, 0o600) // best effort: the guard makes files as the umask says
	out.Object = saved{res, draft.ID, draft.Origin}
	out.Head = fmt.Sprintf("saved as %s (%s); later sessions will know it", e.Layout().Rel(draft.Path), draft.ID)
	if draft.Origin == "derived" {
		out.Head = fmt.Sprintf("saved as %s (%s), marked as derived: this turn read material from outside the workspace, so it stays out of the prompt until a person confirms it",
			e.Layout().Rel(draft.Path), draft.ID)
	}
	if _, err := e.Saved(ctx, draft); err != nil {
		out.Head += "; it is not searchable yet: " + err.Error()
	}
}

// refused turns the engine's refusal into a result that the model can act on.
func refused(err error) (tools.Result, error) {
	var r *contextengine.Refusal
	if errors.As(err, &r) {
		return tools.Failed(guard.Status(r.Status), "", r.Reason, r.Next), nil
	}
	return tools.Result{}, err
}

type citeMemory struct{ m *Memory }

func (citeMemory) Spec() tools.Spec {
	return tools.Spec{
		Name: "cite_memory", Description: strings.TrimSpace(citeText), Effect: tools.Talks,
		Schema: json.RawMessage(`{"type":"object","required":["memory_id","useful_score","truthful","remark"],"additionalProperties":false,"properties":{
			"memory_id":{"type":"string"},"useful_score":{"type":"integer","minimum":1,"maximum":5},"truthful":{"type":"boolean"},
			"remark":{"type":"string","minLength":1,"maxLength":300}}}`),
	}
}

type cited struct {
	Status      string `json:"status"`
	MemoryID    string `json:"memory_id"`
	Citations   int    `json:"citations"`
	Streak      int    `json:"positive_streak"`
	Quarantined bool   `json:"quarantined"`
	Eligible    bool   `json:"eligible"`
	Duplicate   bool   `json:"duplicate,omitempty"`
}

func (t citeMemory) Run(ctx context.Context, env tools.Env, call tools.Call) (tools.Result, error) {
	var in struct {
		MemoryID string `json:"memory_id"`
		Score    int    `json:"useful_score"`
		Truthful bool   `json:"truthful"`
		Remark   string `json:"remark"`
	}
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return tools.Invalid("the input cannot be read: %v", err), nil
	}
	res, err := t.m.Engine(env.Root).Cite(ctx, contextengine.CiteRequest{
		Session: env.Session, Turn: call.Turn, MemoryID: in.MemoryID, Score: in.Score, Truthful: in.Truthful, Remark: in.Remark,
	})
	if err != nil {
		return refused(err)
	}
	head := fmt.Sprintf("cited %s: %d citations, %d useful in a row", in.MemoryID, res.Info.Citations, res.Info.PositiveStreak)
	switch {
	case res.Duplicate:
		head = in.MemoryID + " was cited in this turn already; that counts once"
	case res.NowQuarantined:
		head = in.MemoryID + " is quarantined now: it was found untruthful twice"
		t.m.quarantined(in.MemoryID)
	case res.NowEligible:
		t.m.inform("memory " + in.MemoryID + " can be promoted to a rule (stella-ls memory promote " + in.MemoryID + ")")
	}
	return tools.Result{Head: head, Status: "ok", Object: cited{"ok", in.MemoryID, res.Info.Citations, res.Info.PositiveStreak,
		res.Info.Quarantined, res.Info.Eligible, res.Duplicate}}, nil
}
