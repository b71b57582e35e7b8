package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/stella-ls/stella-ls/internal/secret"
)

// header finds credentials in a dump of request headers, whatever they look
// like; package secret knows the shapes of the rest.
var header = regexp.MustCompile(`(?i)\bBearer\s+[^\s"'\\,;]{8,}|\b(?:x-api-key|authorization)["']?\s*[:=]\s*["']?[^\s"'\\,;]{8,}`)

// redact removes keys from text: those given, wherever they stand, and what is
// shaped like one.
func redact(text string, keys ...string) string {
	for _, k := range keys {
		if len(k) >= 4 {
			text = strings.ReplaceAll(text, k, secret.Masked)
		}
	}
	return secret.Mask(header.ReplaceAllString(text, secret.Masked))
}

// bounded keeps what an error quotes of a server short and on one line.
func bounded(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const most = 600
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("... (%d bytes more)", len(s)-most)
	}
	return s
}

// endpoint is what every failure of one provider needs to be put in words.
type endpoint struct {
	provider string // "anthropic", "openai"
	base     string
	keyName  string // the environment variable that holds the key
	keys     []string
}

func (p endpoint) failure(status int, message, hint string) *failure {
	return &failure{Error: &Error{Provider: p.provider, Status: status,
		Message: redact(bounded(message), p.keys...), Hint: hint}}
}

// dropped is a stream that ended before its message did.
func (p endpoint) dropped(what string) *failure {
	f := p.failure(0, what, "nothing of the cut answer was run")
	f.retry, f.Err = true, io.ErrUnexpectedEOF
	return f
}

// httpStatus is an answer with an error status.
func (p endpoint) httpStatus(status int, h http.Header, message string) *failure {
	if message == "" {
		message = strings.ToLower(http.StatusText(status))
	}
	f := p.failure(status, fmt.Sprintf("HTTP %d: %s", status, message), p.hint(status, message))
	f.retry, f.after = retryStatus(status, h), retryAfter(h, time.Now())
	return f
}

func (p endpoint) hint(status int, message string) string {
	lower := strings.ToLower(message)
	switch {
	case strings.HasPrefix(message, "script "):
		return "the script and the session disagree; see docs/script-provider.md"
	case status == http.StatusUnauthorized:
		return "check " + p.keyName
	case status == http.StatusForbidden:
		return "the key in " + p.keyName + " may not use this model"
	case status == http.StatusNotFound:
		return "check model.name and model.base_url in the settings"
	case status == http.StatusRequestEntityTooLarge || strings.Contains(lower, "prompt is too long") || strings.Contains(lower, "context length") || strings.Contains(lower, "context_length"):
		return "the conversation is longer than the model takes; start a new session or compact"
	case status == http.StatusTooManyRequests:
		return "the provider limits this key's rate"
	case status == 529 || status == http.StatusServiceUnavailable:
		return "the provider is overloaded"
	}
	return ""
}

// errorIn reads an error object or text, {"error": ...}, and the HTTP status that
// its code is, 0 when it is none.
func errorIn(data []byte) (status int, message string, ok bool) {
	var in struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &in) != nil || len(in.Error) == 0 {
		return 0, "", false
	}
	var o struct {
		Message string          `json:"message"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(in.Error, &message) != nil {
		if json.Unmarshal(in.Error, &o) != nil || o.Message == "" {
			return 0, "", false
		}
		message = o.Message
	}
	if json.Unmarshal(o.Code, &status) != nil || status < 400 || status >= 600 {
		status = 0
	}
	return status, message, message != ""
}

// plainError words a body without an error object: vLLM and others put the
// message at the top, FastAPI calls it detail, and proxies answer in prose.
func plainError(body []byte) string {
	if _, message, ok := errorIn(body); ok {
		return message
	}
	var o struct {
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &o) == nil {
		var text string
		switch {
		case o.Message != "":
			return o.Message
		case json.Unmarshal(o.Detail, &text) == nil && text != "":
			return text
		case len(o.Detail) > 0:
			return string(o.Detail)
		}
	}
	return string(body)
}

// notAStream words an answer of HTTP 200 that is no stream: a web page, or a
// gateway's error in the dress of a success.
func (p endpoint) notAStream(err *notStreamError) *failure {
	switch status, message, ok := errorIn([]byte(err.body)); {
	case status != 0:
		return p.httpStatus(status, http.Header{}, message)
	case ok:
		return p.failure(0, "the server answered with an error: "+message, "")
	}
	return p.failure(0, err.Error(), "check model.base_url: it must name the API, usually ending in /v1 for OpenAI-compatible servers")
}

// transport words an error below HTTP. cause is the attempt's own reason for
// having been cancelled, if it was.
func (p endpoint) transport(err, cause error) *failure {
	var f *failure
	var notStream *notStreamError
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(cause, errFirstByte):
		f = p.failure(0, "no answer began in time", "the server is slow or does not answer; check model.base_url")
		f.retry = true
	case errors.Is(cause, errIdle):
		f = p.dropped("the answer stopped in the middle and nothing more came")
	case errors.Is(cause, errFlood), errors.Is(err, errFlood):
		f = p.failure(0, errFlood.Error()+" and was broken off", "the server does not end its answers; check model.base_url")
	case errors.As(err, &notStream):
		f = p.notAStream(notStream)
	case errors.As(err, &dns):
		f = p.failure(0, "cannot find "+dns.Name, "check the network and model.base_url")
		f.retry = dns.IsTemporary || dns.IsTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		f = p.failure(0, "connection refused by "+p.base, "is the server running there? check model.base_url")
	case errors.As(err, &op) && op.Op == "dial":
		f = p.failure(0, "cannot connect to "+p.base+": "+op.Err.Error(), "check the network and model.base_url")
		f.retry = op.Timeout()
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), strings.Contains(err.Error(), "http2:"):
		f = p.dropped("the connection was lost")
	case errors.Is(err, context.DeadlineExceeded):
		f = p.failure(0, "time ran out", "")
		f.retry = true
	default:
		f = p.failure(0, err.Error(), "")
	}
	return f
}

// malformed is an answer that breaks its own format; trying again would buy the
// same answer a second time.
func (p endpoint) malformed(err error) *failure {
	return p.failure(0, "the answer is malformed: "+err.Error(), "the server or a gateway before it does not speak this API; check model.provider and model.base_url")
}
