package model

import "context"

// NewOpenAI returns a model behind the chat completions API.
func NewOpenAI(cfg Config) Model { return openaiModel{cfg} }

type openaiModel struct{ cfg Config }

func (m openaiModel) Name() string { return "openai/" + m.cfg.Model }
func (m openaiModel) Stream(context.Context, Request, func(Event)) (Response, error) {
	return Response{}, &Error{Provider: "openai", Message: "not there yet"}
}
