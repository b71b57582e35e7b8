package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetries is how often a call is tried again; see agent.md.
const maxRetries = 6

// maxWait bounds a wait that a server asks for: past it the human should decide.
const maxWait = 5 * time.Minute

// Backoff says how long to wait between attempts. The zero value is what
// production uses; tests inject both members.
type Backoff struct {
	// Rand returns a number in [0, 1).
	Rand func() float64
	// Sleep waits, or returns ctx's error at once when it ends.
	Sleep func(ctx context.Context, d time.Duration) error
}

// wait is exponential from 0.5 s to 32 s, of which a random part between a half
// and the whole is taken, so that sessions which failed together do not return
// together.
func (b Backoff) wait(try int) time.Duration {
	full := min(500*time.Millisecond<<try, 32*time.Second)
	r := b.Rand
	if r == nil {
		r = rand.Float64
	}
	return full/2 + time.Duration(r()*float64(full/2))
}

func (b Backoff) sleep(ctx context.Context, d time.Duration) error {
	if b.Sleep != nil {
		return b.Sleep(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failure is one attempt's end, with what the loop must know about it.
type failure struct {
	*Error
	retry bool
	// after is the server's wish; 0 is none.
	after time.Duration
}

// attempts runs try until it works, fails for good, or was tried often enough.
func attempts(ctx context.Context, b Backoff, on func(Event), try func(context.Context) (Response, *failure)) (Response, error) {
	for n := 0; ; n++ {
		res, f := try(ctx)
		if ctx.Err() != nil {
			return Response{}, ctx.Err()
		}
		if f == nil {
			return res, nil
		}
		if !f.retry {
			return Response{}, f.Error
		}
		if n == maxRetries {
			f.Message += fmt.Sprintf("; tried %d times", n+1)
			return Response{}, f.Error
		}
		wait := b.wait(n)
		if f.after > 0 {
			// A little more than asked for, never less: the point is to come back spread out.
			wait = f.after + wait/8
		}
		if wait > maxWait {
			f.Message += fmt.Sprintf("; the server asks to wait %s", f.after.Round(time.Second))
			f.Hint = "continue the session after that time"
			return Response{}, f.Error
		}
		on(Event{Kind: EventRetry, Text: fmt.Sprintf("%s; trying again in %s (%d of %d)", f.Message, round(wait), n+1, maxRetries)})
		if err := b.sleep(ctx, wait); err != nil {
			return Response{}, err
		}
	}
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// retryAfter reads the server's wish: retry-after-ms, else retry-after as
// seconds or as a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil && s >= 0 {
		return time.Duration(min(s, 1e9) * float64(time.Second))
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

// retryStatus reports whether an HTTP status is worth another try.
func retryStatus(status int, h http.Header) bool {
	switch h.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500 && status != http.StatusNotImplemented
}
