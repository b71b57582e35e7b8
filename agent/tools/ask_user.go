package tools

import (
	"context"
	_ "embed"
	"strconv"

	"github.com/stella-ls/stella-ls/guard"
)

//go:embed ask_user.md
var askUserText string

type askUser struct{}

type answerObject struct {
	Status guard.Status `json:"status"`
	Choice string       `json:"choice,omitempty"`
	Text   string       `json:"text,omitempty"`
}

func (askUser) Spec() Spec {
	return Spec{
		Name: "ask_user", Description: askUserText, Effect: Talks,
		Schema: schemaOf(`{"type":"object","required":["question"],"additionalProperties":false,"properties":{
			"question":{"type":"string","minLength":1},
			"options":{"type":"array","maxItems":10,"items":{"type":"string","minLength":1}}}}`),
	}
}

func (askUser) Run(ctx context.Context, env Env, call Call) (Result, error) {
	var in struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}
	if res := decode(call.Input, &in); res != nil {
		return *res, nil
	}
	q := Question{Kind: "question", Title: in.Question, Free: true}
	for i, o := range in.Options {
		q.Options = append(q.Options, Option{ID: strconv.Itoa(i + 1), Title: o})
	}
	if env.Ask == nil {
		return noAnswer(), nil
	}
	env.notice("waiting for you: " + in.Question)
	a, err := env.Ask.Ask(ctx, env.Session, q)
	if err != nil {
		return Result{}, err
	}
	o := answerObject{Status: guard.StatusOK, Text: a.Text}
	for _, opt := range q.Options {
		if opt.ID == a.Choice {
			o.Choice = opt.Title
		}
	}
	switch {
	case o.Choice == "" && o.Text == "":
		return noAnswer(), nil
	case o.Text == "":
		return Result{Head: "the user chose: " + o.Choice, Object: o, Status: "ok"}, nil
	}
	return Result{Head: "the user answered", Object: o, Status: "ok", Body: o.Text}, nil
}

func noAnswer() Result {
	return Failed(guard.StatusDenied, "", "nobody can answer here", "take the most cautious way and say which one you took")
}
