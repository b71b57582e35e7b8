package scenario

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

var (
	serverBinary string
	mcpServer    *httptest.Server
	patience     = flag.Duration("patience", 0, "bounds each wait for the server; 0 is the default")
)

// The scenarios drive the real binary, built once with the race detector, or
// the one that STELLA_SERVER names. This test binary itself is what they
// need of other programs: see helper_test.go.
func TestMain(m *testing.M) {
	if role := os.Getenv("STELLA_SCENARIO_ROLE"); role != "" {
		play(role)
		return
	}
	flag.Parse()
	// A scenario mostly waits for its processes and hardly needs a processor.
	if p := flag.Lookup("test.parallel"); p != nil && p.Value.String() == p.DefValue {
		if err := p.Value.Set(strconv.Itoa(3 * runtime.GOMAXPROCS(0))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	dir, err := os.MkdirTemp("", "stella-scenario-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if serverBinary = os.Getenv("STELLA_SERVER"); serverBinary == "" { // else somebody built it, with the race detector or not
		serverBinary = filepath.Join(dir, "stella-ls")
		buildServer()
	}
	// Looking at it makes it an input of the test: "go test" would else give an
	// old result for a new server.
	if _, err := os.Stat(serverBinary); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	mcpServer = serveHTTP()
	code := m.Run()
	mcpServer.CloseClientConnections() // streams that wait for news never end by themselves
	mcpServer.Close()
	os.RemoveAll(dir)
	os.Exit(code)
}

func buildServer() {
	build := exec.Command("go", "build", "-race", "-o", serverBinary, "github.com/stella-ls/stella-ls/cmd/stella-ls")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the server: %v\n%s", err, out)
		os.Exit(1)
	}
}

func config(t *testing.T, editor string) Config {
	return Config{Bin: serverBinary, Dir: t.TempDir(), Editor: editor, Patience: *patience,
		Vars: map[string]string{"HELPER": os.Args[0], "HTTP": mcpServer.URL, "FOREIGN": foreignPrograms()}}
}

// foreignPrograms is where scripts/foreign.sh put them, "" when it did not run.
func foreignPrograms() string {
	dir := os.Getenv("STELLA_FOREIGN")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(cache, "stella-ls-foreign")
	}
	if _, err := os.Stat(filepath.Join(dir, ".installed")); err != nil && os.Getenv("STELLA_FOREIGN") == "" {
		return ""
	}
	return dir
}

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		a, err := Parse(string(raw))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		editors, err := EditorsOf(a)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for _, editor := range editors {
			t.Run(name+"/"+editor, func(t *testing.T) {
				t.Parallel()
				switch err := Run(context.Background(), config(t, editor), a); {
				case errors.Is(err, ErrSkip):
					t.Skip(err)
				case err != nil:
					t.Errorf("%s\n%s\n%v", file, strings.TrimSpace(a.Comment), err)
				}
			})
		}
	}
}

// A scenario whose wants are wrong must fail, or the suite proves nothing.
func TestScenariosCanFail(t *testing.T) {
	for _, want := range []string{
		`want buffer a.txt "other\n"`, `want disk a.txt "other\n"`, `want absent a.txt`, `want refused stale_base a.txt`,
		`want dirty a.txt`, `want mode a.txt 0755`, `want statuses edit_file applied applied`, `want stop cancelled`,
		`want result edit_file path is b.txt`, `want files a.txt stale`, `want cause typing`, `want asked 1`,
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			a, err := Parse("A control: it must fail.\n-- script --\nopen a.txt\nask read a.txt ; edit a.txt one two\n" + want + "\n-- a.txt --\none\n")
			if err != nil {
				t.Fatal(err)
			}
			err = Run(context.Background(), config(t, "vscode"), a)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("it did not fail at the want: %v", err)
			}
		})
	}
}
