package text

import (
	"reflect"
	"testing"
)

func TestFormsOfOneWordMeet(t *testing.T) {
	for _, group := range [][]string{
		{"cache", "caches", "cached", "caching"},
		{"retry", "retries", "retried", "retrying"},
		{"migrate", "migrates", "migrated", "migrating", "migration", "migrations"},
		{"validate", "validation", "validator", "validators"},
		{"config", "configuration", "cfg"},
		{"db", "database", "databases"},
		{"auth", "authentication", "authenticate"},
		{"index", "indexes", "indexed", "indexing"},
		{"control", "controls", "controlled"},
		{"normalize", "normalization", "normalised", "normalise"},
		{"cookie", "cookies"}, {"note", "notes"}, {"owner", "owners"},
		{"naïve", "naive"},
		{"URL", "URLs", "url"},
	} {
		want := Terms(group[0])
		for _, w := range group[1:] {
			if got := Terms(w); len(got) != 1 || got[0].Text != want[0].Text {
				t.Errorf("Terms(%q) = %v, Terms(%q) = %v", w, got, group[0], want)
			}
		}
	}
}

func TestTermsOfIdentifiers(t *testing.T) {
	got := Terms("set TEST_DB in parseHTTPBody")
	want := []Term{{"testdb", true}, {"test", false}, {"databas", false}, {"parsehttpbody", true}, {"pars", false}, {"http", false}, {"bodi", false}}
	for _, w := range want {
		found := false
		for _, g := range got {
			found = found || g == w
		}
		if !found {
			t.Errorf("%v lacks %v", got, w)
		}
	}
}

func TestSetRoundTripAndJaccard(t *testing.T) {
	a, b := SetOf("the integration tests need a database socket"), SetOf("integration tests want the database")
	if got := FromBytes(a.Bytes()); !reflect.DeepEqual(got, a) {
		t.Fatalf("round trip: %v, want %v", got, a)
	}
	if j := a.Jaccard(b); j <= 0.5 || j > 0.8 {
		t.Errorf("Jaccard = %v", j)
	}
	if (Set{}).Jaccard(Set{}) != 0 {
		t.Error("two empty sets are not alike")
	}
}
