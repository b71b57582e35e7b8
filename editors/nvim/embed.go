// Package nvim carries the Neovim plugin inside the binary, so that the demo
// and the installer need no checkout.
package nvim

import "embed"

// Plugin is a directory for Neovim's runtimepath.
//
//go:embed doc lsp lua plugin
var Plugin embed.FS
