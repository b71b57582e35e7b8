//go:build unix

package graph

import (
	"errors"
	"syscall"
)

// isLimit reports whether the system has no more watches to give.
func isLimit(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENOMEM)
}
