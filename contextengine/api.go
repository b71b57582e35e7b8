package contextengine

import (
	"context"
	"time"

	"github.com/stella-ls/stella-ls/contextengine/ocp/host"
	"github.com/stella-ls/stella-ls/internal/config"
)

// Source is what a workspace file holds now, as the human sees it (the buffer
// if it is open, else the disk). workspace.Workspace.View is behind it.
type Source interface {
	// View returns the file's content; exists is false when there is none. An
	// error means "could not tell".
	View(ctx context.Context, abs string) (data []byte, exists bool, err error)
}

// Graph is what the engine asks of the code graph. Paths are absolute.
type Graph interface {
	// Definitions of a symbol name; path narrows to where it is asked from and
	// may be empty. Best first.
	Definitions(ctx context.Context, name, path string) ([]Definition, error)
	// Neighbors are the files that path imports and that import it.
	Neighbors(ctx context.Context, path string) ([]string, error)
}

// Definition is one answer of the graph.
type Definition struct {
	Name      string
	Kind      string // function, class, ...
	Container string
	Path      string // absolute
	// First, Last are the 1-based lines of the whole definition.
	First, Last int
	Signature   string
	Doc         string
	How         string // how it was found: local, import, member, package, name
}

// Ask is one call of a language model at temperature 0: purpose is "reflect" or
// "taxonomy", the answer is its text.
type Ask func(ctx context.Context, purpose, system, prompt string) (string, error)

// Options configure an Engine. Only Root is needed.
type Options struct {
	// Root is the workspace folder; .stella/ lies in it.
	Root string
	// Source reads workspace files; nil reads the disk.
	Source Source
	Graph  Graph
	// Settings is asked at each turn; nil takes the defaults.
	Settings func() config.Recall
	Clock    func() time.Time
	// Report puts a sentence before people (a database that was set aside, a
	// memory file that cannot be read); nil drops it.
	Report func(string)
}

// Query is what one recall may go by.
type Query struct {
	Session string
	Turn    int
	Prompt  string
	// OpenFile, Dirty and Touched are absolute paths; Symbol is the one under
	// the cursor.
	OpenFile string
	Symbol   string
	Dirty    []string
	Touched  []string
	// AsOf pins world time; zero is now.
	AsOf time.Time
}

// RecallFrame is one frame of a block, as people see it.
type RecallFrame struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Label    string `json:"label"`
	Provider string `json:"provider"`
	Tokens   int    `json:"tokens"`
	Text     string `json:"-"`
}

// RecallDrop is a frame that was offered and left out, and why.
type RecallDrop struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// Recalled is the outcome of one recall.
type Recalled struct {
	// Block is the rendered message, "" when nothing is relevant.
	Block   string
	Frames  []RecallFrame
	Dropped []RecallDrop
	// Control is true when recall was suppressed: this is a control turn.
	Control bool
	// BeforePrompt is the placement that the settings ask for.
	BeforePrompt bool
	// Notes are for people: a provider that failed, a state that could not be read.
	Notes []string
	Usage host.Usage
	Took  time.Duration
}

// Prefix is the baked part of a session's prompt.
type Prefix struct {
	Text string
	// IDs are the memories shown in it; they count as shown to the session.
	IDs   []string
	Notes []string
}

// MemoryInfo is one memory with its record; the JSON members are the shape of
// "memory list --format json".
type MemoryInfo struct {
	ID             string   `json:"id"`
	Citations      int      `json:"citations"`
	AvgScore       float64  `json:"avg_score"`
	TruthfulRate   float64  `json:"truthful_rate"`
	PositiveStreak int      `json:"positive_streak"`
	Eligible       bool     `json:"eligible"`
	Quarantined    bool     `json:"quarantined"`
	Doubtful       bool     `json:"doubtful"`
	Memory         string   `json:"memory"` // its first line
	Source         string   `json:"source"` // path below the root, or "reflection"
	Slug           string   `json:"-"`
	Kind           string   `json:"-"`
	Origin         string   `json:"-"`
	Text           string   `json:"-"`
	Domains        []string `json:"-"`
	// Doubts says why it is doubtful, one sentence an anchor.
	Doubts     []string  `json:"-"`
	LastRemark string    `json:"-"`
	ValidFrom  time.Time `json:"-"`
	ValidTo    time.Time `json:"-"` // zero: still true
	RecordedAt time.Time `json:"-"`
	Promoted   bool      `json:"-"`
}

