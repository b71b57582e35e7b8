//go:build !unix

package main

import (
	"errors"
	"net"
)

func listenOwner(string) (net.Listener, error) {
	return nil, errors.New("--socket needs a Unix system; use --stdio")
}
