package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// httpTransport addresses a server that is already running.
func httpTransport(s mcpServer) mcp.Transport {
	headers := http.Header{}
	for k, v := range s.Headers {
		headers.Set(k, os.Expand(v, fromEnvironment))
	}
	client := &http.Client{Transport: headerTransport{headers, http.DefaultTransport}, CheckRedirect: sameHost}
	return &mcp.StreamableClientTransport{
		Endpoint: os.Expand(s.URL, fromEnvironment), HTTPClient: client, MaxRetries: 1, MaxEventSize: mcpLine,
	}
}

type headerTransport struct {
	headers http.Header
	next    http.RoundTripper
}

func (h headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range h.headers {
		r.Header[k] = v
	}
	res, err := h.next.RoundTrip(r)
	if err == nil && !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") { // those have a bound of each event
		res.Body = &boundedBody{res.Body, mcpLine}
	}
	return res, err
}

// boundedBody ends an answer that does not: the library reads it whole.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("an answer of more than %d MiB", mcpLine>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// sameHost keeps the headers, which may hold a key, and what was allowed with
// the host that the configuration names.
func sameHost(r *http.Request, via []*http.Request) error {
	if len(via) >= 5 {
		return errors.New("redirected five times")
	}
	if first := via[0].URL; r.URL.Host != first.Host || (first.Scheme == "https" && r.URL.Scheme != "https") {
		return fmt.Errorf("it redirects to %s://%s, which is not followed; if that is meant, set it as the url", r.URL.Scheme, r.URL.Host)
	}
	return nil
}

// errUnwanted is that a person or a setting said no to a server on another machine.
var errUnwanted = errors.New("not wanted")

type unwantedError struct{ msg string }

func (e *unwantedError) Error() string        { return e.msg }
func (e *unwantedError) Is(target error) bool { return target == errUnwanted }

// allowed asks for permissions.network before a server on another machine is
// spoken to. This machine is no network.
func (l *mcpLink) allowed(ctx context.Context) error {
	if l.server.URL == "" || l.m.Reach == nil {
		return nil
	}
	u, err := url.Parse(os.Expand(l.server.URL, fromEnvironment))
	if err != nil {
		return err
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host == "localhost" || (ip != nil && ip.IsLoopback()) {
		return nil
	}
	if why := l.m.Reach(ctx, l.name, host); why != "" {
		return &unwantedError{fmt.Sprintf("%s is not reached: %s", host, why)}
	}
	return nil
}

// ReachNeed is what must be allowed before a server on host is spoken to.
func ReachNeed(server, host string) Need {
	return Need{
		Permission: PermitNetwork, Rule: "network:" + host, Trust: true,
		Question: Question{Kind: "network", Title: "Connect to " + host + "?",
			Detail: "The MCP server " + server + " of .stella/mcp.toml is there. What a session gives its tools is sent to that machine."},
	}
}
