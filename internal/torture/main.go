//go:build linux

// Command torture measures whether a commit can lose what another program writes
// to the same file at the same moment.
//
// A separate process (the outsider) writes a file as fast as it is told to, in
// one of several styles: rename-save (a new file renamed over the path), truncate
// (the file cut and written in place) and append. Every write carries an id of
// its own. Meanwhile this process commits to the same path at full speed through
// guard/commit, each time on top of what it has just read.
//
// # What lost means
//
// The outsider may destroy its own older states; that is its affair. What
// matters is a state that the *engine* took from the path. The outsider keeps a
// descriptor of the file that it wrote last, which tells it, at its next write,
// whether it replaced its own state or whether that state had been taken away
// before:
//
//   - rename-save: the link count of its last file falls to 0 in its own rename,
//     and the path named that file just before: its own doing. Else: taken.
//   - truncate: the file that it opened to cut is the one that it wrote last: its
//     own doing. Else: taken.
//   - append: nothing is ever its own doing. "linked" is append to a file with
//     two names, which is committed in place; "late" is append by writers that
//     stall between finding the file and opening it, as a loaded machine makes
//     them do, so that most of them write to a file that has left the path.
//
// Each id that was taken, and the last one, must be found
//
//   - at the path, at the end, or
//   - in the displaced store, or
//   - in the bytes that a successful commit had compared: the engine's caller read
//     this very state and replaced it knowingly, which is an ordinary edit.
//
// An id that is in none of the three is lost. (A late writer that the machine kept
// from opening the file for more than a second is counted apart: a displaced
// file is parked for a little more than that, and no time would be long enough.)
// The control does what most
// programs do (read again, hash, compare, rename) under the same load; it must
// lose some, or the load was too light to mean anything and the run is void.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stella-ls/stella-ls/guard/commit"
)

// config is one run.
type config struct {
	Writes  int           // external writes per style against the engine
	Control int           // and against the control
	Gap     time.Duration // the outsider pauses up to twice this long between writes
	Dir     string        // where the file lies; "" is a fresh temporary directory
	Styles  []string
	Seed    uint64
}

// row is one line of the table.
type row struct {
	Style                     string
	Writes, Taken             int // external; taken away by the engine, not by the outsider itself
	Commits, Refusals, Raced  int
	Late, Stored, Lost        int
	Stalled                   int // lost by a writer that a busy machine kept from opening for over a second
	ControlTaken, ControlLost int
	Took                      time.Duration
	Err                       error
}

var errVoid = errors.New("the control lost nothing: the load was too light, the run is void")

func main() {
	if args := os.Getenv(outsiderEnv); args != "" {
		if err := outsiderMain(args); err != nil {
			fmt.Fprintln(os.Stderr, "outsider:", err)
			os.Exit(1)
		}
		return
	}
	var c config
	var styles string
	flag.IntVar(&c.Writes, "n", 100_000, "external writes per style")
	flag.IntVar(&c.Control, "control", 20_000, "external writes per style against the control")
	flag.DurationVar(&c.Gap, "gap", 300*time.Microsecond, "mean pause of the outsider between writes")
	flag.StringVar(&c.Dir, "dir", "", "directory on the file system to test (default: /dev/shm if there is one, because commits there take microseconds and meet more writes; else the temporary directory)")
	flag.StringVar(&styles, "styles", strings.Join(allStyles, ","), "styles to run")
	flag.Uint64Var(&c.Seed, "seed", 1, "seed of the outsider's pauses and sizes")
	flag.Parse()
	c.Styles = strings.Split(styles, ",")
	if st, err := os.Stat("/dev/shm"); c.Dir == "" && err == nil && st.IsDir() {
		c.Dir = "/dev/shm"
	}
	if c.Dir == "" {
		c.Dir = os.TempDir()
	}
	if p, err := commit.Probe(c.Dir); err == nil {
		fmt.Printf("in %s, mode %s, seed %d\n", c.Dir, p.Mode, c.Seed)
	}
	rows, err := run(c)
	printTable(rows)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run does every style and fails when something was lost or the run is void.
func run(c config) ([]row, error) {
	var rows []row
	var errs error
	controlLost := 0
	for _, style := range c.Styles {
		r := runStyle(c, style)
		rows = append(rows, r)
		controlLost += r.ControlLost
		if r.Err != nil {
			errs = errors.Join(errs, fmt.Errorf("%s: %w", style, r.Err))
		}
		if r.Lost > 0 {
			errs = errors.Join(errs, fmt.Errorf("%s: %d external writes lost", style, r.Lost))
		}
	}
	if controlLost == 0 {
		errs = errors.Join(errs, errVoid)
	}
	return rows, errs
}

func printTable(rows []row) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "style\texternal writes\ttaken\tcommits\trefusals\traced\tlate\tstored\tlost\tlost after 1 s stall\tcontrol taken\tcontrol lost\tseconds\t")
	for _, r := range rows {
		share := ""
		if r.ControlTaken > 0 {
			share = fmt.Sprintf(" (%.1f %%)", 100*float64(r.ControlLost)/float64(r.ControlTaken))
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d%s\t%.0f\t\n", r.Style, r.Writes, r.Taken, r.Commits, r.Refusals, r.Raced,
			r.Late, r.Stored, r.Lost, r.Stalled, r.ControlTaken, r.ControlLost, share, r.Took.Seconds())
	}
	w.Flush()
}
