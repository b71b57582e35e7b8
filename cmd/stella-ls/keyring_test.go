//go:build linux

package main

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// elsewhere is an address of this machine that is not its loopback.
func elsewhere(t *testing.T) net.Listener {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			if l, err := net.Listen("tcp", n.IP.String()+":0"); err == nil {
				return l
			}
		}
	}
	t.Skip("this machine has no address but its loopback")
	return nil
}

// A key from the keyring reaches the model's server and nothing else: no output,
// no log, no file of the state directory.
func TestAskWithAKeyFromTheKeyring(t *testing.T) {
	const key = "key-of-the-keyring-0123456789"
	var got []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got = append(got, r.Header.Get("Authorization"))
		if len(got) == 1 {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":"you sent %s"}}`, r.Header.Get("Authorization"))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	_ = server.Listener.Close()
	server.Listener = elsewhere(t)
	server.Start()
	defer server.Close()
	bin := t.TempDir()
	script := "#!/bin/sh\n[ \"$*\" = 'lookup service stella-ls username OPENAI_API_KEY' ] && echo " + key + "\n"
	if err := os.WriteFile(filepath.Join(bin, "secret-tool"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	settings := fmt.Sprintf("[model]\nprovider = \"openai\"\nname = \"m\"\nbase_url = %q\n", server.URL)
	if err := os.WriteFile(filepath.Join(home, "settings.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"[masked]", "Hello."} {
		cmd := command(t, "ask", "hello")
		cmd.Env = append(cmd.Env, "STELLA_HOME="+home, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere")
		r := runMain(t, cmd)
		if !strings.Contains(r.out+r.stderr, want) || strings.Contains(r.out+r.stderr, key) || (r.code == 0) != (i == 1) {
			t.Errorf("%+v", r)
		}
	}
	if len(got) != 2 || got[0] != "Bearer "+key || got[1] != got[0] {
		t.Errorf("the server got %q", got)
	}
	_ = filepath.WalkDir(home, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if raw, err := os.ReadFile(p); err != nil || strings.Contains(string(raw), key) {
				t.Errorf("%s: the key is in it, or %v", p, err)
			}
		}
		return nil
	})
}
