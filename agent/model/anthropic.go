package model

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/stella-ls/stella-ls/internal/fakemodel"
)

// Config is what a provider needs to know; Choose makes it of settings and environment.
type Config struct {
	Model string // as the provider names it
	// ReflectionModel answers what is not a turn; empty: Model does.
	ReflectionModel string
	BaseURL         string // empty: the provider's own
	Key             string
	// MaxTokens bounds the output where a request does not say.
	MaxTokens int
	// OldHeaders sends the key as x-api-key with API version 2023-06-01, for
	// gateways that know only that form (Anthropic).
	OldHeaders bool
	Price      Price
	Timeouts   Timeouts // zero: DefaultTimeouts
	Backoff    Backoff

	// scripted announces purpose and session to the fake server, and to no other.
	scripted bool
	// label replaces the provider's name in Name.
	label string
}

// model is who answers a request.
func (c Config) model(p Purpose) string {
	if c.ReflectionModel != "" && (p == Reflect || p == Taxonomy) {
		return c.ReflectionModel
	}
	return c.Model
}

func (c Config) withDefaults() Config {
	if c.Timeouts == (Timeouts{}) {
		c.Timeouts = DefaultTimeouts
	}
	if c.MaxTokens <= 0 {
		c.MaxTokens = 16000
	}
	return c
}

// anthropicModel speaks the Messages API.
type anthropicModel struct {
	cfg      Config
	endpoint endpoint
	client   sdk.Client
}

// NewAnthropic returns a model behind the Messages API.
func NewAnthropic(cfg Config) Model {
	cfg = cfg.withDefaults()
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithoutOpenTelemetry(),
		option.WithMaxRetries(0), option.WithHTTPClient(newHTTPClient(cfg.Timeouts)),
		option.WithAPIKey(cfg.Key),
	}
	base := "https://api.anthropic.com"
	if cfg.BaseURL != "" {
		base = cfg.BaseURL
		opts = append(opts, option.WithBaseURL(anthropicBase(cfg.BaseURL)))
	}
	if cfg.OldHeaders {
		opts = append(opts, option.WithHeader("anthropic-version", "2023-06-01"),
			option.WithHeader("x-api-key", cfg.Key), option.WithHeaderDel("authorization"))
	}
	return &anthropicModel{cfg: cfg, client: sdk.NewClient(opts...),
		endpoint: endpoint{provider: "anthropic", base: base, keyName: "ANTHROPIC_API_KEY", keys: []string{cfg.Key}}}
}

// anthropicBase takes a base with or without /v1: the SDK adds it.
func anthropicBase(base string) string {
	return strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1") + "/"
}

func (m *anthropicModel) Name() string {
	if m.cfg.label != "" {
		return m.cfg.label
	}
	return "anthropic/" + m.cfg.Model
}

func (m *anthropicModel) Stream(ctx context.Context, r Request, on func(Event)) (Response, error) {
	params := m.params(r)
	opts := m.requestOptions(r)
	return attempts(ctx, m.cfg.Backoff, on, func(ctx context.Context) (Response, *failure) {
		return m.try(ctx, params, opts, on)
	})
}

func (m *anthropicModel) requestOptions(r Request) []option.RequestOption {
	if !m.cfg.scripted {
		return nil
	}
	return []option.RequestOption{
		option.WithHeader(fakemodel.HeaderPurpose, string(r.Purpose)),
		option.WithHeader(fakemodel.HeaderSession, r.CacheKey),
	}
}

func (m *anthropicModel) try(ctx context.Context, params sdk.MessageNewParams, opts []option.RequestOption, on func(Event)) (Response, *failure) {
	ctx, a := begin(ctx, m.cfg.Timeouts)
	defer a.end()
	stream := m.client.Messages.NewStreaming(ctx, params, opts...)
	defer func() { _ = stream.Close() }() // the body was read or is given up
	acc := anthropicAnswer{on: on}
	for stream.Next() {
		if err := acc.take(stream.Current()); err != nil {
			return Response{}, m.endpoint.malformed(err)
		}
	}
	if err := stream.Err(); err != nil {
		return Response{}, m.classify(ctx, err)
	}
	res, f := acc.response(m.endpoint)
	if f == nil {
		res.Usage = m.cfg.Price.apply(res.Usage)
	}
	return res, f
}

