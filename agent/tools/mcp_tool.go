package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/process"
	"github.com/stella-ls/stella-ls/internal/secret"
)

// mcpBody bounds a result of an MCP tool, in bytes.
const mcpBody = 48 << 10

// mcpTool is one tool of one server.
type mcpTool struct {
	link     *mcpLink
	name     string // the server's own
	spec     Spec
	readOnly bool // so the server says
}

// Caught is what people are told when a tool that says that it only reads was
// running while a file changed. From then on it is asked about like any other.
func (t *mcpTool) Caught(changed []guard.Guarded) string {
	if !t.readOnly || t.link.distrusted(t.name) {
		return ""
	}
	during := "during " + t.Detail(Call{})
	for _, g := range changed {
		if slices.Contains(g.ChangedBy, during) {
			t.link.distrust(t.name)
			return fmt.Sprintf("%s of the MCP server %s says that it only reads, but %s changed while it ran; from now on you are asked before it is called", t.name, t.link.name, g.Display)
		}
	}
	return ""
}

func (t *mcpTool) Spec() Spec { return t.spec }

// Limit is above the call's own, which says what happened.
func (t *mcpTool) Limit() time.Duration {
	return mcpConnect + t.link.server.callLimit() + mcpPing + 10*time.Second
}

func (t *mcpTool) Detail(Call) string { return "mcp " + t.link.name + "/" + t.name }

// Need: a tool that says that it only reads is not asked about. The server was
// started by a trusted workspace and could do anything when it was.
func (t *mcpTool) Need(_ context.Context, _ Env, call Call) Need {
	n := Need{
		Permission: PermitMCP, Rule: "mcp:" + t.link.name + "/" + t.name, Trust: true,
		Question: Question{Kind: "mcp", Title: fmt.Sprintf("Call %s of the MCP server %s?", t.name, t.link.name),
			Detail: readable(call.Input)},
	}
	if t.readOnly && !t.link.distrusted(t.name) {
		n.Permission = PermitNothing
	}
	return n
}

type mcpObject struct {
	Status string `json:"status"` // ok, error, timed_out, unavailable
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Cut    int    `json:"cut,omitempty"` // bytes left out of the body
}

func (t *mcpTool) Run(ctx context.Context, _ Env, call Call) (Result, error) {
	o := mcpObject{Status: "ok", Server: t.link.name, Tool: t.name}
	failed := func(status, why string) Result {
		o.Status = status
		return Result{Head: fmt.Sprintf("%s of the MCP server %s: %s", t.name, t.link.name, why), Object: o, Status: status, IsError: true, Derived: true}
	}
	session, process, err := t.link.connected(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		return failed("unavailable", oneLine("the server is not available: "+err.Error())), nil
	}
	res, err := t.call(ctx, session, call.Input)
	switch {
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		why := fmt.Sprintf("no answer within %s", t.link.server.callLimit())
		if t.link.hung(session) {
			why += "; the server does not answer at all and was ended, the next call starts it anew"
		}
		return failed("timed_out", why), nil
	case err != nil && t.link.ended(session):
		why := "the server ended in the middle of the call; the next call starts it anew" + said(process)
		if process == nil { // one that others started: the connection ended
			why = "the connection ended in the middle of the call; the next call makes it anew: " + bounded(secret.Mask(err.Error()), 500)
		}
		return failed("error", oneLine(why)), nil
	case err != nil:
		return failed("error", oneLine(bounded(err.Error(), 500))), nil
	}
	body, cut := mcpText(res)
	o.Cut = cut
	if res.IsError {
		r := failed("error", "the tool reports an error")
		r.Body = body
		return r, nil
	}
	return Result{Head: t.name + " of the MCP server " + t.link.name + " answered", Object: o, Status: "ok", Body: body, Derived: true}, nil
}

// call waits for the answer no longer than the server's limit, whatever the
// library does.
func (t *mcpTool) call(ctx context.Context, session *mcp.ClientSession, input json.RawMessage) (*mcp.CallToolResult, error) {
	limited, cancel := context.WithTimeout(ctx, t.link.server.callLimit())
	defer cancel()
	type answer struct {
		res *mcp.CallToolResult
		err error
	}
	done := make(chan answer, 1)
	go func() {
		res, err := session.CallTool(limited, &mcp.CallToolParams{Name: t.name, Arguments: input})
		if err == nil && res == nil {
			err = errors.New("the server gave an empty answer")
		}
		done <- answer{res, err}
	}()
	select {
	case a := <-done:
		if a.err != nil && limited.Err() != nil {
			return nil, limited.Err()
		}
		return a.res, a.err
	case <-limited.Done():
		return nil, limited.Err()
	}
}

// mcpText is the text of a result, bounded in the middle; other content is named.
func mcpText(res *mcp.CallToolResult) (string, int) {
	out := process.NewMiddleCut(mcpBody/2, mcpBody/2)
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			_, _ = out.Write([]byte(c.Text + "\n"))
		case *mcp.ImageContent:
			fmt.Fprintf(out, "[an image (%s) of %s]\n", c.MIMEType, size(len(c.Data)))
		case *mcp.AudioContent:
			fmt.Fprintf(out, "[audio (%s) of %s]\n", c.MIMEType, size(len(c.Data)))
		case *mcp.ResourceLink:
			fmt.Fprintf(out, "[a link to %s]\n", c.URI)
		case *mcp.EmbeddedResource:
			if c.Resource != nil {
				fmt.Fprintf(out, "[resource %s]\n%s\n", c.Resource.URI, c.Resource.Text)
			}
		default:
			_, _ = out.Write([]byte("[content of an unknown kind]\n"))
		}
	}
	if len(res.Content) == 0 && res.StructuredContent != nil {
		if raw, err := json.Marshal(res.StructuredContent); err == nil {
			_, _ = out.Write(raw)
		}
	}
	text, cut := out.Text()
	return strings.TrimRight(text, "\n"), cut
}
