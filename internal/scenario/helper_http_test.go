package scenario

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveHTTP is an MCP server over HTTP, in several moods by path:
//
//	/good       has the tool "look"; a wrong key is turned away, none is fine
//	/cuts       hangs up in the middle of the answer to a call
//	/fails      answers a call with HTTP 500
//	/endless    answers a call with JSON that never ends
//	/denied     answers everything with HTTP 401
//	/elsewhere  redirects to another machine's name
func serveHTTP() *httptest.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "web", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "looked"}}}, nil, nil
		})
	good := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a request that cannot be read is turned away below
		r.Body = io.NopCloser(bytes.NewReader(body))
		call := bytes.Contains(body, []byte(`"tools/call"`))
		mood := strings.TrimPrefix(r.URL.Path, "/")
		switch key := r.Header.Get("Authorization"); {
		case mood == "denied", key != "" && key != "Bearer t0ken-for-one-host":
			w.WriteHeader(http.StatusUnauthorized)
		case mood == "elsewhere":
			http.Redirect(w, r, "http://127.0.0.2:1/good", http.StatusTemporaryRedirect)
		case mood == "fails" && call:
			http.Error(w, "out of order", http.StatusInternalServerError)
		case mood == "cuts" && call:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":")
			panic(http.ErrAbortHandler)
		case mood == "endless" && call:
			w.Header().Set("Content-Type", "application/json")
			part := strings.Repeat("x", 1<<20)
			for _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"`); err == nil; _, err = io.WriteString(w, part) {
			}
		default:
			good.ServeHTTP(w, r)
		}
	}))
}
