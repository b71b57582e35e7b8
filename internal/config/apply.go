package config

import (
	"encoding"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// applier puts a decoded layer over the settings, key by key. A value that
// cannot be used is reported and leaves what was there before.
type applier struct {
	report func(path, message string)
	// permit says whether this layer may set path to value over old; a non-empty
	// answer is why it may not.
	permit func(path string, old, value any) string
	// lenient skips empty strings: editors send them for what is not set.
	lenient bool
}

// table applies the members of tree to the struct v.
func (a *applier) table(path string, v reflect.Value, tree map[string]any) {
	for _, key := range sortedKeys(tree) {
		value, at := tree[key], join(path, key)
		field, tag, ok := fieldOf(v, key)
		switch {
		case value == nil:
		case !ok:
			a.report(at, unknownKey(v.Type(), key))
		default:
			a.member(at, field, tag, value)
		}
	}
}

func (a *applier) member(path string, field reflect.Value, tag reflect.StructTag, value any) {
	if field.Kind() == reflect.Struct && !isText(field) {
		tree, ok := value.(map[string]any)
		if !ok {
			a.report(path, "must be a table")
			return
		}
		a.table(path, field, tree)
		return
	}
	if a.lenient && value == "" {
		return
	}
	if field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct {
		a.tables(path, field, value)
		return
	}
	fresh := reflect.New(field.Type()).Elem()
	if field.Kind() == reflect.Map {
		for _, k := range field.MapKeys() { // one language does not unset another
			if fresh.IsNil() {
				fresh.Set(reflect.MakeMap(field.Type()))
			}
			fresh.SetMapIndex(k, field.MapIndex(k))
		}
	}
	if why := set(fresh, tag, value); why != "" {
		a.report(path, why)
		return
	}
	if why := a.permit(path, field.Interface(), fresh.Interface()); why != "" {
		a.report(path, why)
		return
	}
	field.Set(fresh)
}

// tables appends an array of tables: no layer takes another's hooks away.
func (a *applier) tables(path string, field reflect.Value, value any) {
	list, ok := asList(value)
	if !ok {
		a.report(path, "must be an array of tables ([["+path+"]])")
		return
	}
	for i, item := range list {
		at := path + "[" + strconv.Itoa(i) + "]"
		tree, ok := item.(map[string]any)
		if !ok {
			a.report(at, "must be a table")
			continue
		}
		elem := reflect.New(field.Type().Elem()).Elem()
		bad := false
		inner := applier{lenient: a.lenient, permit: func(string, any, any) string { return "" },
			report: func(p, m string) { bad = bad || !strings.HasPrefix(m, "is not known"); a.report(p, m) }}
		inner.table(at, elem, tree)
		if missing := missingNeed(elem); missing != "" {
			a.report(at, "needs "+missing)
			bad = true
		}
		if why := a.permit(path, nil, elem.Interface()); why != "" {
			a.report(at, why)
			bad = true
		}
		if !bad {
			field.Set(reflect.Append(field, elem))
		}
	}
}

func missingNeed(elem reflect.Value) string {
	for i := range elem.NumField() {
		f := elem.Type().Field(i)
		if f.Tag.Get("need") != "" && elem.Field(i).IsZero() {
			return f.Tag.Get("toml")
		}
	}
	return ""
}

func fieldOf(v reflect.Value, key string) (reflect.Value, reflect.StructTag, bool) {
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.Tag.Get("toml") == key {
			return v.Field(i), f.Tag, true
		}
	}
	return reflect.Value{}, "", false
}

// unknownKey names what is meant, as far as one can guess.
func unknownKey(t reflect.Type, key string) string {
	var known []string
	for i := range t.NumField() {
		known = append(known, t.Field(i).Tag.Get("toml"))
	}
	for _, k := range known {
		if strings.EqualFold(k, strings.ReplaceAll(key, "-", "_")) || distance(k, key) <= 2 {
			return fmt.Sprintf("is not known; did you mean %s?", k)
		}
	}
	return "is not known; known here: " + strings.Join(known, ", ")
}

// distance is the number of single-byte edits between two short words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0]++
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost++
			}
			last = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func isText(v reflect.Value) bool {
	_, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	return ok
}

// set converts value into v and checks it; a non-empty answer is what is wrong.
func set(v reflect.Value, tag reflect.StructTag, value any) string {
	if v.CanAddr() && isText(v) {
		s, ok := value.(string)
		if !ok || v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s)) != nil {
			return fmt.Sprintf("must be a time span such as \"60s\", not %v", value)
		}
		return ""
	}
	switch v.Kind() {
	case reflect.String:
		return setString(v, tag, value)
	case reflect.Bool:
		b, ok := value.(bool)
		v.SetBool(b)
		return unless(ok, "must be true or false")
	case reflect.Int, reflect.Int64, reflect.Float64:
		return setNumber(v, tag, value)
	case reflect.Slice:
		list, ok := asList(value)
		if !ok {
			return "must be an array of strings"
		}
		for _, item := range list {
			s, ok := item.(string)
			if !ok {
				return "must be an array of strings"
			}
			v.Set(reflect.Append(v, reflect.ValueOf(s)))
		}
		return ""
	case reflect.Map:
		return setMap(v, tag, value)
	}
	return "cannot be set"
}

func setMap(v reflect.Value, tag reflect.StructTag, value any) string {
	tree, ok := value.(map[string]any)
	if !ok {
		return "must be a table"
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for _, k := range sortedKeys(tree) {
		s := reflect.New(v.Type().Elem()).Elem()
		if why := setString(s, tag, tree[k]); why != "" {
			return k + ": " + why
		}
		v.SetMapIndex(reflect.ValueOf(k), s)
	}
	return ""
}

func setString(v reflect.Value, tag reflect.StructTag, value any) string {
	s, ok := value.(string)
	if !ok {
		return fmt.Sprintf("must be a string, not %v", value)
	}
	if words := tag.Get("values"); words != "" {
		if list := strings.Split(words, "|"); !slices.Contains(list, s) {
			return fmt.Sprintf("is %q; use %s", s, strings.Join(list, ", "))
		}
	}
	if tag.Get("format") == "url" && s != "" {
		if u, err := url.Parse(s); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Sprintf("is %q; write the whole address, such as http://localhost:11434/v1", s)
		}
	}
	v.SetString(s)
	return ""
}

func setNumber(v reflect.Value, tag reflect.StructTag, value any) string {
	var n float64
	switch x := value.(type) {
	case int64:
		n = float64(x)
	case float64:
		n = x
	default:
		return fmt.Sprintf("must be a number, not %v", value)
	}
	if least, err := strconv.ParseFloat(tag.Get("min"), 64); err == nil && !(n >= least) {
		return fmt.Sprintf("must be at least %v", least)
	}
	if v.Kind() == reflect.Float64 {
		v.SetFloat(n)
		return unless(!math.IsInf(n, 0), "must be a finite number")
	}
	if n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		return "must be a whole number"
	}
	v.SetInt(int64(n))
	return ""
}

func unless(ok bool, why string) string {
	if ok {
		return ""
	}
	return why
}

func asList(value any) ([]any, bool) {
	switch value := value.(type) {
	case []any:
		return value, true
	case []map[string]any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = value[i]
		}
		return out, true
	}
	return nil, false
}

func sortedKeys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
