package tools

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/internal/config"
	"github.com/stella-ls/stella-ls/internal/tomlfile"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// mcpServer is one [servers.NAME] of .stella/mcp.toml.
type mcpServer struct {
	Command  []string            `toml:"command"`
	URL      string              `toml:"url"`
	Env      map[string]string   `toml:"env"`
	Headers  map[string]string   `toml:"headers"`
	Disabled bool                `toml:"disabled"`
	Timeout  config.Duration     `toml:"timeout"` // of one call; 0 is mcpCall
	Paths    map[string][]string `toml:"paths"`
}

const mcpMost = 32 // servers of one workspace

var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// readMCP reads .stella/mcp.toml. A file that is not there configures nothing.
func readMCP(ctx context.Context, ws *workspace.Workspace, root string) (map[string]mcpServer, []error) {
	raw, err := readPlain(ctx, ws, filepath.Join(root, ".stella", "mcp.toml"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{fmt.Errorf(".stella/mcp.toml: %w", err)}
	}
	var file struct {
		Servers map[string]mcpServer `toml:"servers"`
	}
	meta, err := tomlfile.Decode(string(raw), &file)
	if err != nil {
		return nil, []error{fmt.Errorf(".stella/mcp.toml: %w", err)}
	}
	var problems []error
	for _, key := range meta.Undecoded() {
		problems = append(problems, fmt.Errorf(".stella/mcp.toml: unknown key %s", key))
	}
	good := map[string]mcpServer{}
	for _, name := range sortedNames(file.Servers) {
		s := file.Servers[name]
		switch err := s.check(name); {
		case err != nil:
			problems = append(problems, fmt.Errorf(".stella/mcp.toml: server %s: %w", name, err))
		case s.Disabled:
		case len(good) == mcpMost:
			problems = append(problems, fmt.Errorf(".stella/mcp.toml: server %s: more than %d servers", name, mcpMost))
		default:
			good[name] = s
		}
	}
	return good, problems
}

func (s mcpServer) check(name string) error {
	switch {
	case !serverName.MatchString(name) || strings.Contains(name, "__"):
		return errors.New("use 1 to 32 letters, digits, - and single _ in its name")
	case (len(s.Command) > 0) == (s.URL != ""):
		return errors.New("give either a command (a list) or a url")
	case s.Timeout.Duration < 0 || s.Timeout.Duration > mcpCallMax:
		return fmt.Errorf("timeout: from 1ms to %s, such as \"90s\"", mcpCallMax)
	case s.URL != "":
		u, err := url.Parse(os.Expand(s.URL, fromEnvironment))
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return errors.New("the url must begin with http:// or https://")
		}
	}
	return nil
}

// callLimit bounds one call.
func (s mcpServer) callLimit() time.Duration {
	if s.Timeout.Duration == 0 {
		return mcpCall
	}
	return s.Timeout.Duration
}

// fromEnvironment serves ${NAME} in env, headers and url, so that keys need not
// be written into a file that is committed.
func fromEnvironment(name string) string { return os.Getenv(name) }

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
