package facts

import (
	"errors"
	"reflect"
	"testing"
)

func sample() *File {
	return &File{
		Size: 60, Lines: []uint32{0, 10, 30}, ASCII: true, Errors: []Span{{1, 3}}, Notes: []string{"left out"},
		Names:  []string{"a", "Foo", "bar"},
		Scopes: []Scope{{End: 60, Parent: None}, {Start: 4, End: 50, Parent: 0, Kind: FunctionScope}},
		Occs: []Occ{{Start: 1, Name: 0, Recv: None, Role: Definition}, {Start: 5, Name: 1, Recv: None, Role: TypeUse},
			{Start: 9, Name: 2, Recv: 1, Role: Call, RecvK: RecvName}, {Start: 20, Name: 2, Recv: None, RecvK: RecvSelf}, {Start: 24, Name: 2, Recv: 3, RecvK: RecvBoth}},
		Defs: []Def{{Name: 0, Kind: Class, Flags: Exported, End: 50, NameStart: 1, SigEnd: 4, Doc: Span{2, 3}, Parent: None, Owner: None, Type: 1, Init: None, Val: 2, Bases: []int32{1, 2}},
			{Name: 2, Kind: Method, Start: 9, End: 20, NameStart: 9, SigEnd: 12, Parent: 0, Scope: 1, Owner: 1, Type: None, Init: 2, Val: None}},
		Exprs: []Expr{{Op: XName, Occ: 1, A: None, B: None}, {Op: XParams, Occ: None, A: 0, B: None}, {Op: XFunc, Occ: None, A: 0, B: 1},
			{Op: XObject, Occ: None, A: 20, B: 30}},
		Imports: []Import{{Kind: ReExport, Start: 3, End: 20, Spec: "./x", SpecStart: 5, TypeOnly: true,
			Bindings: []Binding{{Kind: Named, Name: "q", As: "r", NameStart: 6, AsStart: 8, Binds: true, Exports: true}}}},
	}
}

func TestEncodeDecode(t *testing.T) {
	f := sample()
	back, err := Decode(Encode(f))
	if err != nil {
		t.Fatal(err)
	}
	if Describe(back) != Describe(f) || !reflect.DeepEqual(back.Imports, f.Imports) || !reflect.DeepEqual(back.Scopes, f.Scopes) || !reflect.DeepEqual(back.Occs, f.Occs) || !reflect.DeepEqual(back.Exprs, f.Exprs) {
		t.Errorf("changed:\n%s\n%s", Describe(back), Describe(f))
	}
}

// Every damaged byte is noticed, every cut too.
func TestDamage(t *testing.T) {
	b := Encode(sample())
	for i := range b {
		c := append([]byte(nil), b...)
		c[i] ^= 0x41
		if _, err := Decode(c); !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if _, err := Decode(b[:i]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
}

// FuzzDecode goes past the checksum: whatever the bytes are, decoding fails or
// gives a file that every method can be asked about.
func FuzzDecode(f *testing.F) {
	b := Encode(sample())
	f.Add(b[:len(b)-8])
	f.Add([]byte{Version})
	f.Add([]byte{Version, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 {
			return
		}
		x, err := decodeBody(body)
		if err != nil {
			return
		}
		Describe(x)
		x.Hashes()
		for at := uint32(0); at <= min(x.Size, 200); at++ {
			x.ScopeAt(at)
			x.OccAt(at)
			x.Enclosing(at)
			x.DefAtName(at)
			x.LineOf(at)
		}
		if _, err := Decode(Encode(x)); err != nil {
			t.Fatalf("does not survive packing again: %v", err)
		}
	})
}
