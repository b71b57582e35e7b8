package commit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func testIntents(t *testing.T) *intents {
	t.Helper()
	b, err := openIntents(filepath.Join(t.TempDir(), "intents"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.close() })
	return b
}

// TestIntentSlots: a slot that is used again holds the new intent or none,
// whatever lengths follow each other and wherever a write is torn.
func TestIntentSlots(t *testing.T) {
	b := testIntents(t)
	for _, path := range []string{"/w/a", "/w/" + strings.Repeat("long/", 2000) + "b", "/w/c", "/w/" + strings.Repeat("x", 4000)} {
		in := &intent{Op: "replace", Path: path, Temps: []string{"t"}}
		if err := b.prepare(in); err != nil {
			t.Fatal(err)
		}
		if in.slot != "1.intent" {
			t.Errorf("slot %s: a free one was not used again", in.slot)
		}
		if err := in.ready(); err != nil {
			t.Fatal(err)
		}
		if got, err := readIntent(in.file()); err != nil || got == nil || got.Path != path || !got.Ready {
			t.Errorf("got %+v, %v", got, err)
		}
		whole, _ := os.ReadFile(in.file())
		for _, cut := range []int{1, 20, 60} { // a shorter head of the next line over this one
			torn := append([]byte(strings.Repeat("f", cut)), whole[cut:]...)
			os.WriteFile(in.file(), torn, 0o600)
			if got, err := readIntent(in.file()); err != nil || got != nil {
				t.Errorf("torn at %d: got %+v, %v", cut, got, err)
			}
		}
		os.WriteFile(in.file(), whole, 0o600)
		in.done()
		if got, err := readIntent(filepath.Join(b.dir, in.slot)); err != nil || got != nil {
			t.Errorf("after done: got %+v, %v", got, err)
		}
	}
}

func TestIntentsOfTwoCalls(t *testing.T) {
	b := testIntents(t)
	first, second := &intent{Path: "/w/a"}, &intent{Path: "/w/b"}
	if err := b.prepare(first); err != nil {
		t.Fatal(err)
	}
	if err := b.prepare(second); err != nil {
		t.Fatal(err)
	}
	if first.slot == second.slot {
		t.Fatal("two intents share a slot")
	}
	first.done()
	if b.live != 1 || len(b.free) != 1 {
		t.Errorf("live %d, free %v", b.live, b.free)
	}
	second.done()
}
