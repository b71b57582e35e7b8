package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Markdown is docs/settings.md. A test fails when that file is stale; run
// `go test ./internal/config -run TestDoc -update` to write it again.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Settings

<!-- Made from internal/config/config.go: go test ./internal/config -run TestDoc -update -->

Settings come from three places; later wins:

1. the user's file, ` + "`$STELLA_HOME/settings.toml`" + ` (default: ` + "`~/.local/state/stella-ls`" + ` on Linux, ` + "`~/Library/Application Support/stella-ls`" + ` on macOS, ` + "`%LOCALAPPDATA%\\stella-ls`" + ` on Windows)
2. the project's file, ` + "`.stella/settings.toml`" + `
3. the editor's ` + "`stella`" + ` section, with the same names. Editors send only what a person set: a default sent from there would hide what the files say

Tables in arrays (` + "`[[hook]]`" + `, ` + "`[[guard.post_write]]`" + `, ` + "`[[ocp.provider]]`" + `) of all layers add up. Unknown keys and unusable values are reported with file and line and change nothing.

Until a workspace is trusted (` + "`stella-ls trust`" + `), its file may not loosen permissions or ` + "`guard.save`" + `, raise a limit, set ` + "`model.base_url`, `model.old_headers` or `model.price`" + `, or bring hooks, formatters or
context providers. It may make anything stricter. Trusted or not, ` + "`permissions.always`" + ` and ` + "`guard.overwrite_unseen = \"allow\"`" + ` do not count there.

A file that cannot be read may have forbidden something: until it is mended nothing is allowed without asking.

Keys are never settings: ` + "`ANTHROPIC_API_KEY` and `OPENAI_API_KEY`" + ` come from the environment or the keyring ([models](models.md)).
`)
	v := reflect.ValueOf(Default())
	for i := range v.NumField() {
		section(&b, v.Type().Field(i).Tag.Get("toml"), v.Type().Field(i), v.Field(i))
	}
	return b.String()
}

// section writes one table and then the tables in it.
func section(b *strings.Builder, path string, f reflect.StructField, v reflect.Value) {
	t, title := f.Type, "["+path+"]"
	if t.Kind() == reflect.Slice {
		t, title = t.Elem(), "[["+path+"]]"
		v = reflect.Zero(t)
	}
	fmt.Fprintf(b, "\n## `%s`\n\n%s\n", title, f.Tag.Get("doc"))
	var rows []string
	var inner []int
	for i := range t.NumField() {
		sub := t.Field(i)
		if isTable(sub.Type) {
			inner = append(inner, i)
			continue
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |", sub.Tag.Get("toml"), typeWords(sub), defaultWords(sub, v.Field(i)), sub.Tag.Get("doc")))
	}
	if len(rows) > 0 {
		b.WriteString("\n| key | value | default | |\n|---|---|---|---|\n" + strings.Join(rows, "\n") + "\n")
	}
	for _, i := range inner {
		section(b, path+"."+t.Field(i).Tag.Get("toml"), t.Field(i), v.Field(i))
	}
}

func isTable(t reflect.Type) bool {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[Duration]()
}

func typeWords(f reflect.StructField) string {
	if words := f.Tag.Get("values"); words != "" {
		list := strings.Split(words, "|")
		for i := range list {
			list[i] = "`\"" + list[i] + "\"`"
		}
		if f.Type.Kind() == reflect.Map {
			return "table of " + strings.Join(list, ", ")
		}
		return strings.Join(list, ", ")
	}
	switch f.Type.Kind() {
	case reflect.Bool:
		return "true, false"
	case reflect.Int, reflect.Int64:
		return "whole number" + least(f)
	case reflect.Float64:
		return "number" + least(f)
	case reflect.Slice:
		return "array of strings"
	case reflect.Struct:
		return "time span"
	}
	return "string"
}

func least(f reflect.StructField) string {
	if m := f.Tag.Get("min"); m != "" {
		return ", at least " + m
	}
	return ""
}

func defaultWords(f reflect.StructField, v reflect.Value) string {
	if f.Tag.Get("need") != "" {
		return "needed"
	}
	if v.IsZero() && v.Kind() != reflect.Bool && v.Kind() != reflect.Float64 && v.Kind() != reflect.Int64 && v.Kind() != reflect.Int {
		return ""
	}
	out, err := json.Marshal(v.Interface())
	if err != nil {
		return ""
	}
	return "`" + string(out) + "`"
}
