package model

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"

	"github.com/stella-ls/stella-ls/internal/fakemodel"
)

// openaiModel speaks chat completions, the format that nearly every local and
// hosted server understands.
type openaiModel struct {
	cfg      Config
	endpoint endpoint
	client   openai.Client
	dialect  dialect
}

// NewOpenAI returns a model behind the chat completions API at cfg.BaseURL. A
// base without a path gets /v1, where every known server has it.
func NewOpenAI(cfg Config) Model {
	cfg = cfg.withDefaults()
	opts := []option.RequestOption{option.WithMaxRetries(0), option.WithHTTPClient(newHTTPClient(cfg.Timeouts)), option.WithAPIKey(cfg.Key)}
	base := "https://api.openai.com/v1"
	if cfg.BaseURL != "" {
		base = openaiBase(cfg.BaseURL)
		if cfg.Key == "" {
			opts = append(opts, option.WithHeaderDel("authorization"))
		}
	}
	opts = append(opts, option.WithBaseURL(base+"/"))
	m := &openaiModel{cfg: cfg, client: openai.NewClient(opts...),
		endpoint: endpoint{provider: "openai", base: base, keyName: "OPENAI_API_KEY", keys: []string{cfg.Key}}}
	// The official server refuses max_tokens for its newer models; most others
	// learned max_completion_tokens late, and some ignore what they do not know.
	m.dialect.oldLimit = cfg.BaseURL != "" && !strings.Contains(cfg.BaseURL, "api.openai.com")
	return m
}

func openaiBase(base string) string {
	base = strings.TrimRight(base, "/")
	if u, err := url.Parse(base); err == nil && u.Path == "" {
		base += "/v1"
	}
	return base
}

func (m *openaiModel) Name() string {
	if m.cfg.label != "" {
		return m.cfg.label
	}
	return "openai/" + m.cfg.Model
}

// dialect is what this server turned out not to understand. It is learned from
// refusals that name the parameter.
type dialect struct {
	mu         sync.Mutex
	oldLimit   bool // max_tokens instead of max_completion_tokens
	flipped    bool // oldLimit was learned; never flip back
	noCacheKey bool
	noUsage    bool // no stream_options
}

