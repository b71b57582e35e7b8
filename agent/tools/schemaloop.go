package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// schemaMost bounds how many schemas are looked at for one value.
const schemaMost = 10_000

// endless says why a schema may have no end: one that refers to itself without going down
// into the value is followed for ever by the validator, until the process has no
// stack left, and one that doubles at every reference nearly so. Schemas of MCP
// servers come from anywhere.
func endless(raw json.RawMessage) error {
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		return err
	}
	e := &expansion{root: root, size: map[string]int{}, open: map[string]bool{}}
	return e.each("", root)
}

// expansion is what schemas apply to the same value, by their JSON pointers.
type expansion struct {
	root any
	size map[string]int  // how many schemas one stands for, itself included
	open map[string]bool // being measured
}

// each measures every schema of the tree. What looks like one in a default or an
// example is measured with them; that costs a check at most.
func (e *expansion) each(at string, node any) error {
	switch node := node.(type) {
	case map[string]any:
		if _, err := e.measure(at, node); err != nil {
			return err
		}
		for k, child := range node {
			if err := e.each(at+"/"+escaped(k), child); err != nil {
				return err
			}
		}
	case []any:
		for i, child := range node {
			if err := e.each(at+"/"+strconv.Itoa(i), child); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *expansion) measure(at string, schema map[string]any) (int, error) {
	if n, known := e.size[at]; known {
		return n, nil
	}
	if e.open[at] {
		return 0, fmt.Errorf("the schema at #%s refers to itself", at)
	}
	e.open[at] = true
	defer delete(e.open, at)
	total := 1
	add := func(at string, node any) error {
		child, ok := node.(map[string]any)
		if !ok {
			return nil // true, false, or no schema at all
		}
		n, err := e.measure(at, child)
		if total += n; err == nil && total > schemaMost {
			err = fmt.Errorf("the schema at #%s stands for more than %d", at, schemaMost)
		}
		return err
	}
	for _, next := range inPlace(at, schema) {
		if err := add(next.at, next.node); err != nil {
			return 0, err
		}
	}
	if err := e.follow(at, schema, add); err != nil {
		return 0, err
	}
	e.size[at] = total
	return total, nil
}

type placed struct {
	at   string
	node any
}

// inPlace are the schemas that a schema applies to its own value.
func inPlace(at string, schema map[string]any) (out []placed) {
	for _, k := range []string{"not", "if", "then", "else"} {
		out = append(out, placed{at + "/" + k, schema[k]})
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[k].([]any)
		for i, s := range list {
			out = append(out, placed{at + "/" + k + "/" + strconv.Itoa(i), s})
		}
	}
	for _, k := range []string{"dependentSchemas", "dependencies"} {
		members, _ := schema[k].(map[string]any)
		for name, s := range members {
			out = append(out, placed{at + "/" + k + "/" + escaped(name), s})
		}
	}
	return out
}

// follow adds what a reference leads to. Those that depend on names or on where
// they are met from are not followed, and nothing is claimed of such a schema.
func (e *expansion) follow(at string, schema map[string]any, add func(string, any) error) error {
	for _, k := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, is := schema[k].(string); is {
			return fmt.Errorf("the schema at #%s has %s, which is not supported", at, k)
		}
	}
	if _, is := schema["$id"].(string); is && at != "" {
		return fmt.Errorf("the schema at #%s has an $id of its own, which is not supported", at)
	}
	ref, is := schema["$ref"].(string)
	if !is {
		return nil
	}
	pointer, local := strings.CutPrefix(ref, "#")
	if plain, err := url.PathUnescape(pointer); err == nil {
		pointer = plain
	}
	if !local || pointer != "" && pointer[0] != '/' {
		return fmt.Errorf("the schema at #%s refers to %q; only references like #/$defs/NAME are supported", at, ref)
	}
	target, canonical, err := e.find(pointer)
	if err != nil {
		return fmt.Errorf("the schema at #%s refers to %q: %w", at, ref, err)
	}
	return add(canonical, target)
}

func (e *expansion) find(pointer string) (node any, canonical string, err error) {
	node = e.root
	if pointer == "" {
		return node, "", nil
	}
	for _, token := range strings.Split(pointer[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch n := node.(type) {
		case map[string]any:
			child, there := n[token]
			if !there {
				return nil, "", errors.New("there is no such schema")
			}
			node = child
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(n) {
				return nil, "", errors.New("there is no such schema")
			}
			node, token = n[i], strconv.Itoa(i)
		default:
			return nil, "", errors.New("there is no such schema")
		}
		canonical += "/" + escaped(token)
	}
	return node, canonical, nil
}

func escaped(token string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}
