// Package lsp speaks the Language Server Protocol: it turns messages into calls
// of the packages below and answers back into messages. It holds no policy.
//
// Document notifications are applied in order on the read loop; requests take
// their snapshot there and then run concurrently, each with its own context.
// Nothing that could wait runs on the read loop.
package lsp
