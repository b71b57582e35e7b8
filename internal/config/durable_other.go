//go:build !unix

package config

import "io/fs"

// syncDir: a rename is durable enough where directories cannot be synced.
func syncDir(string) error { return nil }

// onlyOurs relies on the profile directory's access list.
func onlyOurs(string, fs.FileInfo) error { return nil }
