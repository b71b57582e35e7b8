package script

import "strings"

// result is a tool result with the name of the tool that gave it.
type result struct {
	Part
	tool string
}

// results are all tool results of a request, in order.
func results(r Request) []result {
	tools := map[string]string{}
	var out []result
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			switch p.Kind {
			case "call":
				tools[p.CallID] = p.Tool
			case "result":
				out = append(out, result{p, tools[p.CallID]})
			}
		}
	}
	return out
}

// latestResults are those that answer the last assistant message.
func latestResults(r Request) []result {
	n := 0
	for _, m := range newMessages(r) {
		for _, p := range m.Parts {
			if p.Kind == "result" {
				n++
			}
		}
	}
	all := results(r)
	return all[len(all)-n:]
}

// newMessages are those after the last assistant message.
func newMessages(r Request) []Message {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "assistant" {
			return r.Messages[i+1:]
		}
	}
	return r.Messages
}

// isRecall reports whether a text is a recall block rather than something said.
func isRecall(s string) bool { return strings.Contains(s, "<frame ") }

func recallTexts(r Request) []string {
	return userText(r.Messages, isRecall)
}

// userTexts is what the user side said, recall blocks left out.
func userTexts(ms []Message) []string {
	return userText(ms, func(s string) bool { return !isRecall(s) })
}

func userText(ms []Message, keep func(string) bool) []string {
	var out []string
	for _, m := range ms {
		for _, p := range m.Parts {
			if m.Role == "user" && p.Kind == "text" && keep(p.Text) {
				out = append(out, p.Text)
			}
		}
	}
	return out
}

func messageTexts(ms []Message) []string {
	var out []string
	for _, m := range ms {
		for _, p := range m.Parts {
			out = append(out, p.Text+string(p.Input))
		}
	}
	return out
}

func allTexts(r Request) []string { return messageTexts(r.Messages) }
