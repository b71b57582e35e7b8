package ocp

// The version strings of the two families.
const (
	VersionOCP          = "ocp/1.0-draft"
	VersionContextGraph = "contextgraph/1.0-draft"
)

// Kind is what a frame holds. The vocabulary is open: an unknown kind is kept
// verbatim and treated as opaque.
type Kind string

const (
	KindSnippet Kind = "snippet"
	KindSymbol  Kind = "symbol"
	KindFact    Kind = "fact"
	KindDoc     Kind = "doc"
	KindMemory  Kind = "memory"
	KindEpisode Kind = "episode"
	KindGraph   Kind = "graph"
)

// Representations of a frame.
const (
	Full      = "full" // the default; omitted on the wire
	Compact   = "compact"
	Reference = "reference"
)

// ProviderInfo is what a provider says of itself in the handshake.
type ProviderInfo struct {
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	DataFlow DataFlow `json:"data_flow"`
}

// DataFlow says what a provider sees and where it lets it go.
type DataFlow struct {
	Reads        bool     `json:"reads"`
	Writes       bool     `json:"writes"`
	Egress       bool     `json:"egress"`
	EgressScopes []string `json:"egress_scopes,omitempty"`
}

// Capabilities is what a provider can do.
type Capabilities struct {
	Query                 QueryCapability `json:"query"`
	Correlation           bool            `json:"correlation"`
	Graph                 bool            `json:"graph"`
	EmbeddingsFingerprint string          `json:"embeddings_fingerprint,omitempty"`
	Verify                bool            `json:"verify"`
	Representations       []string        `json:"representations,omitempty"`
	Resolve               bool            `json:"resolve"`
}

// QueryCapability lists the frame kinds served. A provider with an empty list
// is routed only queries without a kind filter.
type QueryCapability struct {
	Kinds []Kind `json:"kinds"`
}

// Query asks for frames.
type Query struct {
	Goal      string    `json:"goal"`
	QueryText string    `json:"query_text,omitempty"`
	Embedding []float32 `json:"embedding,omitempty"`
	// Kinds is a hard filter when it is not empty (Q1).
	Kinds []Kind `json:"kinds,omitempty"`
	// Anchors are URIs the host finds focal; matched by string equality.
	Anchors   []string `json:"anchors,omitempty"`
	MaxFrames uint32   `json:"max_frames"`
	MaxTokens uint32   `json:"max_tokens"`
	// AsOf pins world time (valid_from, valid_to), in the timestamp profile.
	AsOf                      string   `json:"as_of,omitempty"`
	RepresentationPreferences []string `json:"representation_preferences,omitempty"`
}

// Result answers a Query. No frames is an answer, not an error.
type Result struct {
	Frames    []Frame `json:"frames"`
	Truncated bool    `json:"truncated"`
	// DroppedEstimate is how many matching frames did not fit; nil when unknown.
	DroppedEstimate *uint32 `json:"dropped_estimate,omitempty"`
}

// Frame is one piece of context.
type Frame struct {
	ID    string `json:"id"`
	Kind  Kind   `json:"kind"`
	Title string `json:"title"`
	// Content is untrusted text. Full and compact frames carry it even when it
	// is empty; reference frames never do.
	Content       *string `json:"content,omitempty"`
	ContentDigest *string `json:"content_digest,omitempty"`
	URI           string  `json:"uri,omitempty"`

	Representation           string      `json:"representation,omitempty"`
	ContentFidelity          string      `json:"content_fidelity,omitempty"`
	CanonicalContentHash     string      `json:"canonical_content_hash,omitempty"`
	ContentRef               *ContentRef `json:"content_ref,omitempty"`
	Transform                *Transform  `json:"transform,omitempty"`
	MinimumContentFidelity   string      `json:"minimum_content_fidelity,omitempty"`
	InlineContentRequirement string      `json:"inline_content_requirement,omitempty"`

	// Score is in [0,1], local to the provider and ordinal.
	Score float32 `json:"score"`
	// TokenCost is Cost(Content) (B3).
	TokenCost          uint32  `json:"token_cost"`
	CanonicalTokenCost *uint32 `json:"canonical_token_cost,omitempty"`
	TokenizerRef       string  `json:"tokenizer_ref,omitempty"`

	// World time, half open, and when the provider learned it (§9).
	ValidFrom  string `json:"valid_from,omitempty"`
	ValidTo    string `json:"valid_to,omitempty"`
	RecordedAt string `json:"recorded_at,omitempty"`

	Provenance    []Provenance `json:"provenance,omitempty"` // closest to the source first
	CitationLabel string       `json:"citation_label,omitempty"`
	Embedding     *Embedding   `json:"embedding,omitempty"`
	Relations     []Relation   `json:"relations,omitempty"`
}

