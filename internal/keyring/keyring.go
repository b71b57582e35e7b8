// Package keyring reads a model provider's key from the platform's keyring, through
// the platform's own program: secret-tool (the Secret Service of GNOME, KDE and
// others) on Linux and the BSDs, security on macOS. No library, no daemon of our
// own, and nothing is ever written there.
//
// An entry is found by the service "stella-ls" and the name of the environment
// variable that would else hold the key, as user name. The key is returned to the
// caller and to nobody else: it is in no error, no log and no argument list.
package keyring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/internal/process"
	"github.com/stella-ls/stella-ls/internal/secret"
)

// Service is how entries of this program are called.
const Service = "stella-ls"

// limit is how long a keyring may take; a person may have to unlock it.
const limit = 20 * time.Second

// most is the longest key, in bytes.
const most = 4 << 10

// ErrNone is that there is no such entry, or no keyring to ask.
var ErrNone = errors.New("the keyring has no such entry")

// Get is the key of that name. It fails with ErrNone where there is none; another
// error says why a keyring that is there gave no answer.
func Get(ctx context.Context, env func(string) string, name string) (string, error) {
	argv := lookup(runtime.GOOS, env, name)
	if argv == nil {
		return "", ErrNone
	}
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return "", ErrNone
	}
	argv[0] = program
	out, err := process.Run(ctx, process.Command{Argv: argv, Timeout: limit, Split: true, Head: most, Tail: most})
	switch key := strings.TrimRight(out.Output, "\r\n"); {
	case err != nil:
		return "", fmt.Errorf("the keyring could not be asked: %w", err)
	case out.TimedOut:
		return "", fmt.Errorf("the keyring gave no answer within %s; it may be waiting to be unlocked", limit)
	case out.Exit != 0 || key == "":
		return "", none(out.Stderr)
	case out.Cut > 0 || len(key) > most || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "", fmt.Errorf("what the keyring holds as %s of %s is no key: it has spaces or several lines, or is too long", name, Service)
	default:
		return key, nil
	}
}

// none says why a program found nothing. Most of them say nothing, or that the
// entry is not there; anything else is worth telling.
func none(said string) error {
	said = strings.TrimSpace(secret.Mask(said))
	if said == "" || strings.Contains(said, "could not be found in the keychain") {
		return ErrNone
	}
	line, _, _ := strings.Cut(said, "\n")
	return fmt.Errorf("the keyring could not be read: %s", line)
}

// lookup is the command that prints a key, nil where there is no keyring.
func lookup(goos string, env func(string) string, name string) []string {
	switch goos {
	case "darwin":
		return []string{"security", "find-generic-password", "-s", Service, "-a", name, "-w"}
	case "linux", "freebsd", "openbsd", "netbsd":
		if bus(env) {
			return []string{"secret-tool", "lookup", "service", Service, "username", name}
		}
	}
	return nil
}

// bus reports whether a desktop session's bus is there. Without one secret-tool
// would try to start it, and wait.
func bus(env func(string) string) bool {
	if env("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	dir := env("XDG_RUNTIME_DIR")
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, "bus"))
	return err == nil
}

// Store is the command by which a person puts a key there; the program asks for
// it. Empty where there is no keyring.
func Store(name string) string { return store(runtime.GOOS, name) }

func store(goos, name string) string {
	switch goos {
	case "darwin":
		return fmt.Sprintf("security add-generic-password -s %s -a %s -w", Service, name)
	case "linux", "freebsd", "openbsd", "netbsd":
		return fmt.Sprintf("secret-tool store --label='%s %s' service %s username %s", Service, name, Service, name)
	}
	return ""
}
