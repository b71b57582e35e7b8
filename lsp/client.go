package lsp

import (
	"context"
	"fmt"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// Deadlines of requests to the client. A question to the person has none of its
// own: it ends with the turn that asks.
const (
	editDeadline   = 15 * time.Second
	clientDeadline = 10 * time.Second
)

// client is the other side of the connection. Calls may be made from anywhere
// but the read loop, which has to read their answers.
type client struct {
	conn jsonrpc2.Conn
	out  *outbox
	caps clientCaps
}

// call sends a request and waits for its answer, at most d (0: as long as ctx
// lasts). A call that is given up is cancelled at the client; a late answer is
// dropped.
func (c *client) call(ctx context.Context, d time.Duration, method string, params, result any) error {
	if d > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, d, fmt.Errorf("the editor did not answer %s within %s", method, d))
		defer stop()
	}
	id, err := c.conn.Call(ctx, method, params, result)
	if ctx.Err() != nil {
		if n, ok := id.Number(); ok {
			c.notify(protocol.MethodCancelRequest, map[string]int64{"id": n})
		}
		return context.Cause(ctx)
	}
	return err
}

// notify sends a notification, waiting only when the outbox is full.
func (c *client) notify(method string, params any) {
	_ = c.conn.Notify(context.Background(), method, params)
}

// offer sends a notification if there is room, and never waits.
func (c *client) offer(method string, params any) bool {
	body, err := codec{}.Marshal(params)
	if err != nil {
		return false
	}
	frame, err := encodeFrame(jsonrpc2.NewNotification(method, body))
	return err == nil && c.out.tryPut(frame)
}

// show puts a message before the person.
func (c *client) show(t protocol.MessageType, text string) {
	c.offer(protocol.MethodWindowShowMessage, &protocol.ShowMessageParams{Type: t, Message: text})
}
