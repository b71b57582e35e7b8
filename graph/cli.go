package graph

import "io"

// MainEnv is what the command line needs of its process.
type MainEnv struct {
	Stdout, Stderr io.Writer
	Dir            string // working directory
	CacheDir       string // $STELLA_HOME/cache/graph
}
