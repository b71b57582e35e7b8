package script

import "fmt"

// Fault spoils the first attempts at an entry; the entry is used up only by the
// attempt that gets through, as a client that retries expects.
type Fault struct {
	// Times is how many attempts fail; 0 is one.
	Times int `yaml:"times"`

	// Status answers with an HTTP error instead of a stream.
	Status       int    `yaml:"status"`
	RetryAfterMS int    `yaml:"retry_after_ms"` // the retry-after-ms header
	RetryAfter   string `yaml:"retry_after"`    // the retry-after header, as it stands
	Body         string `yaml:"body"`           // instead of a well-formed error; "{{headers}}" echoes the request's

	// After stops the stream after that many bytes of its body, InCall after
	// that many bytes of the first call's input.
	After  *int `yaml:"after"`
	InCall *int `yaml:"in_call"`
	// How the stream stops: "reset" (the default), "close" (a clean end),
	// "hang", "error" (an error event) or "finish" (InCall only: the input ends
	// there and the rest of the message follows as if it were whole).
	How string `yaml:"how"`
	// Hang never answers at all.
	Hang bool `yaml:"hang"`
}

// The ways a stream can stop.
const (
	HowReset  = "reset"
	HowClose  = "close"
	HowHang   = "hang"
	HowError  = "error"
	HowFinish = "finish"
)

// Wire makes the transport of an entry unusual, without making it wrong.
type Wire struct {
	// Split sends the body in pieces of that many bytes, wherever they fall.
	Split int `yaml:"split"`
	// Delta is how many characters of text or input one event carries; 0 is 24.
	Delta int `yaml:"delta"`
	// ASCII writes the input's other characters as \uXXXX escapes.
	ASCII bool `yaml:"ascii"`
	CRLF  bool `yaml:"crlf"`
	// Ping, Unknown and Extra put pings and comments, events of unknown types
	// and unknown members between and into the others.
	Ping    bool `yaml:"ping"`
	Unknown bool `yaml:"unknown"`
	Extra   bool `yaml:"extra"`
	// BadJSON puts an event whose data is not JSON into the middle.
	BadJSON bool `yaml:"bad_json"`
	// Quirks are deviations of OpenAI-like servers: see docs/script-provider.md.
	Quirks []string `yaml:"quirks"`
}

// Quirk reports whether the entry asks for a named deviation.
func (w Wire) Quirk(name string) bool {
	for _, q := range w.Quirks {
		if q == name {
			return true
		}
	}
	return false
}

func (f *Fault) check() error {
	if f == nil {
		return nil
	}
	kinds := 0
	for _, set := range []bool{f.Status != 0, f.After != nil, f.InCall != nil, f.Hang} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		return fmt.Errorf("a fault needs exactly one of status, after, in_call and hang")
	}
	switch f.How {
	case "", HowReset, HowClose, HowHang, HowError:
	case HowFinish:
		if f.InCall == nil {
			return fmt.Errorf("fault.how finish goes with in_call only")
		}
	default:
		return fmt.Errorf("fault.how %q: use reset, close, hang, error or finish", f.How)
	}
	disguised := f.Status == 200 && f.Body != "" // some gateways answer errors that way
	if f.Status != 0 && (f.Status < 400 || f.Status > 599) && !disguised {
		return fmt.Errorf("fault.status %d is not an HTTP error", f.Status)
	}
	return nil
}
