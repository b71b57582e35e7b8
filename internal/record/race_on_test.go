//go:build race

package record

// everyNth: the race detector makes a process slow to start, so a run with it
// fills the disk at every third point, from a random one on; a run without it at
// all. Kills are at every point in either.
const everyNth = 3
