package config

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestTrust(t *testing.T) {
	home, ws := filepath.Join(t.TempDir(), "new"), t.TempDir()
	inner := filepath.Join(ws, "a", "b")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(ws, link); err != nil {
		t.Fatal(err)
	}
	check := func(dir string, want, decided bool) {
		t.Helper()
		// A new value each time: another process must see the same.
		got, d, err := NewTrust(home).Trusted(dir)
		if got != want || d != decided || err != nil {
			t.Errorf("%s: %v %v %v", dir, got, d, err)
		}
	}
	set := func(dir string, v bool) {
		t.Helper()
		if err := NewTrust(home).Set(dir, v); err != nil {
			t.Fatal(err)
		}
	}
	check(ws, false, false)
	set(link, true)
	check(ws, true, true)
	check(link, true, true)
	check(inner, true, true)
	check(filepath.Dir(ws), false, false)
	set(filepath.Join(ws, "a"), false)
	check(inner, false, true)
	check(ws, true, true)
	dirs, trusted, err := NewTrust(home).List()
	if len(dirs) != 2 || !trusted[0] || trusted[1] || err != nil {
		t.Errorf("%v %v %v", dirs, trusted, err)
	}
	if _, _, err := NewTrust(home).Trusted(filepath.Join(ws, "missing")); err == nil {
		t.Error("a directory that is not there")
	}
	if err := NewTrust(home).Set("/etc/hostname", true); err == nil {
		t.Error("trusted a file")
	}
	path := filepath.Join(home, "trust.json")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	os.Chmod(path, 0o666)
	if got, _, err := NewTrust(home).Trusted(ws); got || err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others can write: %v %v", got, err)
	}
	os.Chmod(path, 0o600)
	for _, bad := range []string{"{", `{"version": 2}`} {
		os.WriteFile(path, []byte(bad), 0o600)
		if got, _, err := NewTrust(home).Trusted(ws); got || err == nil {
			t.Errorf("%s: %v %v", bad, got, err)
		}
		if err := NewTrust(home).Set(ws, true); err == nil {
			t.Errorf("%s was overwritten", bad)
		}
	}
}

func TestTrustTogether(t *testing.T) {
	home := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		dir := t.TempDir()
		wg.Go(func() {
			if err := NewTrust(home).Set(dir, true); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if dirs, _, err := NewTrust(home).List(); len(dirs) != 8 || err != nil {
		t.Errorf("%d decisions are left (%v)", len(dirs), err)
	}
}

func TestAlways(t *testing.T) {
	const rule = `command:go test "x"`
	q := `"command:go test \"x\""`
	for old, want := range map[string]string{
		"":                "[permissions]\nalways = [" + q + "]\n",
		"# mine\n[model]": "# mine\n[model]\n\n[permissions]\nalways = [" + q + "]\n",
		"[permissions] # p\nwrite = 'ask' # w\n[model]\n":       "[permissions] # p\nalways = [" + q + "]\nwrite = 'ask' # w\n[model]\n",
		"[permissions]\nalways = [] # none yet\n":               "[permissions]\nalways = [" + q + "] # none yet\n",
		"[permissions]\nalways = ['a', \"b\"] # two\n":          "[permissions]\nalways = ['a', \"b\", " + q + "] # two\n",
		"[permissions]\nalways = [\n\t'a', # [,]\n\t# end\n]\n": "[permissions]\nalways = [\n\t'a', # [,]\n\t" + q + ",\n\t# end\n]\n",
		"[permissions]\nalways = [\n  'a' # x\n]\n":             "[permissions]\nalways = [\n  'a',\n  " + q + " # x\n]\n",
		"[permissions]\r\nalways = [\r\n  'a',\r\n]\r\n":        "[permissions]\r\nalways = [\r\n  'a',\r\n  " + q + ",\r\n]\r\n",
		"permissions.write = 'ask'\n[model]\n":                  "permissions.write = 'ask'\npermissions.always = [" + q + "]\n[model]\n",
		"[permissions]\nalways = [" + q + "]\n":                 "[permissions]\nalways = [" + q + "]\n",
		"[permissions]\nalways = ['a',]\n":                      "[permissions]\nalways = ['a', " + q + ",]\n",
	} {
		home := t.TempDir()
		write(t, filepath.Join(home, FileName), old)
		if err := Always(home, rule); err != nil {
			t.Errorf("%q: %v", old, err)
			continue
		}
		b, _ := os.ReadFile(filepath.Join(home, FileName))
		if string(b) != want {
			t.Errorf("from %q\ngot  %q\nwant %q", old, b, want)
		}
		s, p := Load(Sources{Home: home})
		if n := len(s.Permissions.Always); n == 0 || s.Permissions.Always[n-1] != rule || len(p) > 0 {
			t.Errorf("%q: %v %v", old, s.Permissions.Always, p)
		}
	}
	for _, old := range []string{"permissions = {write = 'ask'}\n", "[permissions\n", "[permissions]\nalways = 3\n"} {
		home := t.TempDir()
		write(t, filepath.Join(home, FileName), old)
		err := Always(home, rule)
		b, _ := os.ReadFile(filepath.Join(home, FileName))
		if err == nil || !strings.Contains(err.Error(), "add it there yourself") || string(b) != old {
			t.Errorf("%q: %v, file %q", old, err, b)
		}
	}
}

// The user's file is often a link into a repository of dotfiles.
func TestAlwaysKeepsLinkAndMode(t *testing.T) {
	home, dots := t.TempDir(), t.TempDir()
	target := filepath.Join(dots, "stella.toml")
	write(t, target, "# dots\n")
	os.Chmod(target, 0o640)
	if err := os.Symlink(target, filepath.Join(home, FileName)); err != nil {
		t.Fatal(err)
	}
	if err := Always(home, "x"); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(target)
	info, _ := os.Stat(target)
	if link, err := os.Readlink(filepath.Join(home, FileName)); err != nil || link != target || !strings.HasPrefix(string(b), "# dots\n") || info.Mode().Perm() != 0o640 {
		t.Errorf("link %q, %v, text %q, mode %v", link, err, b, info.Mode())
	}
	left, _ := filepath.Glob(filepath.Join(dots, ".tmp-*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
