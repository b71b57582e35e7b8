//go:build !linux

package scenario

import "errors"

func setXattr(path, name, value string) error { return errors.ErrUnsupported }

func getXattr(path, name string) (string, error) { return "", errors.ErrUnsupported }
