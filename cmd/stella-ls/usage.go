package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// flagSet is the flags of one command, which reports faults in the program's own
// words. The usage goes to stdout when it is asked for, else to stderr.
type flagSet struct {
	*flag.FlagSet
	e           env
	name, usage string
	hidden      map[string]bool // flags that are nobody's business
}

// flags returns the flag set of a command. The first line of usage is its
// arguments; what follows says what it does and its exit codes.
func flags(e env, name, usage string) *flagSet {
	fs := &flagSet{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), e: e, name: name, usage: usage, hidden: map[string]bool{}}
	fs.SetOutput(io.Discard)
	fs.FlagSet.Usage = func() {}
	return fs
}

func (fs *flagSet) hide(names ...string) {
	for _, n := range names {
		fs.hidden[n] = true
	}
}

// Usage prints how the command is called to stderr.
func (fs *flagSet) Usage() { fs.print(fs.e.stderr) }

func (fs *flagSet) print(w io.Writer) {
	fmt.Fprintf(w, "usage: stella-ls %s\n", strings.TrimSpace(fs.name+" "+fs.usage))
	first := true
	fs.VisitAll(func(f *flag.Flag) {
		if fs.hidden[f.Name] {
			return
		}
		if first {
			fmt.Fprintln(w, "\nflags:")
			first = false
		}
		value, text := flag.UnquoteUsage(f)
		if value != "" {
			value = " " + strings.ToUpper(value)
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "true" {
			text += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(w, "  --%s%s\n        %s\n", f.Name, value, text)
	})
}

// fault says what is wrong with the arguments and how they are written.
func (fs *flagSet) fault(why string) int {
	fmt.Fprintf(fs.e.stderr, "stella-ls %s: %s\n", fs.name, why)
	fs.Usage()
	return exitUsage
}

// parse returns an exit code when the arguments end the command here.
func parse(fs *flagSet, args []string) (code int, done bool) {
	err := fs.Parse(args)
	switch {
	case err == nil:
		return 0, false
	case errors.Is(err, flag.ErrHelp):
		fs.print(fs.e.stdout)
		return exitOK, true
	}
	why := err.Error()
	if name, unknown := strings.CutPrefix(why, "flag provided but not defined: -"); unknown {
		why = "there is no flag --" + strings.TrimPrefix(name, "-")
	}
	return fs.fault(why), true
}

// parseMixed is parse for arguments in any order; it returns the words that are
// no flags. What follows "--" is never a flag.
func parseMixed(fs *flagSet, args []string) (words []string, code int, done bool) {
	for {
		if code, done = parse(fs, args); done {
			return nil, code, true
		}
		rest := fs.Args()
		if len(rest) == 0 {
			return words, 0, false
		}
		if used := len(args) - len(rest); used > 0 && args[used-1] == "--" {
			return append(words, rest...), 0, false
		}
		words, args = append(words, rest[0]), rest[1:]
	}
}
