//go:build race

package record

// everyNth: the race detector makes a process slow to start, so a run with it
// kills at every third point, from a random one on; a run without it at all.
const everyNth = 3
