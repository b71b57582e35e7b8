package rust

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stella-ls/stella-ls/graph/facts"
)

func show(ims []facts.Import) (out []string) {
	for _, m := range ims {
		b := m.Bindings[0]
		out = append(out, fmt.Sprintf("%s > %s as %s kind %d pub %v", m.Spec, b.Name, b.As, b.Kind, m.Kind == facts.ReExport))
	}
	return out
}

func TestUseTree(t *testing.T) {
	for text, want := range map[string][]string{
		"a::b::C":   {"a::b > C as C kind 0 pub false"},
		"a":         {"a >  as a kind 1 pub false"},
		"a::B as D": {"a > B as D kind 0 pub false"},
		"a::*":      {"a >  as  kind 2 pub false"},

		"crate::{self as me, x::{Y, z}}": {"crate >  as me kind 1 pub false", "crate::x > Y as Y kind 0 pub false", "crate::x > z as z kind 0 pub false"},
		"a::{self, b::{C as D, e::*}, f}": {"a >  as a kind 1 pub false", "a::b > C as D kind 0 pub false", "a::b::e >  as  kind 2 pub false",
			"a > f as f kind 0 pub false"},
		"a::Tr as _":                    {"a > Tr as  kind 0 pub false"},
		"::std::io":                     {"std > io as io kind 0 pub false"},
		"a::{ /* x, y */ b, // c\n d }": {"a > b as b kind 0 pub false", "a > d as d kind 0 pub false"},
	} {
		got := show(useTree([]byte(text), 0, uint32(len(text))))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", text, got, want)
		}
	}
	if got := useTree([]byte("pub use a::b;"), 8, 12); got[0].Kind != facts.ReExport || got[0].Start != 0 || got[0].End != 13 {
		t.Errorf("pub use: %+v", got[0])
	}
}

func FuzzUseTree(f *testing.F) {
	f.Add("a::{b, c::*}")
	f.Add("{{{{")
	f.Fuzz(func(t *testing.T, s string) {
		for _, m := range useTree([]byte(s), 0, uint32(len(s))) {
			if m.End > uint32(len(s)) || m.SpecStart > uint32(len(s)) {
				t.Fatalf("%+v", m)
			}
		}
	})
}