// learn reports whether the request is worth sending again in another form.
func (d *dialect) learn(f *failure) bool {
	if f.Status != http.StatusBadRequest && f.Status != http.StatusUnprocessableEntity {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch text := f.Message; {
	case strings.Contains(text, "prompt_cache_key") && !d.noCacheKey:
		d.noCacheKey = true
	case strings.Contains(text, "stream_options") && !d.noUsage:
		d.noUsage = true
	case (strings.Contains(text, "max_tokens") || strings.Contains(text, "max_completion_tokens")) && !d.flipped && !strings.Contains(text, "too large"):
		d.oldLimit, d.flipped = !d.oldLimit, true
	default:
		return false
	}
	return true
}

func (m *openaiModel) Stream(ctx context.Context, r Request, on func(Event)) (Response, error) {
	return attempts(ctx, m.cfg.Backoff, on, func(ctx context.Context) (Response, *failure) {
		for {
			res, f := m.try(ctx, r, on)
			if f != nil && m.dialect.learn(f) {
				continue
			}
			return res, f
		}
	})
}

func (m *openaiModel) try(ctx context.Context, r Request, on func(Event)) (Response, *failure) {
	ctx, a := begin(ctx, m.cfg.Timeouts)
	defer a.end()
	var opts []option.RequestOption
	if m.cfg.scripted {
		opts = append(opts, option.WithHeader(fakemodel.HeaderPurpose, string(r.Purpose)), option.WithHeader(fakemodel.HeaderSession, r.CacheKey))
	}
	stream := m.client.Chat.Completions.NewStreaming(ctx, m.params(r), opts...)
	defer func() { _ = stream.Close() }() // the body was read or is given up
	acc := openaiAnswer{on: on, serial: len(r.Messages)}
	for stream.Next() {
		acc.take(stream.Current())
	}
	if err := stream.Err(); err != nil {
		return Response{}, m.classify(ctx, err)
	}
	res, f := acc.response(m.endpoint, a.done())
	if f == nil {
		res.Usage = m.cfg.Price.apply(res.Usage)
	}
	return res, f
}

func (m *openaiModel) classify(ctx context.Context, err error) *failure {
	var api *openai.Error
	if errors.As(err, &api) && api.Response != nil {
		message := api.Message
		if message == "" {
			body, _ := io.ReadAll(io.LimitReader(api.Response.Body, 4<<10)) // the SDK kept it; what can be read is quoted
			message = plainError(body)
		}
		return m.endpoint.httpStatus(api.StatusCode, api.Response.Header, message)
	}
	var broken *ssestream.StreamError
	if errors.As(err, &broken) {
		return m.broken(broken.Event.Data)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || strings.Contains(err.Error(), "unexpected end of JSON") {
		return m.endpoint.malformed(err)
	}
	return m.endpoint.transport(err, context.Cause(ctx))
}

// broken words an error that came inside a stream, with its code if that is an
// HTTP status (OpenRouter and others).
func (m *openaiModel) broken(data []byte) *failure {
	status, message, ok := errorIn(data)
	if !ok {
		message = string(data)
	}
	if status != 0 {
		return m.endpoint.httpStatus(status, http.Header{}, message)
	}
	return m.endpoint.dropped("the server broke off: " + message)
}

func (m *openaiModel) params(r Request) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: shared.ChatModel(m.cfg.model(r.Purpose))}
	limit := int64(m.cfg.MaxTokens)
	if r.MaxTokens > 0 {
		limit = int64(r.MaxTokens)
	}
	if r.Temperature != nil {
		p.Temperature = param.NewOpt(*r.Temperature)
	}
	m.dialect.mu.Lock()
	if m.dialect.oldLimit {
		p.MaxTokens = param.NewOpt(limit)
	} else {
		p.MaxCompletionTokens = param.NewOpt(limit)
	}
	if r.CacheKey != "" && !m.dialect.noCacheKey {
		p.PromptCacheKey = param.NewOpt(r.CacheKey)
	}
	if !m.dialect.noUsage {
		p.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	m.dialect.mu.Unlock()
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, openaiTool(t))
	}
	if r.System != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(r.System))
	}
	for _, msg := range r.Messages {
		p.Messages = append(p.Messages, openaiMessages(msg)...)
	}
	return p
}

// openaiTool keeps the schema's own bytes: a stable prefix is what the servers'
// caches go by.
func openaiTool(t ToolSpec) openai.ChatCompletionToolUnionParam {
	return openai.ChatCompletionFunctionTool(param.Override[shared.FunctionDefinitionParam](struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}{t.Name, t.Description, t.Schema}))
}

// openaiMessages lays one message out: results first, each a message of its
// own, since they must follow their calls at once. Texts are joined, because
// many servers take strings only. Thinking is not sent back.
func openaiMessages(msg Message) []openai.ChatCompletionMessageParamUnion {
	var out []openai.ChatCompletionMessageParamUnion
	var texts []string
	var calls []openai.ChatCompletionMessageToolCallUnionParam
	for _, p := range msg.Parts {
		switch p.Kind {
		case TextPart:
			if p.Text != "" {
				texts = append(texts, p.Text)
			}
		case ToolCallPart:
			calls = append(calls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: p.CallID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: p.Tool, Arguments: string(inputObject(p.Input))}}})
		case ToolResultPart:
			out = append(out, openai.ToolMessage(resultText(p.Text), p.CallID))
		}
	}
	text := strings.Join(texts, "\n\n")
	switch {
	case msg.Role == User && text != "":
		out = append(out, openai.UserMessage(text))
	case msg.Role == Assistant && (text != "" || len(calls) > 0):
		a := &openai.ChatCompletionAssistantMessageParam{ToolCalls: calls}
		if text != "" {
			a.Content.OfString = param.NewOpt(text)
		}
		out = append(out, openai.ChatCompletionMessageParamUnion{OfAssistant: a})
	}
	return out
}
