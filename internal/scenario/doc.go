// Package scenario runs text scenarios against the built server: a person in an
// editor, a scripted model, other programs, and what must be true afterwards.
//
// A scenario is an archive of files (see Parse). Its comment begins with one
// sentence that says what must hold. The file "script" holds commands, one a
// line; "settings.toml" and "script.yaml" are the server's; every other file is
// put into the workspace.
//
//	The person types after the session has read: the write must lose.
//	-- script --
//	editors vscode nvim
//	open rates.py
//	ask read rates.py
//	type rates.py 1:1 "# mine\n"
//	ask edit rates.py "rate = 1" "rate = 2"
//	want refused stale_base rates.py
//	want buffer rates.py "# mine\nrate = 1\n"
//	-- rates.py --
//	rate = 1
//
// A file "reflect" holds the model's answers to reflections, one a line.
//
// What stands after ask is what the model will do (compile.go lists it); the
// runner makes the script provider's file from all of them before the server
// starts. With a script.yaml in the archive, ask takes the prompt's text instead;
// %W in it is the directory around the workspace.
//
// Nothing sleeps. Order between the model and everybody else is made by holds:
// "hold NAME" among the model's steps stops it there until "release NAME", and
// "held NAME" waits until it has stopped. All other commands that observe wait
// for a message of the server, with a deadline.
//
// commands.go lists the commands, want.go and want_memory.go what can be wanted.
package scenario
