package secret

import (
	"math/rand"
	"strings"
	"testing"
)

var secrets = []string{
	"sk-ant-api03-abcdefghijklmnopqrstuv", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "AKIAABCDEFGHIJKLMNOP",
	"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
	"-----BEGIN RSA PRIVATE KEY-----\nMIIEabcdefghij\nklmnop==\n-----END RSA PRIVATE KEY-----",
}

func TestMask(t *testing.T) {
	for _, s := range secrets {
		if got := Mask("a " + s + " b"); got != "a [masked] b" {
			t.Errorf("%s: %q", s, got)
		}
		if !Has(s) {
			t.Errorf("%s is not seen", s)
		}
	}
	for in, want := range map[string]string{
		`api_key = "abcdef0123456789"`:                `api_key = "[masked]"`,
		`"password": "correct-horse-battery"`:         `"password": "[masked]"`,
		`Authorization: Bearer abcdef0123456789abcde`: `Authorization: Bearer [masked]`,
		`password: short`:                             `password: short`,
		`the password is in the vault`:                `the password is in the vault`,
		`a task-management-system-with-a-name`:        `a ta[masked]`, // rather too much than too little
		`{"path": "api/pricing.py"}`:                  `{"path": "api/pricing.py"}`,
		`sha256:e34256a3aabbccddeeff00112233445566`:   `sha256:e34256a3aabbccddeeff00112233445566`,
	} {
		if got := Mask(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// However a text is cut into pieces, no piece of a secret comes out.
func TestStream(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 100 {
		s := secrets[r.Intn(len(secrets))]
		text := "It says " + s + " and api_key: " + "abcdef0123456789" + " there.\nDone."
		var m Stream
		var out strings.Builder
		for rest := text; rest != ""; {
			n := 1 + r.Intn(min(len(rest), 9))
			out.WriteString(m.Next(rest[:n]))
			rest = rest[n:]
		}
		out.WriteString(m.Flush())
		if got := out.String(); got != "It says [masked] and api_key: [masked] there.\nDone." {
			t.Fatalf("%q", got)
		}
	}
}

// Ordinary text comes out at once, to its last word.
func TestStreamHoldsNothingElse(t *testing.T) {
	for _, text := range []string{"against the new text.", "I look at", "a\n", "the key is", "x = 1;", "- item", "done --", "5 % off"} {
		var m Stream
		if got := m.Next(text); got != text && text != "done --" {
			t.Errorf("%q came out as %q", text, got)
		}
		if got := m.Flush(); text == "done --" && got != "--" {
			t.Errorf("%q was lost: %q", text, got)
		}
	}
}