// Text is the frame's content, empty when there is none.
func (f Frame) Text() string {
	if f.Content == nil {
		return ""
	}
	return *f.Content
}

// Label is what people are shown: the citation label, else the title.
func (f Frame) Label() string {
	if !Blank(f.CitationLabel) {
		return f.CitationLabel
	}
	return f.Title
}

// AnchoredBy reports whether the frame's URI or one of its relations' targets
// is one of anchors (G3).
func (f Frame) AnchoredBy(anchors []string) bool {
	for _, a := range anchors {
		if f.URI == a && a != "" {
			return true
		}
		for _, r := range f.Relations {
			if r.TargetURI == a {
				return true
			}
		}
	}
	return false
}

// ContentRef names where the whole content can be had.
type ContentRef struct {
	ProviderID string `json:"provider_id"`
	URI        string `json:"uri"`
	ExpiresAt  string `json:"expires_at,omitempty"`
}

// Transform says how a compact frame was made.
type Transform struct {
	Method         string `json:"method"`
	Implementation string `json:"implementation"`
	Version        string `json:"version"`
}

// Provenance is one link from a frame back to its source. Entries of type
// "file" carry the digest of the bytes that URI and Range name (F5).
type Provenance struct {
	Type   string `json:"type"`
	URI    string `json:"uri,omitempty"`
	Range  string `json:"range,omitempty"`
	Digest string `json:"digest,omitempty"`
	Method string `json:"method,omitempty"`
	By     string `json:"by,omitempty"`
}

// Relation is a labelled edge from a frame to something else.
type Relation struct {
	Rel         string `json:"rel"`
	TargetURI   string `json:"target_uri"`
	DisplayName string `json:"display_name,omitempty"`
}

// Embedding is a vector and the model it belongs to.
type Embedding struct {
	Fingerprint string    `json:"fingerprint"`
	Vector      []float32 `json:"vector,omitempty"`
}

// FrameID is a frame's identity: same identity, same bytes.
type FrameID struct {
	ProviderID    string  `json:"provider_id"`
	FrameID       string  `json:"frame_id"`
	ContentDigest *string `json:"content_digest,omitempty"`
}

// VerifyStatus is what became of a frame that a host holds.
type VerifyStatus string

const (
	Valid   VerifyStatus = "valid"
	Stale   VerifyStatus = "stale"
	Gone    VerifyStatus = "gone"
	Unknown VerifyStatus = "unknown"
)

// Verdict answers for one identity.
type Verdict struct {
	Frame             FrameID      `json:"frame"`
	Status            VerifyStatus `json:"status"`
	ReplacementDigest string       `json:"replacement_digest,omitempty"`
}

// ErrorCode names why a provider did not answer. The vocabulary is open; an
// unknown code is treated as CodeInternal.
type ErrorCode string

const (
	CodeBadRequest                ErrorCode = "bad_request"
	CodeUnsupportedKind           ErrorCode = "unsupported_kind"
	CodeUnsupportedRepresentation ErrorCode = "unsupported_representation"
	CodeIncompatibleVersion       ErrorCode = "incompatible_version"
	CodeBudgetUnsatisfiable       ErrorCode = "budget_unsatisfiable"
	CodeUnavailable               ErrorCode = "unavailable"
	CodeShuttingDown              ErrorCode = "shutting_down"
	CodeInternal                  ErrorCode = "internal"
)

// Retryable reports whether the same query may succeed later.
func (c ErrorCode) Retryable() bool { return c == CodeUnavailable || c == CodeShuttingDown }

// Error is a provider's answer that it cannot serve.
type Error struct {
	Code    ErrorCode `json:"code,omitempty"`
	Message string    `json:"message"`
}

func (e *Error) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return string(e.Code) + ": " + e.Message
}
