//go:build !linux

package commit

import (
	"context"
	"errors"
	"os"
	"time"
)

var errNoLease = errors.New("no lease")

type leaseKind int

const (
	readLease  leaseKind = iota // holds back writers
	writeLease                  // holds back readers and writers
)

func takeLease(*os.File, leaseKind) error                                   { return errNoLease }
func leaseHolds(*os.File, leaseKind) bool                                   { return false }
func dropLease(*os.File)                                                    {}
func leaseWithin(context.Context, *os.File, leaseKind, time.Duration) error { return errNoLease }

var breaks breakWatch

type breakWatch struct{}

func (*breakWatch) watch() (c chan struct{}, stop func()) { return nil, func() {} }
