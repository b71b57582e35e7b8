package scenario

import (
	"encoding/json"
	"fmt"
	"strings"
)

// What the model can do in an ask, steps separated by ";", calls of one model
// message by "+":
//
//	read PATH [FIRST-LAST]
//	edit PATH OLD NEW [OLD NEW...] [all] [base=B] [symbol=NAME]
//	edits PATH OLD NEW , PATH OLD NEW ...      edit_files, all or none
//	write PATH CONTENT [base=B]                create PATH CONTENT is without a base
//	delete PATH [base=B]
//	move PATH TO [base=B]
//	run COMMAND
//	list [GLOB] | search PATTERN
//	ask QUESTION
//	call TOOL JSON
//	say TEXT
//	prompt TEXT                                first of all: what the person says
//	hold NAME                                  before the step that follows
//	rest                                       what a cancelled ask has left
//
// B is a number (the nth base this session was given for PATH), "none", or a
// digest; without it the last base given is used.

type entry struct {
	Session int    `json:"session,omitempty"`
	Wait    string `json:"wait,omitempty"`
	Text    string `json:"text,omitempty"`
	Hold    string `json:"hold,omitempty"`
	Calls   []call `json:"calls,omitempty"`
}

type call struct {
	Tool  string         `json:"tool"`
	Input map[string]any `json:"input"`
}

// holding is the text a model says before it stops at a hold, so that others
// know that it has come there.
func holding(name string) string { return "holding at " + name + "\n" }

// compile turns the steps of one ask into script entries; the last one ends the
// turn. session is the number of the session that asks, 0 when there is one only.
func compile(steps []word, session int) ([]entry, error) {
	if len(steps) == 1 && steps[0].text == "rest" {
		return nil, nil
	}
	var out []entry
	hold := ""
	for i, step := range cut(steps, ";") {
		if len(step) == 0 {
			return nil, fmt.Errorf("an empty step")
		}
		switch step[0].text {
		case "prompt":
			if len(step) != 2 || i != 0 {
				return nil, fmt.Errorf("prompt TEXT, as the first step")
			}
			continue
		case "hold":
			if len(step) != 2 {
				return nil, fmt.Errorf("hold NAME")
			}
			hold = step[1].text
			continue
		case "say":
			if len(step) != 2 {
				return nil, fmt.Errorf("say TEXT")
			}
			out = append(out, entry{Session: session, Text: step[1].text})
			return out, nil
		}
		e := entry{Session: session, Hold: hold}
		if hold != "" {
			e.Text = holding(hold)
		}
		hold = ""
		for _, words := range cut(step, "+") {
			c, err := compileCall(words)
			if err != nil {
				return nil, err
			}
			e.Calls = append(e.Calls, c)
		}
		out = append(out, e)
	}
	end := entry{Session: session, Text: "Done.", Hold: hold}
	if hold != "" {
		end.Text = holding(hold)
	}
	return append(out, end), nil
}

func compileCall(words []word) (call, error) {
	verb, args, options := take(words)
	need := func(n int) error {
		if len(args) < n {
			return fmt.Errorf("%s needs %d arguments: %v", verb, n, texts(words))
		}
		return nil
	}
	in := map[string]any{}
	if len(args) > 0 {
		in["path"] = args[0]
	}
	based := func() {
		if b := base(args[0], options["base"]); b != "" {
			in["base"] = b
		}
	}
	switch verb {
	case "read":
		if err := need(1); err != nil {
			return call{}, err
		}
		if len(args) > 1 {
			var first, last int
			if _, err := fmt.Sscanf(args[1], "%d-%d", &first, &last); err != nil {
				return call{}, fmt.Errorf("read PATH FIRST-LAST: %q", args[1])
			}
			in["start"], in["end"] = first, last
		}
		return call{"read_file", in}, nil
	case "edit":
		if err := need(3); err != nil {
			return call{}, err
		}
		edits, err := pairs(args[1:], options["all"] != "")
		if err != nil {
			return call{}, err
		}
		in["edits"] = edits
		if s := options["symbol"]; s != "" {
			in["symbol"] = s
		}
		based()
		return call{"edit_file", in}, nil
	case "patch":
		if err := need(2); err != nil {
			return call{}, err
		}
		in["patch"] = args[1]
		based()
		return call{"edit_file", in}, nil
	case "edits":
		return compileEdits(words[1:])
	case "write", "create":
		if err := need(2); err != nil {
			return call{}, err
		}
		in["content"] = args[1]
		if verb == "write" {
			based()
		}
		return call{"write_file", in}, nil
	case "delete":
		if err := need(1); err != nil {
			return call{}, err
		}
		based()
		return call{"delete_file", in}, nil
	case "move":
		if err := need(2); err != nil {
			return call{}, err
		}
		in["to"] = args[1]
		based()
		return call{"move_file", in}, nil
	}
	return compileOther(verb, args, need)
}

func compileOther(verb string, args []string, need func(int) error) (call, error) {
	if verb != "list" {
		if err := need(1); err != nil {
			return call{}, err
		}
	}
	switch verb {
	case "run":
		return call{"run_command", map[string]any{"command": args[0]}}, nil
	case "search":
		return call{"search_text", map[string]any{"pattern": args[0]}}, nil
	case "ask":
		return call{"ask_user", map[string]any{"question": args[0]}}, nil
	case "list":
		in := map[string]any{}
		if len(args) > 0 {
			in["glob"] = args[0]
		}
		return call{"list_files", in}, nil
	case "call":
		if err := need(2); err != nil {
			return call{}, err
		}
		var in map[string]any
		if err := json.Unmarshal([]byte(args[1]), &in); err != nil {
			return call{}, fmt.Errorf("call %s: %w", args[0], err)
		}
		return call{args[0], in}, nil
	}
	return call{}, fmt.Errorf("the model cannot %q", verb)
}

func compileEdits(words []word) (call, error) {
	var files []map[string]any
	for _, part := range cut(words, ",") {
		_, args, options := take(append([]word{{text: "edits"}}, part...))
		if len(args) < 3 {
			return call{}, fmt.Errorf("edits PATH OLD NEW , PATH OLD NEW: %v", texts(part))
		}
		edits, err := pairs(args[1:], false)
		if err != nil {
			return call{}, err
		}
		files = append(files, map[string]any{"path": args[0], "edits": edits, "base": base(args[0], options["base"])})
	}
	return call{"edit_files", map[string]any{"files": files}}, nil
}

// take sorts words into the verb, arguments and options (name=value or "all",
// not quoted).
func take(words []word) (verb string, args []string, options map[string]string) {
	options = map[string]string{}
	for _, w := range words[1:] {
		name, value, ok := strings.Cut(w.text, "=")
		switch {
		case !w.quoted && ok && (name == "base" || name == "symbol"):
			options[name] = value
		case !w.quoted && w.text == "all":
			options["all"] = "yes"
		default:
			args = append(args, w.text)
		}
	}
	return words[0].text, args, options
}

func pairs(args []string, all bool) ([]map[string]any, error) {
	if len(args)%2 != 0 {
		return nil, fmt.Errorf("OLD without NEW: %q", args)
	}
	var out []map[string]any
	for i := 0; i < len(args); i += 2 {
		r := map[string]any{"old": args[i], "new": args[i+1]}
		if all {
			r["all"] = true
		}
		out = append(out, r)
	}
	return out, nil
}

func base(path, b string) string {
	switch {
	case b == "none":
		return ""
	case b == "":
		return "{{base " + path + "}}"
	case strings.HasPrefix(b, "sha256:"):
		return b
	default:
		return "{{base " + path + " " + b + "}}"
	}
}
