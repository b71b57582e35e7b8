// Package fakeeditor is an editor without a screen: an LSP client with real
// buffers that behaves as VS Code and Neovim were seen to behave, down to the
// habits a server must not be fooled by.
//
// It is built to catch mistakes of the server, so it shares no code with it:
// framing, JSON-RPC, positions and encodings are written here a second time,
// and nothing of the lsp package is imported.
//
// Three layers:
//
//	wire.go               framing and JSON-RPC over a pair of pipes
//	text.go, codec.go     positions and splices; bytes on disk to text and back
//	buffer.go, editor.go  open documents: typing, undo, save, reload, ...
//	answers.go, apply.go  what the editor answers when the server asks
//
// A real editor runs one event loop. Here one mutex stands for it: every
// action of the person and every request of the server holds it from the first
// look at a buffer until the notification that tells of the change is queued.
// The queue has no bound, so the editor never blocks on the server.
//
// Every message, in both directions, is recorded in order; Await waits for one
// without sleeping.
package fakeeditor
