package config

import (
	"slices"
	"strings"
)

// Layer is where a setting comes from. Later layers win.
type Layer int

const (
	UserLayer Layer = iota
	ProjectLayer
	EditorLayer
)

// looseness orders the words of a setting from strict to loose. A project may
// always make these stricter, and looser only as said in permit.
var looseness = map[string][]string{
	"permissions.write":      {"deny", "ask", "allow"},
	"permissions.command":    {"deny", "ask", "allow"},
	"permissions.network":    {"deny", "ask", "allow"},
	"permissions.mcp":        {"deny", "ask", "allow"},
	"guard.overwrite_unseen": {"refuse", "allow"},
	"guard.save":             {"never", "if-clean", "always"},
}

const untrusted = "is ignored until the workspace is trusted (stella-ls trust, or the editor's question)"

// permit says why a layer may not set a key; "" when it may.
func permit(layer Layer, trusted bool) func(path string, old, value any) string {
	return func(path string, old, value any) string {
		if path == "permissions.always" && layer != UserLayer {
			return "counts in the user's own settings.toml only"
		}
		if layer != ProjectLayer {
			return ""
		}
		if path == "record.keep_days" {
			return "counts in the user's own settings only"
		}
		if path == "guard.overwrite_unseen" && value == "allow" {
			return "counts in the user's own settings only"
		}
		if trusted {
			return ""
		}
		switch {
		case path == "hook", path == "guard.post_write", path == "ocp.provider":
			return untrusted + ": it would run something"
		case path == "model.base_url":
			return untrusted + ": the conversation and the key would go there"
		case path == "model.old_headers", strings.HasPrefix(path, "model.price."):
			return untrusted
		case strings.HasPrefix(path, "budget.") && looserLimit(old, value):
			return untrusted + ": it would raise a limit"
		}
		if order, ok := looseness[path]; ok && slices.Index(order, value.(string)) > slices.Index(order, old.(string)) {
			return untrusted + ": it would loosen " + old.(string) + " to " + value.(string)
		}
		return ""
	}
}

// looserLimit compares limits of which 0 is none.
func looserLimit(old, value any) bool {
	o, v := number(old), number(value)
	return o != 0 && (v == 0 || v > o)
}

func number(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}
