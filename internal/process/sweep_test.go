//go:build linux

package process

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain lets this binary be a server that starts a command and is killed.
func TestMain(m *testing.M) {
	if os.Getenv("PROCESS_SERVER") == "" {
		os.Exit(m.Run())
	}
	// The shell dies with us; what it started, in a session of its own, does not.
	cmd := exec.Command("sh", "-c", "setsid sleep 3600 & echo $!; wait")
	cmd.Env, cmd.Stdout = Env(nil, Mark()), os.Stdout
	OwnGroup(cmd)
	if _, err := Start(cmd); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	time.Sleep(time.Hour)
}

// What a killed server's command left is ended by the next one, and nothing of
// a server that lives.
func TestSweep(t *testing.T) {
	servers, left := [2]*exec.Cmd{}, [2]int{}
	for i := range servers {
		servers[i] = exec.Command(os.Args[0])
		servers[i].Env = append(os.Environ(), "PROCESS_SERVER=1")
		out, err := servers[i].StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := servers[i].Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = servers[i].Process.Kill()
			_ = servers[i].Wait()
			Sweep()
		})
		line := make([]byte, 20)
		n, err := out.Read(line)
		if err != nil {
			t.Fatal(err)
		}
		if left[i], err = strconv.Atoi(strings.TrimSpace(string(line[:n]))); err != nil {
			t.Fatal(err)
		}
		for { // until it is the sleeping program, with its environment
			if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", left[i])); string(name) == "sleep\n" {
				break
			}
		}
	}
	_ = servers[0].Process.Kill()
	_ = servers[0].Wait()
	if startTime(left[0]) == "0" {
		t.Fatal("it ended with its server, so this proves nothing")
	}
	if n := Sweep(); n < 1 {
		t.Errorf("%d ended", n)
	}
	for end := time.Now().Add(10 * time.Second); ; {
		if mark, ok := markOf(left[0]); !ok {
			break
		} else if time.Now().After(end) {
			t.Fatalf("it lives: %s", mark)
		}
	}
	if _, ok := markOf(left[1]); !ok {
		t.Error("the command of a server that lives was ended")
	}
}
