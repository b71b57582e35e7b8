package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/stella-ls/stella-ls/editors/nvim"
)

// playNvim plays the story in a real Neovim: the plugin talks to the server,
// and driver.lua is the person, who types real keys and reports what happens.
func playNvim(ctx context.Context, o Options, s stage, tell func(event)) (ending, error) {
	bin, err := findNvim(o.Nvim)
	if err != nil {
		return ending{}, err
	}
	plugin := filepath.Join(s.dir, "plugin")
	if err := os.CopyFS(plugin, nvim.Plugin); err != nil {
		return ending{}, err
	}
	driver := filepath.Join(s.dir, "driver.lua")
	raw, err := files.ReadFile("driver.lua")
	if err != nil {
		return ending{}, err
	}
	if err := os.WriteFile(driver, raw, 0o644); err != nil {
		return ending{}, err
	}
	c := exec.CommandContext(ctx, bin, "--clean", "--headless", "-l", driver)
	c.Dir = s.root
	c.Env = append(s.env(),
		"DEMO_SERVER="+o.Server, "DEMO_PLUGIN="+plugin, "DEMO_FILE="+file, "DEMO_REQUEST="+request,
		"DEMO_LINE="+personLine, "DEMO_HOLD="+holdText)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return ending{}, err
	}
	if err := c.Start(); err != nil {
		return ending{}, err
	}
	end, err := read(bufio.NewScanner(out), tell)
	if waitErr := c.Wait(); err == nil {
		err = waitErr
	}
	if err != nil {
		return end, fmt.Errorf("%w\n%s", err, stderr.Bytes())
	}
	disk, err := os.ReadFile(s.path())
	end.Disk = string(disk)
	return end, err
}

// read takes the driver's lines: events, then the ending.
func read(in *bufio.Scanner, tell func(event)) (end ending, err error) {
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var l struct {
			event
			End *ending `json:"end"`
		}
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			return end, fmt.Errorf("Neovim printed %q: %w", in.Text(), err)
		}
		if l.End != nil {
			return *l.End, nil
		}
		tell(l.event)
	}
	if err := in.Err(); err != nil {
		return end, err
	}
	return end, errors.New("Neovim ended before the turn did")
}

func findNvim(named string) (string, error) {
	if named == "" {
		named = os.Getenv("STELLA_NVIM")
	}
	if named == "" {
		named = "nvim"
	}
	bin, err := exec.LookPath(named)
	if err != nil {
		return "", fmt.Errorf("no Neovim: %w; install 0.10 or later, or name it with STELLA_NVIM", err)
	}
	return filepath.Abs(bin)
}