// Refusal is why a request of a person or a model was not carried out, and
// what to do. Status is the value for a tool's result object.
type Refusal struct {
	Status string // invalid, denied, not_found, exists, stale_base
	Reason string
	Next   string
}

func (r *Refusal) Error() string {
	if r.Next == "" {
		return r.Reason
	}
	return r.Reason + ": " + r.Next
}

// SaveRequest is a wanted memory.
type SaveRequest struct {
	Slug, Memory string
	// Base is the digest of the existing file that the update was made against.
	Base string
	// Derived says that the turn read something that is not a workspace file.
	Derived bool
}

// Draft is a checked memory, ready to be written to Path.
type Draft struct {
	ID, Slug string
	Path     string // absolute
	Content  string // the whole file
	Origin   string
	// Flags are what people should look at (imperative text in a derived memory).
	Flags []string
}

// SaveResult says what was saved.
type SaveResult struct {
	ID, Path, Base, Origin string
	Created                bool
	Flags                  []string
}

// CiteRequest is one citation.
type CiteRequest struct {
	Session  string
	Turn     int
	MemoryID string
	Score    int // 1 to 5
	Truthful bool
	Remark   string // 1 to 300 characters
}

// CiteResult is the memory's record after the citation.
type CiteResult struct {
	Info MemoryInfo
	// Duplicate: the memory was already cited in this turn, nothing changed.
	Duplicate bool
	// NowQuarantined, NowEligible: this citation brought it about.
	NowQuarantined, NowEligible bool
}

// ToolCall is one tool call of a turn: what was called and how it ended, never
// what was asked or answered.
type ToolCall struct {
	Step   int
	Tool   string
	Status string
	Took   time.Duration
}

// Turn is what a turn was.
type Turn struct {
	Session, TurnID string
	Turn            int
	Prompt, Answer  string
	Stop            string // as agent.Stop
	Steps           int
	ToolCalls       int
	Calls           []ToolCall // for figures; may be fewer than ToolCalls
	Touched         []string   // absolute paths
	Failures        []string   // failing tool output
	Started, Ended  time.Time
	// Tokens and price; nil is "not reported".
	Input, CacheRead, CacheWrite, Output *int64
	USD                                  *float64
	Control                              bool
	Derived                              bool
}

// ReflectionOutcome keeps apart what a reflection came to.
type ReflectionOutcome string

const (
	ReflectionNone       ReflectionOutcome = "skipped"    // no work was done, nothing was asked
	ReflectionLearned    ReflectionOutcome = "learned"    // one to three lessons
	ReflectionNothing    ReflectionOutcome = "nothing"    // the model said there is nothing to learn
	ReflectionFailed     ReflectionOutcome = "failed"     // the call failed
	ReflectionUnreadable ReflectionOutcome = "unreadable" // the answer holds no lesson list
)

// TurnRecord is what was kept of a turn.
type TurnRecord struct {
	Outcome ReflectionOutcome
	Lessons []string // stored
	// Restated lessons were known already; they are logged as recurrence.
	Restated []string
	Skills   []string // mined in this call
	Detail   string   // why it failed or could not be read
}

// AnchorProblem is a dead or doubtful anchor in a memory file's text.
type AnchorProblem struct {
	Start, End int // byte offsets in the text
	Target     string
	Reason     string
	Dead       bool // nothing is there; false: what is there has changed
}

// When is the two independent time parameters; zero is now.
type When struct {
	AsOf    time.Time // belief time
	ValidAt time.Time // world time
}
