package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stella-ls/stella-ls/agent"
	"github.com/stella-ls/stella-ls/agent/model"
	"github.com/stella-ls/stella-ls/agent/tools"
	"github.com/stella-ls/stella-ls/contextengine"
	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// brain plays a turn's calls and then ends the turn; reflections get an answer
// of their own.
type brain struct {
	mu       sync.Mutex
	requests []model.Request
	reflects []model.Request
	calls    func(turn int) []call
	reflect  string
	turn     int
	served   map[int]bool
}

type call struct {
	tool  string
	input any
}

func (b *brain) Name() string { return "test/brain" }

func (b *brain) Stream(_ context.Context, r model.Request, _ func(model.Event)) (model.Response, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Purpose == model.Reflect {
		b.reflects = append(b.reflects, r)
		return text(b.reflect), nil
	}
	b.requests = append(b.requests, r)
	if b.calls == nil || b.served[b.turn] {
		return text("done"), nil
	}
	b.served[b.turn] = true
	resp := model.Response{Stop: model.StopTools, Message: model.Message{Role: model.Assistant}}
	for i, c := range b.calls(b.turn) {
		input, _ := json.Marshal(c.input)
		resp.Message.Parts = append(resp.Message.Parts, model.Part{Kind: model.ToolCallPart, CallID: fmt.Sprintf("c%d-%d", b.turn, i), Tool: c.tool, Input: input})
	}
	if len(resp.Message.Parts) == 0 {
		return text("done"), nil
	}
	return resp, nil
}

func text(s string) model.Response {
	return model.Response{Stop: model.StopEnd, Message: model.Message{Role: model.Assistant, Parts: []model.Part{{Kind: model.TextPart, Text: s}}}}
}

type client struct {
	mu      sync.Mutex
	results []agent.Update
	notices []string
}

func (c *client) Update(u agent.Update) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch u.Kind {
	case agent.UpdateToolResult:
		c.results = append(c.results, u)
	case agent.UpdateNotice:
		c.notices = append(c.notices, u.Text)
	}
}
func (c *client) Ask(context.Context, string, tools.Question) (tools.Answer, error) {
	return tools.Answer{}, nil
}
func (c *client) Diagnostics(context.Context, string) ([]agent.Diagnostic, bool) { return nil, false }

// last is the newest tool result.
func (c *client) last() agent.Update {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.results[len(c.results)-1]
}

// server is one process: workspace, guard, memory, sessions.
type server struct {
	t      *testing.T
	root   string
	ws     *workspace.Workspace
	m      *agent.Manager
	mem    *Memory
	brain  *brain
	client *client
	said   []string
	close  func()
}

