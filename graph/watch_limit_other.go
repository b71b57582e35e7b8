//go:build !unix

package graph

func isLimit(error) bool { return false }
