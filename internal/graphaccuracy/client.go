package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// client speaks just enough LSP to ask a server for definitions and references.
type client struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	mu   sync.Mutex
	next int
	wait map[int]chan json.RawMessage
	open map[string]bool
	// answers by question.
	answers map[string][]string
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

func start(root string, options any, argv ...string) (*client, error) {
	c := &client{cmd: exec.Command(argv[0], argv[1:]...), wait: map[int]chan json.RawMessage{}, open: map[string]bool{}, answers: map[string][]string{}}
	c.cmd.Dir = root
	c.cmd.Stderr = io.Discard
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.read(bufio.NewReader(out))
	_, err = c.call("initialize", map[string]any{"processId": os.Getpid(), "rootUri": "file://" + root, "initializationOptions": options,
		"workspaceFolders": []any{map[string]any{"uri": "file://" + root, "name": "w"}},
		"capabilities":     map[string]any{"workspace": map[string]any{"configuration": true, "workspaceFolders": true}}})
	if err != nil {
		return nil, err
	}
	return c, c.notify("initialized", map[string]any{})
}

func (c *client) read(r *bufio.Reader) {
	for {
		h, err := textproto.NewReader(r).ReadMIMEHeader()
		if err != nil { // the server ended: nobody waits in vain
			c.mu.Lock()
			for _, ch := range c.wait {
				close(ch)
			}
			c.wait = map[int]chan json.RawMessage{}
			c.mu.Unlock()
			return
		}
		n, _ := strconv.Atoi(h.Get("Content-Length"))
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		var m message
		if json.Unmarshal(body, &m) != nil {
			continue
		}
		if m.Method != "" {
			if m.ID != nil {
				_ = c.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": answer(m)})
			}
			continue
		}
		id, _ := strconv.Atoi(string(m.ID))
		c.mu.Lock()
		ch := c.wait[id]
		delete(c.wait, id)
		c.mu.Unlock()
		if ch != nil {
			ch <- m.Result
		}
	}
}

// answer replies to the server's own requests: no settings, nothing else.
func answer(m message) any {
	if m.Method != "workspace/configuration" {
		return nil
	}
	var p struct{ Items []any }
	_ = json.Unmarshal(m.Params, &p)
	return make([]any, len(p.Items))
}

func (c *client) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(b), b)
	return err
}

func (c *client) notify(method string, params any) error {
	return c.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

func (c *client) call(method string, params any) (json.RawMessage, error) {
	ch := make(chan json.RawMessage, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	c.wait[id] = ch
	c.mu.Unlock()
	if err := c.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	select {
	case r, ok := <-ch:
		if !ok {
			return nil, fmt.Errorf("%s: the server ended", method)
		}
		return r, nil
	case <-time.After(3 * time.Minute):
		return nil, fmt.Errorf("%s: no answer", method)
	}
}

func (c *client) didOpen(path, language, text string) error {
	if c.open[path] {
		return nil
	}
	c.open[path] = true
	if strings.HasSuffix(path, ".tsx") {
		language = "typescriptreact"
	}
	return c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": "file://" + path, "languageId": language, "version": 1, "text": text}})
}

type lspPlace struct {
	URI       string `json:"uri"`
	TargetURI string `json:"targetUri"`
	Range     lspRange
	Selection lspRange `json:"targetSelectionRange"`
}

type lspRange struct {
	Start struct{ Line, Character int }
}

// ask returns places as "path:line:character", 0-based. Answers are remembered,
// on disk with -answers, since the servers take most of the time of a run.
func (c *client) ask(method, path string, line, col int, extra map[string]any) ([]string, error) {
	key := fmt.Sprintf("%s %s:%d:%d", method, path, line, col)
	if out, ok := c.answers[key]; ok {
		return out, nil
	}
	out, err := c.askNow(method, path, line, col, extra)
	if err == nil {
		c.answers[key] = out
	}
	return out, err
}

// remember loads the answers of an earlier run over the same texts; the function
// that it returns keeps them.
func (c *client) remember(file string) func() {
	if b, err := os.ReadFile(file); err == nil {
		_ = json.Unmarshal(b, &c.answers)
	}
	return func() {
		if b, err := json.Marshal(c.answers); err == nil && file != "" {
			_ = os.WriteFile(file, b, 0o644)
		}
	}
}

func (c *client) askNow(method, path string, line, col int, extra map[string]any) ([]string, error) {
	p := map[string]any{"textDocument": map[string]any{"uri": "file://" + path}, "position": map[string]any{"line": line, "character": col}}
	for k, v := range extra {
		p[k] = v
	}
	r, err := c.call(method, p)
	if err != nil {
		return nil, err
	}
	var list []lspPlace
	if json.Unmarshal(r, &list) != nil {
		var one lspPlace
		if json.Unmarshal(r, &one) == nil && (one.URI != "" || one.TargetURI != "") {
			list = []lspPlace{one}
		}
	}
	var out []string
	for _, l := range list {
		uri, at := l.URI, l.Range
		if l.TargetURI != "" {
			uri, at = l.TargetURI, l.Selection
		}
		out = append(out, fmt.Sprintf("%s:%d:%d", pathOf(uri), at.Start.Line, at.Start.Character))
	}
	return out, nil
}

func (c *client) stop() {
	_ = c.in.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}
