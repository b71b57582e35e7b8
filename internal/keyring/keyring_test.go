//go:build linux

package keyring

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program puts a secret-tool of our own on the PATH.
func program(t *testing.T, script string) func(string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret-tool"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func(k string) string {
		if k == "DBUS_SESSION_BUS_ADDRESS" {
			return "unix:path=/nowhere"
		}
		return ""
	}
}

func TestGet(t *testing.T) {
	for name, c := range map[string]struct{ script, key, err string }{
		"found":        {`[ "$*" = "lookup service stella-ls username OPENAI_API_KEY" ] && printf 'sk-one\n'`, "sk-one", ""},
		"no new line":  {`printf sk-one`, "sk-one", ""},
		"not there":    {`exit 1`, "", ErrNone.Error()},
		"empty":        {`exit 0`, "", ErrNone.Error()},
		"trouble":      {`echo "no bus for sk-abcdefghijklmnopqrstuvwx" >&2; exit 1`, "", "no bus for [masked]"},
		"no key":       {`printf 'one\ntwo\n'`, "", "is no key"},
		"far too long": {`head -c 100000 /dev/zero | tr '\0' x`, "", "is no key"},
	} {
		t.Run(name, func(t *testing.T) {
			key, err := Get(context.Background(), program(t, c.script), "OPENAI_API_KEY")
			if key != c.key || (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%q, %v", key, err)
			}
		})
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Get(gone, program(t, "exec sleep 60"), "OPENAI_API_KEY"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Without a session's bus, as in a container, no program is run.
func TestNoBus(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	program(t, "touch "+ran)
	if _, err := Get(context.Background(), func(string) string { return "" }, "X"); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program was run")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bus"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Get(context.Background(), func(k string) string { return map[string]string{"XDG_RUNTIME_DIR": dir}[k] }, "X"); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(ran); err != nil {
		t.Error("the program was not run")
	}
}

func TestPlatforms(t *testing.T) {
	yes := func(string) string { return "x" }
	if got := lookup("darwin", yes, "K"); !slices.Equal(got, []string{"security", "find-generic-password", "-s", "stella-ls", "-a", "K", "-w"}) {
		t.Errorf("%q", got)
	}
	if lookup("windows", yes, "K") != nil || store("windows", "K") != "" {
		t.Error("Windows has no program that prints a key")
	}
	if err := none("security: SecKeychainSearchCopyNext: The specified item could not be found in the keychain.\n"); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
	for _, goos := range []string{"linux", "darwin"} {
		if s := store(goos, "K"); !strings.Contains(s, "stella-ls") || !strings.HasSuffix(strings.TrimSuffix(s, " -w"), " K") {
			t.Errorf("%s: %s", goos, s)
		}
	}
}
