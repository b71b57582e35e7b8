package fakemodel

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stella-ls/stella-ls/agent/model/script"
)

// maxBody bounds a request; real servers refuse 32 MB and more.
const maxBody = 64 << 20

// maxRecorded bounds how many requests a server remembers: the newest.
const maxRecorded = 1000

// Server is a running fake. Close ends it and every answer under way.
type Server struct {
	// URL is the base without a path, such as "http://127.0.0.1:40001".
	URL string
	// Key is what callers must send; nobody else on this machine gets answers.
	Key string

	engine *script.Engine
	http   *http.Server
	done   chan struct{} // closed when the server has ended
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex // guards what follows
	requests []Recorded
	copy     io.Writer // nil: requests are kept in memory only
}

// Recorded is a request as it arrived.
type Recorded struct {
	Method, Path string
	Header       http.Header
	Body         []byte
	// Attempt is the caller's own count, 0 when it sent none.
	Attempt int
}

// Headers that our own client adds when it talks to this server and to no other.
const (
	HeaderPurpose = "X-Stella-Purpose"
	HeaderSession = "X-Stella-Session"
)

// Start listens on a free port of 127.0.0.1.
func Start(engine *script.Engine) (*Server, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the scripted model cannot listen on 127.0.0.1: %w", err)
	}
	key := make([]byte, 16)
	if _, err := rand.Read(key); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	s := &Server{URL: "http://" + ln.Addr().String(), Key: "script-" + hex.EncodeToString(key),
		engine: engine, done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.handle(anthropic{}))
	mux.HandleFunc("POST /v1/chat/completions", s.handle(openai{}))
	mux.HandleFunc("POST /api/v1/chat/completions", s.handle(openai{})) // as OpenRouter has it
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:    log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return s.ctx }}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(ln) // always ErrServerClosed, from Close
	}()
	return s, nil
}

// Copy makes the server write each request to w as it arrives, before it is
// answered: one JSON object a line with the members purpose, session and body,
// the exact bytes as a string. A request that cannot be written is answered with
// an error, so that nobody takes a record with a hole for a whole one.
func (s *Server) Copy(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.copy = w
}

// Close ends the server and waits for it.
func (s *Server) Close() error {
	s.cancel()
	err := s.http.Close()
	<-s.done
	return err
}

// Requests are the newest requests, oldest first.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Recorded(nil), s.requests...)
}

// ReflectionName is a model name by which a client without HeaderPurpose says
// that a call is a reflection: as model.reflection_name in its settings.
const ReflectionName = "scripted-reflection"

// format is one wire format.
type format interface {
	decode(body []byte) (script.Request, error)
	// frames lays an answer out; the model name is echoed.
	frames(model string, r *script.Reply) []frame
	// errorBody is a well-formed error answer.
	errorBody(status int, message string) []byte
	// errorFrame is an error in the middle of a stream.
	errorFrame() frame
}

func (s *Server) handle(f format) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			fail(w, f, http.StatusRequestEntityTooLarge, err.Error())
			return
		}
		if err := s.record(r, body); err != nil {
			fail(w, f, http.StatusInternalServerError, "the request could not be recorded: "+err.Error())
			return
		}
		if !s.authorized(r.Header) {
			fail(w, f, http.StatusUnauthorized, "invalid api key")
			return
		}
		call, err := f.decode(body)
		if err != nil {
			fail(w, f, http.StatusBadRequest, err.Error())
			return
		}
		call.Purpose = r.Header.Get(HeaderPurpose)
		if call.Purpose == "" && call.Model == ReflectionName {
			call.Purpose = "reflect"
		}
		call.Session = r.Header.Get(HeaderSession)
		reply, err := s.engine.Next(call)
		if err != nil {
			fail(w, f, http.StatusBadRequest, err.Error())
			return
		}
		s.answer(w, r, f, call.Model, reply)
	}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, f format, model string, reply *script.Reply) {
	if fault := reply.Fault; fault != nil {
		switch {
		case fault.Status != 0:
			failWith(w, r, f, fault)
			return
		case fault.Hang:
			<-r.Context().Done()
			return
		}
	}
	st := newStream(w, r.Context(), s.engine, reply)
	st.send(f.frames(model, reply), f.errorFrame())
}

func (s *Server) record(r *http.Request, body []byte) error {
	attempt, _ := strconv.Atoi(r.Header.Get("X-Stainless-Retry-Count"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) == maxRecorded {
		s.requests = s.requests[1:]
	}
	s.requests = append(s.requests, Recorded{r.Method, r.URL.Path, r.Header.Clone(), body, attempt})
	if s.copy == nil {
		return nil
	}
	line, err := json.Marshal(map[string]string{"purpose": r.Header.Get(HeaderPurpose), "session": r.Header.Get(HeaderSession), "body": string(body)})
	if err != nil {
		return err
	}
	_, err = s.copy.Write(append(line, '\n'))
	return err
}

func (s *Server) authorized(h http.Header) bool {
	bearer := strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
	return bearer == s.Key || h.Get("X-Api-Key") == s.Key
}

func fail(w http.ResponseWriter, f format, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(f.errorBody(status, message)) // the client may be gone
}

func failWith(w http.ResponseWriter, r *http.Request, f format, fault *script.Fault) {
	if fault.RetryAfterMS > 0 {
		w.Header().Set("Retry-After-Ms", strconv.Itoa(fault.RetryAfterMS))
	}
	if fault.RetryAfter != "" {
		w.Header().Set("Retry-After", fault.RetryAfter)
	}
	if fault.Body == "" {
		fail(w, f, fault.Status, http.StatusText(fault.Status)+" (scripted)")
		return
	}
	// Some gateways answer an error with a dump of what they were sent.
	var headers strings.Builder
	_ = r.Header.Write(&headers)
	escaped, _ := json.Marshal(headers.String())
	body := strings.ReplaceAll(fault.Body, "{{headers}}", strings.Trim(string(escaped), `"`))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(fault.Status)
	_, _ = io.WriteString(w, body)
}
