package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/stella-ls/stella-ls/guard"
)

// Input members that usually name a file, for tools that declare none: in lower
// case, without _ and -, these and what ends in one of pathEnds. A member too many
// costs nothing where its text is no path that the session has seen.
var (
	commonPathKeys = []string{"source", "src", "destination", "dest", "dst", "target", "to", "from"}
	pathEnds       = []string{"path", "paths", "file", "files", "filename", "filenames", "uri", "uris"}
)

func namesPath(key string) bool {
	key = strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(key))
	return slices.Contains(commonPathKeys, key) || slices.ContainsFunc(pathEnds, func(end string) bool { return strings.HasSuffix(key, end) })
}

// namedPaths collects the strings under the given keys, at any depth, in a
// stable order. Nil keys stand for the usual ones.
func namedPaths(input json.RawMessage, keys []string) []string {
	wanted := namesPath
	if keys != nil {
		wanted = func(k string) bool { return slices.Contains(keys, k) }
	}
	var value any
	if json.Unmarshal(input, &value) != nil {
		return nil
	}
	var found []string
	seen := map[string]bool{}
	var walk func(v any, named bool, depth int)
	walk = func(v any, named bool, depth int) {
		if depth > 64 || len(found) >= 10_000 {
			return
		}
		switch v := v.(type) {
		case string:
			if named && v != "" && !seen[v] {
				seen[v] = true
				found = append(found, v)
			}
		case []any:
			for _, item := range v {
				walk(item, named, depth+1)
			}
		case map[string]any:
			names := make([]string, 0, len(v))
			for k := range v {
				names = append(names, k)
			}
			sort.Strings(names)
			for _, k := range names {
				walk(v[k], wanted(k), depth+1)
			}
		}
	}
	walk(value, false, 0)
	return found
}

// commandOf is the command line of a call that has one.
func commandOf(input json.RawMessage) string {
	var in struct {
		Command json.RawMessage `json:"command"`
	}
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	var line string
	if json.Unmarshal(in.Command, &line) == nil {
		return line
	}
	var argv []string
	if json.Unmarshal(in.Command, &argv) == nil {
		return strings.Join(argv, " ")
	}
	return ""
}

// bracketDetail is what a refusal names when an opaque call changed a file.
func bracketDetail(p *pending) string {
	if d, ok := p.entry.tool.(interface{ Detail(Call) string }); ok {
		return bounded(d.Detail(p.call), 200)
	}
	if c := commandOf(p.call.Input); c != "" {
		return bounded(p.call.Tool+": "+c, 200)
	}
	return p.call.Tool
}

// statusOf reads the status member of a result's object.
func statusOf(object any) string {
	raw, err := json.Marshal(object)
	if err != nil {
		return ""
	}
	var o struct {
		Status string `json:"status"`
	}
	_ = json.Unmarshal(raw, &o)
	return o.Status
}

// bounded cuts s to at most n bytes on a rune's border and says that it did.
func bounded(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("%s [%d bytes left out]", cutAt(s, n), len(s)-len(cutAt(s, n)))
}

// cutAt is the longest prefix of s of at most n bytes that ends between runes.
func cutAt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// joinResults is the one result of a call that touches several files.
func joinResults(own []guard.Result) guard.Result {
	out := guard.Result{Status: guard.StatusApplied, Files: own}
	var paths []string
	for _, r := range own {
		paths = append(paths, r.Path)
		if r.OK() {
			continue
		}
		if out.Status == guard.StatusApplied || r.Status == guard.StatusStale {
			out.Status, out.Message, out.Next = r.Status, r.Message, r.Next
			out.Path, out.Expected, out.Actual, out.Mine = r.Path, r.Expected, r.Actual, r.Mine
			out.ChangedBy, out.Diff, out.DiffCut = r.ChangedBy, r.Diff, r.DiffCut
		}
	}
	if out.Status == guard.StatusApplied {
		out.Message = "changed " + strings.Join(paths, ", ")
		return out
	}
	if !strings.Contains(out.Message, "nothing was written") {
		out.Message += "\nNo file of this call was changed."
	}
	return out
}
