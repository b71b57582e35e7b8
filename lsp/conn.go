package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// class says how a request runs once the read loop let go of it.
type class int

const (
	inline class = iota // on the read loop: must be done in microseconds
	fast                // a person waits at the cursor: slots of its own
	normal              // the rest
	long                // a turn, a question: minutes; takes no slot
)

// maxPending bounds the requests that run or wait at one time.
const maxPending = 2000

// route is one row of the dispatch table. prepare decodes the parameters and
// takes the document snapshot, in wire order on the read loop; what it returns
// runs afterwards, concurrently unless class is inline.
type route struct {
	notification bool
	class        class
	prepare      func(params jsonrpc2.RawMessage) (job, error)
}

type job func(ctx context.Context) (any, error)

type table map[string]route

// validator is implemented by parameters that can be wrong although they decode.
type validator interface{ validate() error }

func decode[P any](params jsonrpc2.RawMessage) (*P, error) {
	p := new(P)
	if len(params) > 0 && string(params) != "null" {
		if err := protocol.Unmarshal(params, p); err != nil {
			return nil, jsonrpc2.NewError(jsonrpc2.InvalidParams, "the parameters do not fit: "+err.Error())
		}
	}
	if v, ok := any(p).(validator); ok {
		if err := v.validate(); err != nil {
			return nil, jsonrpc2.NewError(jsonrpc2.InvalidParams, err.Error())
		}
	}
	return p, nil
}

// request registers a request that needs no snapshot.
func request[P, R any](t table, method string, c class, h func(context.Context, *P) (R, error)) {
	t[method] = route{class: c, prepare: func(params jsonrpc2.RawMessage) (job, error) {
		p, err := decode[P](params)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) { return h(ctx, p) }, nil
	}}
}

// requestAt registers a request about a document. at runs on the read loop, so
// the snapshot holds exactly the changes that were sent before the request.
func requestAt[P, S, R any](t table, method string, c class, at func(*P) (S, error), h func(context.Context, *P, S) (R, error)) {
	t[method] = route{class: c, prepare: func(params jsonrpc2.RawMessage) (job, error) {
		p, err := decode[P](params)
		if err != nil {
			return nil, err
		}
		snap, err := at(p)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) { return h(ctx, p, snap) }, nil
	}}
}

// notification registers a notification; it runs on the read loop, in order.
func notification[P any](t table, method string, h func(*P) error) {
	t[method] = route{notification: true, prepare: func(params jsonrpc2.RawMessage) (job, error) {
		p, err := decode[P](params)
		if err != nil {
			return nil, err
		}
		return func(context.Context) (any, error) { return nil, h(p) }, nil
	}}
}

// Life of a connection.
const (
	lifeNew int32 = iota
	lifeRunning
	lifeShutdown
)

// dispatcher is the one handler of a connection: order, cancellation, limits,
// recovery and error codes, so that no feature has to know of them.
type dispatcher struct {
	routes table
	life   atomic.Int32
	log    *slog.Logger
	base   context.Context // ends with the connection
	fast   chan struct{}
	slots  chan struct{}
	// lost is told of a notification that could not be understood.
	lost func(method string, params []byte, err error)

	mu      sync.Mutex // guards running
	running map[jsonrpc2.ID]*call
}

// call is a running request.
type call struct {
	cancel    context.CancelFunc
	cancelled atomic.Bool // by the client
}

func newDispatcher(base context.Context, routes table, log *slog.Logger) *dispatcher {
	n := runtime.GOMAXPROCS(0)
	return &dispatcher{
		routes: routes, log: log, base: base,
		fast: make(chan struct{}, 2*n), slots: make(chan struct{}, 2*n),
		lost:    func(string, []byte, error) {},
		running: make(map[jsonrpc2.ID]*call),
	}
}

// handle is the jsonrpc2.Handler. A notification never returns an error: the
// library would close the connection.
func (d *dispatcher) handle(ctx context.Context, req *jsonrpc2.Request) (any, error) {
	if !req.IsCall() {
		d.notify(req)
		return nil, nil
	}
	return d.request(ctx, req)
}

func (d *dispatcher) notify(req *jsonrpc2.Request) {
	method := strings.Clone(req.Method())
	if method == protocol.MethodCancelRequest {
		d.cancelRequest(req.Params())
		return
	}
	if method != protocol.MethodExit && d.life.Load() != lifeRunning {
		d.log.Debug("notification outside the session dropped", "method", method)
		return
	}
	r, ok := d.routes[method]
	if !ok || !r.notification {
		if !strings.HasPrefix(method, "$/") {
			d.log.Debug("unknown notification dropped", "method", method)
		}
		return
	}
	params := req.Params()
	if _, err := d.run(d.base, method, func(ctx context.Context) (any, error) {
		do, err := r.prepare(params)
		if err != nil {
			d.lost(method, params, err)
			return nil, err
		}
		return do(ctx)
	}); err != nil {
		d.log.Warn("notification failed", "method", method, "error", err)
	}
}

