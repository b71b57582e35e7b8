package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// relist asks for the tools again, after the server said that they changed. One
// question runs and one waits at most, however often it says so.
func (l *mcpLink) relist(session *mcp.ClientSession) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asking {
		l.again = true
		return
	}
	l.asking = true
	go func() {
		for more := true; more; {
			ctx, cancel := context.WithTimeout(context.Background(), mcpConnect)
			tools, err := l.fetch(ctx, session)
			cancel()
			if err == nil {
				l.setTools(tools)
			}
			l.mu.Lock()
			more = l.again && err == nil
			l.asking, l.again = more, false
			l.mu.Unlock()
		}
	}()
}

// fetch reads the server's tools, all pages of them.
func (l *mcpLink) fetch(ctx context.Context, session *mcp.ClientSession) ([]Tool, error) {
	var out []Tool
	taken := map[string]bool{}
	over, cursor := 0, ""
	for page := 0; page < mcpPages; page++ {
		res, err := session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, t := range res.Tools {
			if t == nil {
				continue
			}
			if len(out) == mcpTools {
				over++
				continue
			}
			tool, err := newMCPTool(l, t)
			switch {
			case err != nil:
				l.m.log.Warn("an MCP tool is left out", "server", l.name, "tool", bounded(t.Name, 100), "err", err.Error())
			case !taken[tool.spec.Name]:
				taken[tool.spec.Name] = true
				out = append(out, tool)
			}
		}
		if cursor = res.NextCursor; cursor == "" {
			break
		}
	}
	text := ""
	if over > 0 || cursor != "" {
		text = fmt.Sprintf("the MCP server %s offers more than %d tools; the others are left out", l.name, len(out))
	}
	l.leftOut(text)
	return out, nil
}

func newMCPTool(l *mcpLink, t *mcp.Tool) (*mcpTool, error) {
	if t.Name == "" {
		return nil, errors.New("it has no name")
	}
	schema, err := json.Marshal(t.InputSchema)
	if err != nil || string(schema) == "null" {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	if len(schema) > 64<<10 {
		return nil, errors.New("its schema is larger than 64 KiB")
	}
	readOnly := t.Annotations != nil && t.Annotations.ReadOnlyHint
	tool := &mcpTool{link: l, name: t.Name, readOnly: readOnly}
	tool.spec = Spec{
		Name: mcpName(l.name, t.Name), Description: bounded(t.Description, 4<<10), Schema: schema, Lenient: true,
		Effect: Opaque, Permission: PermitMCP, PathKeys: l.server.Paths[t.Name],
	}
	return tool, nil
}
