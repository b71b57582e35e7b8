package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"sync"
	"time"
)

// Timeouts bound the silences of a call. There is no limit on its whole length.
type Timeouts struct {
	Connect   time.Duration // TCP and TLS, each
	FirstByte time.Duration // from the start of an attempt to the first byte of the answer's body
	Idle      time.Duration // between two bytes
}

// DefaultTimeouts are what agent.md fixes.
var DefaultTimeouts = Timeouts{Connect: 10 * time.Second, FirstByte: 90 * time.Second, Idle: 120 * time.Second}

// answerMost bounds one answer, in bytes: a server that never ends would else fill
// the memory. The longest that a model gives is a hundredth of it.
const answerMost = 64 << 20

var (
	errFlood     = fmt.Errorf("the answer is longer than %d MiB", answerMost>>20)
	errFirstByte = errors.New("no answer began in time")
	errIdle      = errors.New("the answer stopped in the middle")
)

// notStreamError is an answer that cannot be a stream of events.
type notStreamError struct{ contentType, body string }

func (e *notStreamError) Error() string {
	return fmt.Sprintf("the server answered %s instead of a stream of events: %s", e.contentType, e.body)
}

// newHTTPClient returns a client of its own: default transports are shared by
// the whole process, and a test or plugin could have changed them.
func newHTTPClient(t Timeouts) *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DialContext = (&net.Dialer{Timeout: t.Connect, KeepAlive: 30 * time.Second}).DialContext
	base.TLSHandshakeTimeout = t.Connect
	return &http.Client{Transport: watched{base}}
}

// attempt is one request; its timer cancels it when the line goes silent.
type attempt struct {
	cancel context.CancelCauseFunc
	idle   time.Duration

	mu    sync.Mutex // guards what follows
	timer *time.Timer
	began bool
	tail  []byte // the newest bytes of the body
}

type attemptKey struct{}

// begin arms the first-byte timer; end must be called.
func begin(ctx context.Context, t Timeouts) (context.Context, *attempt) {
	ctx, cancel := context.WithCancelCause(ctx)
	a := &attempt{cancel: cancel, idle: t.Idle}
	a.timer = time.AfterFunc(t.FirstByte, a.expire)
	return context.WithValue(ctx, attemptKey{}, a), a
}

func (a *attempt) expire() {
	a.mu.Lock()
	began := a.began
	a.mu.Unlock()
	if began {
		a.cancel(errIdle)
	} else {
		a.cancel(errFirstByte)
	}
}

func (a *attempt) heard(p []byte) {
	const keep = 32
	a.mu.Lock()
	defer a.mu.Unlock()
	a.began = true
	a.timer.Reset(a.idle)
	a.tail = append(a.tail, p[max(0, len(p)-keep):]...)
	a.tail = a.tail[max(0, len(a.tail)-keep):]
}

// done reports whether the body ended with the [DONE] of OpenAI-like streams,
// which the SDK swallows.
func (a *attempt) done() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return bytes.Contains(a.tail, []byte("[DONE]"))
}

func (a *attempt) end() {
	a.mu.Lock()
	a.timer.Stop()
	a.mu.Unlock()
	a.cancel(nil)
}

// watched resets the attempt's timer with every byte that arrives, and turns
// away what is not a stream.
type watched struct{ base http.RoundTripper }

func (w watched) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := w.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	a, ok := req.Context().Value(attemptKey{}).(*attempt)
	if !ok {
		return res, nil
	}
	res.Body = &watchedBody{res.Body, a, answerMost}
	if res.StatusCode >= 400 {
		return inObjectForm(res), nil
	}
	if kind := res.Header.Get("Content-Type"); res.StatusCode == http.StatusOK && !streams(kind) {
		b, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10)) // what can be read is quoted
		_ = res.Body.Close()
		return nil, &notStreamError{kind, string(b)}
	}
	return res, nil
}

// inObjectForm turns {"error": "text"} into the {"error": {"message": "text"}}
// that the SDKs can read: with the former they lose the status and the text.
func inObjectForm(res *http.Response) *http.Response {
	const most = 64 << 10
	body, _ := io.ReadAll(io.LimitReader(res.Body, most)) // what can be read is quoted
	_ = res.Body.Close()
	var in struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &in) == nil && in.Error != "" {
		if raw, err := json.Marshal(map[string]any{"error": map[string]string{"message": in.Error}}); err == nil {
			body = raw
		}
	}
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	res.Header.Del("Content-Length")
	return res
}

// streams reports whether a content type can be a stream of events; some
// servers name none, or a plain text.
func streams(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return true
	}
	switch kind {
	case "text/html", "application/json", "application/xml", "text/xml":
		return false
	}
	return true
}

type watchedBody struct {
	io.ReadCloser
	a    *attempt
	left int64 // bytes that may still come
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.a.heard(p[:n])
	}
	if b.left -= int64(n); b.left < 0 {
		b.a.cancel(errFlood)
		return 0, errFlood
	}
	return n, err
}
