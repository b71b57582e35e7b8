package graph

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// cutsOf are the lengths that a file of size bytes is cut to: those that are asked
// for, its half and its last byte. STELLA_GRAPH_CUTS=N tries every Nth byte too. Package
// store cuts at many more, below the index.
func cutsOf(t *testing.T, size int, cuts ...int) []int {
	cuts = append(cuts, size/2, size-1)
	if s := os.Getenv("STELLA_GRAPH_CUTS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("STELLA_GRAPH_CUTS=%s", s)
		}
		for at := 0; at < size; at += n {
			cuts = append(cuts, at)
		}
	}
	return cuts
}

// N03: an index that was cut, at whatever byte, is set aside, said, and built
// again; answers are right.
func TestIndexCutAtAnyByte(t *testing.T) {
	cache := t.TempDir()
	dir := tree(t, map[string]string{
		"a.py": "def one(): return 1\n", "b.py": "from a import one\none()\n",
	})
	indexed(t, Options{CacheDir: cache, NoWatch: true}, dir).Close()
	dbs, _ := filepath.Glob(cache + "/*.db")
	whole, err := os.ReadFile(dbs[0])
	if err != nil {
		t.Fatal(err)
	}
	cuts := 0
	for _, at := range cutsOf(t, len(whole), 0, 1, 100) {
		cuts++
		for _, old := range []string{"", "-wal", "-shm", ".damaged", ".damaged-wal", ".damaged-shm"} {
			_ = os.Remove(dbs[0] + old)
		}
		if err := os.WriteFile(dbs[0], whole[:at], 0o600); err != nil {
			t.Fatal(err)
		}
		var heard notices
		g := indexed(t, Options{CacheDir: cache, NoWatch: true, Notice: heard.add}, dir)
		wantAnswer(t, g, OpReferences, "one", "b.py:1 import one import", "b.py:2 call one import")
		if err := g.Close(); err != nil {
			t.Errorf("cut at %d: %v", at, err)
		}
		notices := heard.all()
		said := strings.Join(notices, "\n")
		if at > 0 && (len(notices) != 1 || !strings.Contains(said, "set aside")) {
			t.Errorf("cut at %d of %d: notices %q", at, len(whole), notices)
		}
		if aside, err := os.ReadFile(dbs[0] + ".damaged"); at > 0 && (err != nil || len(aside) != at) {
			t.Errorf("cut at %d: what is set aside has %d bytes, %v", at, len(aside), err)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d cuts of %d bytes", cuts, len(whole))
}

// A process that was killed leaves a write-ahead log; cut at any byte, what it held
// is taken or left, and nothing is wrong.
func TestLogCutAtAnyByte(t *testing.T) {
	cache := t.TempDir()
	files := map[string]string{"a.py": "def one(): return 1\n"}
	dir := tree(t, files)
	indexed(t, Options{CacheDir: cache, NoWatch: true}, dir).Close()
	dbs, _ := filepath.Glob(cache + "/*.db")
	read := func(ext string) []byte {
		b, err := os.ReadFile(dbs[0] + ext)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	write(t, dir+"/b.py", "from a import one\none()\n")
	g := indexed(t, Options{CacheDir: cache, NoWatch: true}, dir)
	base, log := read(""), read("-wal") // as a kill leaves them
	g.Close()
	if len(log) == 0 {
		t.Fatal("there is no log to cut")
	}
	cuts := 0
	for _, at := range cutsOf(t, len(log), 0, 33) {
		cuts++
		for _, old := range []string{"-shm", ".damaged", ".damaged-wal", ".damaged-shm"} {
			_ = os.Remove(dbs[0] + old)
		}
		for ext, b := range map[string][]byte{"": base, "-wal": log[:at]} {
			if err := os.WriteFile(dbs[0]+ext, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		g := indexed(t, Options{CacheDir: cache, NoWatch: true}, dir)
		wantAnswer(t, g, OpReferences, "one", "b.py:1 import one import", "b.py:2 call one import")
		if err := g.Close(); err != nil {
			t.Errorf("cut at %d: %v", at, err)
		}
		if t.Failed() {
			t.Fatalf("cut at %d of %d", at, len(log))
		}
	}
	t.Logf("%d cuts of %d bytes", cuts, len(log))
}
