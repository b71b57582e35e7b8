// Package fakemodel is a model server on loopback that speaks the official wire
// formats: Anthropic Messages at /v1/messages and OpenAI chat completions at
// /v1/chat/completions, both streamed. A script.Engine answers; everything
// between it and the session (request encoding, HTTP, SSE, decoding, retries)
// is the real path.
//
// Architecture: server.go accepts, records and dispatches; anthropic.go and
// openai.go decode a request and lay an answer out as frames; stream.go sends
// frames with the oddities and faults that the script asks for.
package fakemodel