func (d *dispatcher) request(ctx context.Context, req *jsonrpc2.Request) (any, error) {
	method := strings.Clone(req.Method())
	if err := d.admit(method); err != nil {
		return nil, err
	}
	r, ok := d.routes[method]
	if !ok || r.notification {
		return nil, jsonrpc2.NewError(jsonrpc2.MethodNotFound, fmt.Sprintf("this server has no request %q", method))
	}
	var do job
	if _, err := d.run(d.base, method, func(context.Context) (any, error) {
		var err error
		do, err = r.prepare(req.Params())
		return nil, err
	}); err != nil {
		return nil, wireError(err)
	}
	if r.class == inline {
		result, err := d.run(d.base, method, do)
		return result, wireError(err)
	}
	return d.concurrently(ctx, req.ID(), method, r.class, do)
}

// concurrently hands the read loop on and runs do when there is a slot.
func (d *dispatcher) concurrently(ctx context.Context, id jsonrpc2.ID, method string, c class, do job) (any, error) {
	run, forget, err := d.begin(id)
	if err != nil {
		return nil, err
	}
	defer forget()
	jsonrpc2.Async(ctx)
	mine, stop := context.WithCancel(d.base)
	defer stop()
	d.mu.Lock()
	run.cancel = stop
	early := run.cancelled.Load()
	d.mu.Unlock()
	if early {
		return nil, protocol.ErrRequestCancelled
	}
	leave, err := d.enter(mine, c)
	if err != nil {
		return nil, protocol.ErrRequestCancelled
	}
	defer leave()
	result, err := d.run(mine, method, do)
	if err != nil && run.cancelled.Load() {
		return nil, protocol.ErrRequestCancelled
	}
	return result, wireError(err)
}

// begin enters a request into the table that $/cancelRequest looks at; it
// happens on the read loop, so a cancel that follows always finds it.
func (d *dispatcher) begin(id jsonrpc2.ID) (*call, func(), error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.running) >= maxPending {
		return nil, nil, jsonrpc2.NewError(codeRequestFailed, fmt.Sprintf("%d requests are waiting already: wait for their answers", maxPending))
	}
	if _, dup := d.running[id]; dup {
		return nil, nil, jsonrpc2.NewError(jsonrpc2.InvalidRequest, "a request with this id is still running")
	}
	run := &call{cancel: func() {}}
	d.running[id] = run
	return run, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.running, id)
	}, nil
}

// enter waits for a slot of the class.
func (d *dispatcher) enter(ctx context.Context, c class) (leave func(), err error) {
	if c == long {
		return func() {}, nil
	}
	slots := d.slots
	if c == fast {
		slots = d.fast
	}
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// admit answers requests that came at the wrong time of the connection's life.
func (d *dispatcher) admit(method string) error {
	switch d.life.Load() {
	case lifeNew:
		if method != protocol.MethodInitialize {
			return jsonrpc2.NewError(jsonrpc2.ServerNotInitialized, "send initialize first")
		}
	case lifeRunning:
		if method == protocol.MethodInitialize {
			return jsonrpc2.NewError(jsonrpc2.InvalidRequest, "initialize was sent before; it may be sent once")
		}
	case lifeShutdown:
		return jsonrpc2.NewError(jsonrpc2.InvalidRequest, "the server was shut down; only exit may follow")
	}
	return nil
}

func (d *dispatcher) cancelRequest(params jsonrpc2.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		d.log.Warn("cancel request without an id", "error", err)
		return
	}
	var n int64
	var s string
	var id jsonrpc2.ID
	switch {
	case json.Unmarshal(p.ID, &n) == nil:
		id = jsonrpc2.NewNumberID(n)
	case json.Unmarshal(p.ID, &s) == nil:
		id = jsonrpc2.NewStringID(s)
	default:
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if run := d.running[id]; run != nil {
		run.cancelled.Store(true)
		run.cancel()
	}
}

// run calls do and turns a panic into an error: one bad request never ends the
// process. The stack goes to the log, the client gets a plain sentence.
func (d *dispatcher) run(ctx context.Context, method string, do job) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			d.log.Error("panic", "method", method, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = jsonrpc2.NewError(jsonrpc2.InternalError,
				fmt.Sprintf("%s failed inside the server (%v); the log has the details. Please report it.", method, r))
		}
	}()
	return do(ctx)
}

// codeRequestFailed is LSP's RequestFailed: the request was fine, the answer
// could not be made.
const codeRequestFailed jsonrpc2.Code = -32803

// wireError is the one place where errors become protocol codes.
func wireError(err error) error {
	var coded *jsonrpc2.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		return coded
	case errors.Is(err, context.Canceled):
		return protocol.ErrRequestCancelled
	default:
		return jsonrpc2.NewError(codeRequestFailed, err.Error())
	}
}

// codec encodes parameters and results with the protocol's own rules for union
// types; raw messages pass as they are.
type codec struct{}

func (codec) Marshal(v any) ([]byte, error) {
	switch raw := v.(type) {
	case jsonrpc2.RawMessage:
		return raw, nil
	case json.RawMessage:
		return raw, nil
	}
	return protocol.Marshal(v)
}

func (codec) Unmarshal(data []byte, v any) error {
	switch raw := v.(type) {
	case *jsonrpc2.RawMessage:
		*raw = append((*raw)[:0], data...)
		return nil
	case *json.RawMessage:
		*raw = append((*raw)[:0], data...)
		return nil
	}
	return protocol.Unmarshal(data, v)
}
