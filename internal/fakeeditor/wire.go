package fakeeditor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// message is any JSON-RPC message. Which members are set tells its kind.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *RPCError       `json:"error,omitempty"`
}

// RPCError is an error answer of the server.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// ErrGone is what calls end with when the server is gone.
var ErrGone = errors.New("the server closed the connection")

// conn is one JSON-RPC connection. Messages that arrive are handed to serve,
// one after the other, on the reading goroutine.
type conn struct {
	serve func(message) // requests and notifications of the server
	seen  func(dir Direction, m message)

	mu      sync.Mutex
	next    int64
	pending map[string]chan message
	queue   [][]byte
	wake    chan struct{}
	closed  bool

	done chan struct{} // the reading side has ended
	w    io.WriteCloser
}

func newConn(r io.Reader, w io.WriteCloser, serve func(message), seen func(Direction, message)) *conn {
	c := &conn{
		serve: serve, seen: seen, w: w,
		pending: map[string]chan message{},
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
	go c.readLoop(bufio.NewReaderSize(r, 1<<16))
	go c.writeLoop()
	return c
}

func (c *conn) readLoop(r *bufio.Reader) {
	defer c.end()
	for {
		body, err := readFrame(r)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			m = message{Method: "!malformed", Params: quoteJSON(fmt.Sprintf("%v: %.200s", err, body))}
		}
		c.seen(Received, m)
		if m.Method != "" {
			c.serve(m)
			continue
		}
		c.mu.Lock()
		ch := c.pending[string(m.ID)]
		delete(c.pending, string(m.ID))
		c.mu.Unlock()
		if ch != nil {
			ch <- m
		}
	}
}

// end fails every call that still waits.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	for id, ch := range c.pending {
		close(ch)
		delete(c.pending, id)
	}
	close(c.done)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *conn) writeLoop() {
	defer c.w.Close()
	for range c.wake {
		for {
			c.mu.Lock()
			batch, closed := c.queue, c.closed
			c.queue = nil
			c.mu.Unlock()
			for _, b := range batch {
				if _, err := c.w.Write(b); err != nil {
					c.end()
					return
				}
			}
			if len(batch) == 0 {
				if closed {
					return
				}
				break
			}
		}
	}
}

// send queues m; messages leave in the order of their send calls.
func (c *conn) send(m message) {
	m.JSONRPC = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		panic(err) // our own structs only
	}
	c.seen(Sent, m)
	c.raw(frame(body))
}

// raw queues bytes as they are.
func (c *conn) raw(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.queue = append(c.queue, b)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *conn) notify(method string, params any) {
	c.send(message{Method: method, Params: mustJSON(params)})
}

// call sends a request and returns its id and where the answer will arrive; the
// channel is closed without a message when the server is gone.
func (c *conn) call(method string, params any) (json.RawMessage, <-chan message) {
	ch := make(chan message, 1)
	c.mu.Lock()
	c.next++
	id := json.RawMessage(strconv.FormatInt(c.next, 10))
	if c.closed {
		close(ch)
	} else {
		c.pending[string(id)] = ch
	}
	c.mu.Unlock()
	c.send(message{ID: id, Method: method, Params: mustJSON(params)})
	return id, ch
}

// wait turns what arrives on ch into a result or an error.
func wait(ctx context.Context, ch <-chan message) (json.RawMessage, error) {
	select {
	case m, ok := <-ch:
		if !ok {
			return nil, ErrGone
		}
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *conn) reply(id json.RawMessage, result any) {
	raw := mustJSON(result)
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	c.send(message{ID: id, Result: raw})
}

func (c *conn) replyError(id json.RawMessage, code int, text string) {
	c.send(message{ID: id, Error: &RPCError{Code: code, Message: text}})
}

// readFrame reads one message: header lines, an empty line, the body.
func readFrame(r *bufio.Reader) ([]byte, error) {
	length := -1
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			if length < 0 {
				continue // stray empty lines between messages
			}
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("not a header line: %q", line)
		}
		if strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || length < 0 {
				return nil, fmt.Errorf("bad Content-Length %q", value)
			}
		}
	}
	body := make([]byte, length)
	_, err := io.ReadFull(r, body)
	return body, err
}

func frame(body []byte) []byte {
	return append([]byte("Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"), body...)
}

func mustJSON(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	if raw, ok := v.(json.RawMessage); ok {
		return raw
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own structs only
	}
	return b
}

func quoteJSON(s string) json.RawMessage { return mustJSON(s) }
