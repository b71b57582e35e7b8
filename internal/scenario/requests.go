package scenario

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// request is one request to the model as the script's record has it.
type request struct {
	Purpose string `json:"purpose"`
	Session string `json:"session"`
	Body    string `json:"body"`
}

// requests is the file that the scripted model's requests are kept in.
func (w *world) requests() string { return filepath.Join(filepath.Dir(w.root), "requests.jsonl") }

// recorded are the requests of one purpose so far, over all servers.
func (w *world) recorded(purpose string) ([]request, error) {
	raw, err := os.ReadFile(w.requests())
	if err != nil {
		return nil, err
	}
	var out []request
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, err
		}
		if r.Purpose == purpose {
			out = append(out, r)
		}
	}
	return out, lines.Err()
}

// newestTurn is the newest request of a turn.
func (w *world) newestTurn() (request, error) {
	all, err := w.recorded("turn")
	if err == nil && len(all) == 0 {
		err = errors.New("the model was never asked")
	}
	if err != nil {
		return request{}, err
	}
	return all[len(all)-1], nil
}

// wireBody is what of a request is looked at.
type wireBody struct {
	System json.RawMessage `json:"system"`
	Tools  json.RawMessage `json:"tools"`

	Messages []struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"messages"`
}

func (r request) decoded() (wireBody, error) {
	var b wireBody
	return b, json.Unmarshal([]byte(r.Body), &b)
}

func wantSystem(w *world, a []string) error {
	r, err := w.newestTurn()
	if err != nil {
		return err
	}
	b, err := r.decoded()
	if err != nil {
		return err
	}
	var system []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b.System, &system); err != nil {
		return err
	}
	text := ""
	for _, s := range system {
		text += s.Text
	}
	return compare("the prefix", text, a[0], a[1])
}

func wantRecall(w *world, a []string) error {
	r, err := w.newestTurn()
	if err != nil {
		return err
	}
	block, err := r.recallBlock()
	if err != nil {
		return err
	}
	return compare("the recall block", block, a[0], a[1])
}

// recallBlock is the recall block of a request, "" when it has none.
func (r request) recallBlock() (block string, err error) {
	b, err := r.decoded()
	if err != nil {
		return "", err
	}
	for _, m := range b.Messages {
		for _, c := range m.Content {
			if !strings.HasPrefix(c.Text, "[auto-recalled context]") {
				continue
			}
			if block != "" {
				return "", errors.New("the request has two recall blocks")
			}
			block = c.Text
		}
	}
	return block, nil
}

func wantOneRecall(w *world, a []string) error {
	n, err := strconv.Atoi(a[0])
	if err != nil {
		return err
	}
	all, err := w.recorded("turn")
	if err != nil {
		return err
	}
	if len(all) < n {
		return fmt.Errorf("only %d requests were recorded", len(all))
	}
	first := ""
	for i, r := range all[len(all)-n:] {
		block, err := r.recallBlock()
		if err != nil {
			return err
		}
		if i == 0 {
			first = block
		}
		if block == "" || block != first {
			return fmt.Errorf("request %d of %d has the block %q, the first %q", i+1, n, block, first)
		}
	}
	return nil
}

func wantAskedWith(w *world, a []string) error {
	r, err := w.newestTurn()
	if err != nil {
		return err
	}
	return compare("the request", r.Body, a[0], a[1])
}

func wantReflection(w *world, a []string) error {
	return w.soon(func() error {
		all, err := w.recorded("reflect")
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return errors.New("no reflection was asked for")
		}
		return compare("the request for a reflection", all[len(all)-1].Body, a[0], a[1])
	})
}

// wantOnePrefix compares the bytes of tools and system text as they were sent.
func wantOnePrefix(w *world, a []string) error {
	all, err := w.recorded("turn")
	if err != nil {
		return err
	}
	n, first := 0, ""
	for _, r := range all {
		if r.Session != all[len(all)-1].Session {
			continue
		}
		b, err := r.decoded()
		if err != nil {
			return err
		}
		prefix := string(b.Tools) + "\n" + string(b.System)
		if n++; n == 1 {
			first = prefix
		} else if prefix != first {
			return fmt.Errorf("request %d has another prefix:\n%s\nthe first:\n%s", n, prefix, first)
		}
	}
	return compare("the number of requests", fmt.Sprint(n), "is", a[0])
}

// wantAppeared looks at the newest session's requests: from the nth on the tool is
// the last of the tools, and before it is none; system text and all other tools
// keep their bytes.
func wantAppeared(w *world, a []string) error {
	from, err := strconv.Atoi(a[1])
	if err != nil {
		return err
	}
	all, err := w.recorded("turn")
	if err != nil {
		return err
	}
	n, system, tools := 0, "", ""
	for _, r := range all {
		if r.Session != all[len(all)-1].Session {
			continue
		}
		b, err := r.decoded()
		if err != nil {
			return err
		}
		n++
		was := tools
		tools = strings.TrimSuffix(string(b.Tools), "]")
		if n == 1 {
			was, system = tools, string(b.System)
		}
		added, ok := strings.CutPrefix(tools, was)
		switch {
		case string(b.System) != system:
			return fmt.Errorf("request %d has another system text:\n%s\nthe first:\n%s", n, b.System, system)
		case !ok:
			return fmt.Errorf("request %d has other tools:\n%s\nthe one before:\n%s", n, tools, was)
		case n != from && added != "":
			return fmt.Errorf("request %d has more tools: %s", n, added)
		case n == from && strings.Count(added, `"name":"`+a[0]+`"`) != 1:
			return fmt.Errorf("request %d adds no %s: %q", n, a[0], added)
		case n < from && strings.Contains(tools, `"name":"`+a[0]+`"`):
			return fmt.Errorf("request %d has %s already", n, a[0])
		}
	}
	if n < from {
		return fmt.Errorf("only %d requests were recorded", n)
	}
	return nil
}