func (m *anthropicModel) classify(ctx context.Context, err error) *failure {
	var api *sdk.Error
	if errors.As(err, &api) {
		return m.apiError(api)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return m.endpoint.malformed(err)
	}
	if text, ok := strings.CutPrefix(err.Error(), "received error while streaming: "); ok {
		f := m.endpoint.dropped("the server broke off: " + redact(text, m.cfg.Key))
		return f
	}
	return m.endpoint.transport(err, context.Cause(ctx))
}

// apiError words an error status, or an error event inside a stream (whose HTTP
// status is 200).
func (m *anthropicModel) apiError(api *sdk.Error) *failure {
	message := api.Message
	if message == "" {
		message = api.RawJSON()
	}
	status := api.StatusCode
	if status == 200 {
		status = map[string]int{"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504,
			"authentication_error": 401, "permission_error": 403, "invalid_request_error": 400}[string(api.Type())]
	}
	if api.Response == nil || status == 0 {
		return m.endpoint.dropped("the server broke off: " + redact(message, m.cfg.Key))
	}
	return m.endpoint.httpStatus(status, api.Response.Header, message)
}

func (m *anthropicModel) params(r Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: sdk.Model(m.cfg.model(r.Purpose)), MaxTokens: int64(m.cfg.MaxTokens)}
	if r.MaxTokens > 0 {
		p.MaxTokens = int64(r.MaxTokens)
	}
	// This version of the API has no temperature; r.Temperature is for OpenAI-like servers.
	if r.System != "" {
		p.System = []sdk.TextBlockParam{{Text: r.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{Name: t.Name,
			Description: param.NewOpt(t.Description),
			// The schema's own bytes: decoding it would reorder it from call to call.
			InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Schema)}})
	}
	marks := cacheMarks(r.Messages)
	for i, msg := range r.Messages {
		blocks := anthropicBlocks(msg, marks[i])
		if len(blocks) == 0 {
			continue // an empty message is refused by the server
		}
		if msg.Role == Assistant {
			p.Messages = append(p.Messages, sdk.NewAssistantMessage(blocks...))
		} else {
			p.Messages = append(p.Messages, sdk.NewUserMessage(blocks...))
		}
	}
	return p
}

// cacheMarks are the messages whose end gets a cache mark: the last one, and
// the one that was last in the request before this one (the last before the
// newest assistant message), so that this request finds what that one wrote.
func cacheMarks(ms []Message) map[int]bool {
	marks := map[int]bool{}
	if len(ms) == 0 {
		return marks
	}
	marks[len(ms)-1] = true
	for i := len(ms) - 1; i > 0; i-- {
		if ms[i].Role == Assistant && ms[i-1].Role == User {
			marks[i-1] = true
			break
		}
	}
	return marks
}

// redactedPrefix tells the signature of thinking that the provider hid from
// that of thinking it showed.
const redactedPrefix = "redacted:"

func anthropicBlocks(msg Message, mark bool) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	for _, p := range msg.Parts {
		switch p.Kind {
		case TextPart:
			if strings.TrimSpace(p.Text) != "" { // blank texts are refused by the server
				out = append(out, sdk.NewTextBlock(p.Text))
			}
		case ThinkingPart:
			if data, ok := strings.CutPrefix(p.Signature, redactedPrefix); ok {
				out = append(out, sdk.NewRedactedThinkingBlock(data))
			} else if p.Signature != "" { // without one it would be refused
				out = append(out, sdk.NewThinkingBlock(p.Signature, p.Text))
			}
		case ToolCallPart:
			out = append(out, sdk.NewToolUseBlock(p.CallID, inputObject(p.Input), p.Tool))
		case ToolResultPart:
			out = append(out, sdk.NewToolResultBlock(p.CallID, resultText(p.Text), p.IsError))
		}
	}
	if mark && len(out) > 0 {
		if c := out[len(out)-1].GetCacheControl(); c != nil {
			*c = sdk.NewCacheControlEphemeralParam()
		}
	}
	return out
}

// resultText makes up for a tool that gave nothing: empty texts are refused.
func resultText(s string) string {
	if s == "" {
		return "(no output)"
	}
	return s
}

// inputObject is a call's input as the servers want it: an object, always.
func inputObject(raw json.RawMessage) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil || o == nil {
		return json.RawMessage("{}")
	}
	return raw
}
