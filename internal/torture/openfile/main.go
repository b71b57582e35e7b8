// Command openfile tortures the guard with the file open in an editor: a person
// types and deletes at 1,000 changes a second while sessions of the built server
// read and edit the same buffer as fast as they can.
//
// Every line the person types has a number, and is taken out again some 200
// lines later: it must then be there exactly once, or it was lost. Every edit
// that a session was told is applied must be in the text at the end, and no
// refused one may be.
//
// The control edits the same buffer as an agent without a guard does: it takes
// the text, thinks for a moment, and puts back the whole text with its line. It
// must lose some of the person's lines, or the run is void.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

type config struct {
	Server  string
	Changes int           // the person's, against the server
	Control int           // and against the control
	Rate    int           // changes a second
	Burst   int           // changes typed without a pause
	Think   time.Duration // how long the control thinks
}

// tally is what one run came to.
type tally struct {
	Typed, Lost       int
	Applied, Refused  int
	Missing, Phantoms int // applied and not there; refused and there
	Took              time.Duration
}

func main() {
	var c config
	flag.StringVar(&c.Server, "server", "bin/stella-ls", "the built `binary`")
	flag.IntVar(&c.Changes, "n", 100_000, "changes typed against the server")
	flag.IntVar(&c.Control, "control", 10_000, "changes typed against the control")
	flag.IntVar(&c.Rate, "rate", 1000, "changes a second")
	flag.IntVar(&c.Burst, "burst", 40, "changes typed without a pause")
	flag.DurationVar(&c.Think, "think", 5*time.Millisecond, "how long the control thinks")
	flag.Parse()
	if abs, err := filepath.Abs(c.Server); err == nil { // the server is started in a folder of its own
		c.Server = abs
	}
	if err := torture(context.Background(), c); err != nil {
		fmt.Fprintln(os.Stderr, "openfile:", err)
		os.Exit(1)
	}
}

func torture(ctx context.Context, c config) error {
	guarded, err := withServer(ctx, c)
	fmt.Printf("file open in the editor: %d changes typed, %d lost; %d edits applied (%d missing), %d refused (%d there all the same); %.0f changes/s\n",
		guarded.Typed, guarded.Lost, guarded.Applied, guarded.Missing, guarded.Refused, guarded.Phantoms, float64(guarded.Typed)/guarded.Took.Seconds())
	if err != nil {
		return err
	}
	naive, err := withControl(ctx, c)
	if err != nil {
		return err
	}
	fmt.Printf("control without a guard: %d changes typed, %d lost in %d edits\n", naive.Typed, naive.Lost, naive.Applied)
	switch {
	case guarded.Lost+guarded.Missing+guarded.Phantoms > 0:
		return errors.New("something was lost")
	case guarded.Applied == 0 || guarded.Refused == 0:
		return errors.New("the edits were never raced: the run is void")
	case naive.Lost == 0:
		return errors.New("the control lost nothing: the run is void")
	}
	return nil
}
