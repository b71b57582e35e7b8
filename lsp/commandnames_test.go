package lsp

import "testing"

// VS Code's language client registers every command that the server lists, and
// fails to start when one is listed twice.
func TestNoCommandIsListedTwice(t *testing.T) {
	c := startClient(t, testSetup{})
	seen := map[string]bool{}
	for _, name := range c.server.commandNames() {
		if seen[name] {
			t.Errorf("%s is listed twice", name)
		}
		seen[name] = true
	}
	if len(seen) < 10 {
		t.Errorf("only %d commands are listed", len(seen))
	}
}
