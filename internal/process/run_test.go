package process

import (
	"strings"
	"testing"
)

func TestMiddleCut(t *testing.T) {
	m := NewMiddleCut(4, 4)
	for _, s := range []string{"ab", "cdef", "g"} {
		_, _ = m.Write([]byte(s))
	}
	if text, cut := m.Text(); text != "abcdefg" || cut != 0 {
		t.Errorf("%q %d", text, cut)
	}
	_, _ = m.Write([]byte(strings.Repeat("x", 1000) + "yz"))
	if text, cut := m.Text(); !strings.HasPrefix(text, "abcd\n[") || !strings.HasSuffix(text, "]\nxxyz") || cut != 1001 {
		t.Errorf("%q %d", text, cut)
	}
}