func start(t *testing.T, root string, doubts func(string, []string)) *server {
	t.Helper()
	s := &server{t: t, brain: &brain{served: map[int]bool{}, reflect: "[]"}, client: &client{}}
	s.ws = workspace.New(workspace.Options{Roots: []string{root}})
	s.root = s.ws.Roots()[0]
	g, err := guard.New(guard.Options{Workspace: s.ws, StateDir: t.TempDir(), Settings: func() config.Guard { return config.Default().Guard }})
	if err != nil {
		t.Fatal(err)
	}
	settings := config.Default()
	settings.Recall.ControlRate = 0
	s.mem = New(Options{Workspace: s.ws, Settings: func() config.Recall { return settings.Recall }, DoubtsChanged: doubts,
		Report: func(x string) { s.client.mu.Lock(); s.said = append(s.said, x); s.client.mu.Unlock() }})
	s.m = agent.NewManager(agent.Options{Workspace: s.ws, Guard: g, Client: s.client, Context: s.mem,
		Settings: func() config.Settings { return settings }, Trusted: func() bool { return true },
		Model: func(string) (model.Model, error) { return s.brain, nil }})
	var once sync.Once
	s.close = func() {
		once.Do(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			if err := s.m.Close(ctx); err != nil {
				t.Error(err)
			}
			if err := s.mem.Close(); err != nil {
				t.Error(err)
			}
			if err := g.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(s.close)
	return s
}

func (s *server) session() string {
	s.t.Helper()
	id, err := s.m.Start(context.Background(), agent.StartOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

func (s *server) prompt(id, words string) agent.Outcome {
	s.t.Helper()
	s.brain.mu.Lock()
	s.brain.turn++
	s.brain.mu.Unlock()
	o, err := s.m.Prompt(context.Background(), agent.Prompt{Session: id, Text: words})
	if err != nil || o.Stop != agent.StopEndTurn {
		s.t.Fatalf("%+v %v", o, err)
	}
	return o
}

func (s *server) write(rel, text string) {
	s.t.Helper()
	path := filepath.Join(s.root, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

const hint = "The integration suite hangs on a real socket; set TEST_DB=memory."

// Q07 and the promise of the prefix: 50 turns with saves and edits, every
// request with the same system bytes, one block at most, right before the prompt.
func TestThePrefixOfAFiftyTurnSessionNeverChanges(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	s.write(".stella/memories/known.md", hint)
	s.write("src/a.txt", "0\n")
	id := s.session()
	s.brain.calls = func(turn int) []call {
		switch turn % 3 {
		case 0:
			return []call{{"save_memory", map[string]any{"slug": fmt.Sprint("lesson-", turn), "memory": fmt.Sprintf("Lesson %d about src/a.txt.", turn)}}}
		case 1:
			return []call{{"write_file", map[string]any{"path": fmt.Sprintf("src/f%d.txt", turn), "content": "x\n"}}}
		}
		return nil
	}
	for turn := 1; turn <= 50; turn++ {
		if turn%7 == 0 {
			s.write(".stella/memories/known.md", hint+fmt.Sprintf(" Edited by a person %d times.", turn))
		}
		s.prompt(id, fmt.Sprintf("turn %d: why does the integration suite hang?", turn))
	}
	first := s.brain.requests[0].System
	if !strings.Contains(first, "TEST_DB=memory") || !strings.Contains(first, contextengine.MemoryID("known")) {
		t.Fatalf("the memory is not in the prefix:\n%s", first)
	}
	blocks := 0
	for i, r := range s.brain.requests {
		if r.System != first {
			t.Fatalf("request %d has another prefix", i)
		}
		at := -1
		for k, m := range r.Messages {
			if strings.HasPrefix(m.Parts[0].Text, contextengine.RecallMarker) {
				if at >= 0 {
					t.Fatalf("request %d has two blocks", i)
				}
				at = k
			}
		}
		if at >= 0 {
			blocks++
			if !strings.HasPrefix(r.Messages[at+1].Parts[0].Text, "turn ") {
				t.Errorf("request %d: the block does not stand before a prompt", i)
			}
		}
	}
	// A machine that is busy enough lets a provider miss its time; that is said.
	s.client.mu.Lock()
	late := strings.Contains(strings.Join(s.client.notices, "\n"), "no answer within")
	s.client.mu.Unlock()
	if blocks != len(s.brain.requests) && !late {
		t.Errorf("%d of %d requests have a block", blocks, len(s.brain.requests))
	}
	// What was saved is in the next session's prefix.
	s.session()
	next := s.session()
	s.prompt(next, "hello")
	if got := s.brain.requests[len(s.brain.requests)-1].System; !strings.Contains(got, "Lesson 48") || got == first {
		t.Error("the next session is not told")
	}
}

func TestSaveAndCiteThroughTheTools(t *testing.T) {
	root := t.TempDir()
	s := start(t, root, nil)
	id := s.session()
	if _, err := os.Stat(filepath.Join(s.root, ".stella")); err == nil {
		t.Fatal("a session's start made .stella/")
	}
	save := func(slug, memory, base string) agent.Update {
		input := map[string]any{"slug": slug, "memory": memory}
		if base != "" {
			input["base"] = base
		}
		s.brain.calls = func(int) []call { return []call{{"save_memory", input}} }
		s.prompt(id, "save it")
		return s.client.last()
	}
	if u := save("test-db", hint, ""); !u.OK || !strings.Contains(u.Text, contextengine.MemoryID("test-db")) {
		t.Fatalf("%+v", u)
	}
	path := filepath.Join(s.root, ".stella", "memories", "test-db.md")
	raw, err := os.ReadFile(path)
	info, _ := os.Stat(path)
	if err != nil || string(raw) != "---\norigin: agent\n---\n"+hint+"\n" || info.Mode().Perm() != 0o600 {
		t.Fatalf("%q %v %v", raw, info.Mode(), err)
	}
	if u := save("test-db", "other", ""); u.OK || u.Refusal == nil || u.Refusal.Status != guard.StatusExists {
		t.Errorf("over a file without its base: %+v", u)
	}
	base := string(workspace.DigestOf(raw))
	s.write(".stella/memories/test-db.md", "edited by a person")
	if u := save("test-db", "other", base); u.OK || u.Refusal == nil {
		t.Errorf("over a person's edit: %+v", u)
	}
	if raw, _ := os.ReadFile(path); string(raw) != "edited by a person" {
		t.Fatalf("the person's edit is gone: %q", raw)
	}
	if u := save("Bad Slug", hint, ""); u.OK || !strings.Contains(u.Text, `"status":"invalid"`) {
		t.Errorf("%+v", u)
	}
	if u := save("key", "the key is AKIAIOSFODNN7EXAMPLX", ""); u.OK || !strings.Contains(u.Text, `"status":"denied"`) {
		t.Errorf("%+v", u)
	}
	s.close()

	// Another process: the memory is in the prefix, so it can be cited.
	s.write(".stella/memories/test-db.md", hint)
	s = start(t, root, nil)
	id = s.session()
	cite := func(memory string, score int, truthful bool) agent.Update {
		s.brain.calls = func(int) []call {
			return []call{{"cite_memory", map[string]any{"memory_id": memory, "useful_score": score, "truthful": truthful, "remark": "it hung"}}}
		}
		s.prompt(id, "go on")
		return s.client.last()
	}
	if u := cite(contextengine.MemoryID("test-db"), 5, true); !u.OK || !strings.Contains(u.Text, `"citations":1`) {
		t.Errorf("%+v", u)
	}
	if u := cite(contextengine.MemoryID("nowhere"), 5, true); u.OK || !strings.Contains(u.Text, "was not shown") {
		t.Errorf("%+v", u)
	}
	if u := cite(contextengine.MemoryID("test-db"), 9, true); u.OK {
		t.Errorf("a score of 9: %+v", u)
	}
}

func TestATurnIsLearnedFromAndRulesDeny(t *testing.T) {
	root := t.TempDir()
	s := start(t, root, nil)
	s.write(".stella/rules/gen.md", "---\ndescription: generated code\nguard-deny-path: gen/**\n---\n")
	s.brain.reflect = `[{"lesson":"Files below gen/ are generated, change proto/ instead.","domains":[]}]`
	id := s.session()
	s.brain.calls = func(int) []call {
		return []call{{"write_file", map[string]any{"path": "gen/x.go", "content": "x"}}}
	}
	s.prompt(id, "write the file")
	if u := s.client.last(); u.OK || !strings.Contains(u.Text, "rule gen: generated code") {
		t.Errorf("the rule did not deny: %+v", u)
	}
	s.close() // waits for what follows the turn
	if len(s.brain.reflects) != 1 {
		t.Fatalf("%d reflections", len(s.brain.reflects))
	}
	r := s.brain.reflects[0]
	if r.Temperature == nil || *r.Temperature != 0 || !strings.Contains(r.Messages[0].Parts[0].Text, "rule gen: generated code") {
		t.Errorf("%+v", r)
	}
	s = start(t, root, nil)
	list, err := s.mem.Engine(s.root).List(context.Background(), contextengine.When{})
	if err != nil || len(list) != 1 || list[0].Source != "reflection" {
		t.Errorf("%+v %v", list, err)
	}
}

// The event that makes a belief stale makes a memory doubtful.
func TestTypingMakesAMemoryDoubtfulAtOnce(t *testing.T) {
	changed := make(chan []string, 10)
	s := start(t, t.TempDir(), func(_ string, ids []string) { changed <- ids })
	s.write("api/pricing.py", "net = True\n")
	s.write(".stella/memories/net.md", "Prices in api/pricing.py are net.")
	s.prompt(s.session(), "hello")
	uri := s.ws.URI(workspace.Path(filepath.Join(s.root, "api", "pricing.py")))
	if err := s.ws.DidOpen(uri, "python", 1, "net = True\n"); err != nil {
		t.Fatal(err)
	}
	wait := func() []string {
		select {
		case ids := <-changed:
			return ids
		case <-time.After(20 * time.Second):
			t.Fatal("nothing happened")
			return nil
		}
	}
	type_ := func(version int32, text string) {
		if err := s.ws.DidChange(uri, version, []workspace.ContentChange{{Text: text}}); err != nil {
			t.Fatal(err)
		}
	}
	type_(2, "net = False\n")
	if ids := wait(); len(ids) != 1 || ids[0] != contextengine.MemoryID("net") {
		t.Fatalf("%v", ids)
	}
	info, _, err := s.mem.Engine(s.root).ByID(context.Background(), contextengine.MemoryID("net"))
	if err != nil || !info.Doubtful {
		t.Errorf("%+v %v", info, err)
	}
	type_(3, "net = True\n") // undone
	wait()
	info, _, _ = s.mem.Engine(s.root).ByID(context.Background(), contextengine.MemoryID("net"))
	if info.Doubtful {
		t.Error("undone, and still doubtful")
	}
}
