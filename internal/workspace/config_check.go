package workspace

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"go.yaml.in/yaml/v3"
)

// KeysHint is the hint for a value that a key does not take.
const KeysHint = "docs/configuration.md lists the keys and what they take"

// WrongKind explains a value of the configuration of the wrong kind.
func WrongKind(a *Settings, key, kind string, value any) error {
	return failure.Usage(KeysHint, "%s: %s takes %s, not %q", OriginOf(a, key), key, kind, fmt.Sprint(value))
}

// BlamedOn is a usage error with where it stands in front.
func BlamedOn(origin string, err error) error {
	var f *failure.Error
	if !errors.As(err, &f) {
		return fmt.Errorf("%s: %w", origin, err)
	}
	told := *f
	told.Err = fmt.Errorf("%s: %w", origin, f.Err)
	return &told
}

// Mistyped are the variables of an environment that look like those of settings and
// are not, and which were probably meant. Others may have a use of their own.
func Mistyped(environment []string) map[string]string {
	known := []string{"SESSCTL_CONFIG", "SESSCTL_LOG"}
	for key := range Defaults() {
		known = append(known, EnvName(key))
	}
	slices.Sort(known)
	meant := map[string]string{}
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		rest, ours := strings.CutPrefix(name, "SESSCTL_")
		if !ours || value == "" || slices.Contains(known, name) {
			continue
		}
		if i := slices.IndexFunc(known, func(k string) bool { return strings.Contains(rest, "_") && strings.HasSuffix(k, "_"+rest) }); i >= 0 {
			meant[name] = known[i]
		} else if near := wording.Closest(name, known); near != "" {
			meant[name] = near
		}
	}
	return meant
}

// UnknownKey explains a key of the configuration that there is none of.
func UnknownKey(a *Settings, key string, known []string) error {
	if slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, key+".") }) {
		return failure.Usage("docs/configuration.md lists the keys", "%s: %s has keys below it and takes no value", OriginOf(a, key), key)
	}
	return failure.Usage(wording.DidYouMean(key, known, "docs/configuration.md lists the keys"), "%s: unknown key %s", OriginOf(a, key), key)
}

// IsOfKind reports whether the value of a switch or a number is one. The decoder
// alone would take 7 for true, and 1.5 for 1.
func IsOfKind(key string, value any) bool {
	text := fmt.Sprint(value)
	switch KindOf(key) {
	case aSwitch:
		if _, err := strconv.ParseBool(text); err != nil && text != "" {
			return false
		}
	case AWholeNumber:
		if _, err := strconv.ParseInt(text, 0, 64); err != nil && text != "" {
			return false
		}
	}
	return true
}

// OriginOf says where a value comes from: a variable, or a file and the line.
func OriginOf(a *Settings, key string) string {
	return OriginBelow(a, key, "")
}

// OriginBelow says where a part of the value of a key comes from: ".0.profile" is
// that of the first entry of a list.
func OriginBelow(a *Settings, key, part string) string {
	if a.Getenv(EnvName(key)) != "" {
		return EnvName(key)
	}
	file := ConfigFile(a)
	if line := lineOf(file, key+part); line > 0 {
		return fmt.Sprintf("%s:%d", file, line)
	}
	return file
}

// YamlOf is what a file of YAML holds, nil if it cannot be read.
func YamlOf(file string) *yaml.Node {
	text, err := os.ReadFile(file)
	var document yaml.Node
	if err != nil || yaml.Unmarshal(text, &document) != nil || len(document.Content) == 0 {
		return nil
	}
	return document.Content[0]
}

// SetByHand says where one of these keys is set by a person, "" if none is.
func SetByHand(a *Settings, keys ...string) string {
	text, _ := os.ReadFile(ConfigFile(a)) // it was read once already, without error
	for _, key := range keys {
		var document map[string]any
		_ = yaml.Unmarshal(text, &document)
		names := strings.Split(key, ".")
		for _, name := range names[:len(names)-1] {
			document, _ = document[name].(map[string]any)
		}
		if document[names[len(names)-1]] != nil || a.Getenv(EnvName(key)) != "" {
			return OriginOf(a, key) + ": " + key
		}
	}
	return ""
}

// lineOf is the line of a file of YAML in which a key stands, 0 if it is not
// known. An entry of a list has its number, from 0, for a name.
func lineOf(file, key string) int {
	node, line := YamlOf(file), 0
	if node == nil {
		return 0
	}
	for name := range strings.SplitSeq(key, ".") {
		if i, err := strconv.Atoi(name); err == nil && node.Kind == yaml.SequenceNode && i >= 0 && i < len(node.Content) {
			node, line = node.Content[i], node.Content[i].Line
			continue
		}
		at := -1
		for i := 0; i+1 < len(node.Content) && node.Kind == yaml.MappingNode; i += 2 {
			if strings.EqualFold(node.Content[i].Value, name) {
				at = i
			}
		}
		if at < 0 {
			return line
		}
		node, line = node.Content[at+1], node.Content[at].Line
	}
	return line
}

// What keys and flags take.
const (
	ADuration    = "a duration such as 30s or 5m"
	AWholeNumber = "a whole number"
	aSwitch      = "true or false"
	AText        = "a text"
)

// KindOf says what a key takes.
func KindOf(key string) string {
	t := reflect.TypeFor[Config]()
	for name := range strings.SplitSeq(key, ".") {
		if t.Kind() == reflect.Map { // of profiles, by their names
			t = t.Elem()
			continue
		}
		for i := range t.NumField() {
			if t.Field(i).Tag.Get("mapstructure") == name {
				t = t.Field(i).Type
				break
			}
		}
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return ADuration
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return AWholeNumber
	case t.Kind() == reflect.Bool:
		return aSwitch
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.Struct:
		return "keys below it"
	}
	return AText
}

// leadingKey is the key that a message is about.
var leadingKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z_]+(?:\.[a-z_]+)+`) })

// BlameKey says in which file and line, or variable, the key stands that a
// complaint is about.
func BlameKey(a *Settings, err error) error {
	if err == nil {
		return nil
	}
	key := leadingKey().FindString(err.Error())
	if _, known := Defaults()[key]; !known {
		return err
	}
	return BlamedOn(OriginOf(a, key), err)
}

// LeadingFlag is the flag that a message is about.
var LeadingFlag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^--([\w-]+)`) })

// OneLine is an error of a library on one line.
func OneLine(err error) error {
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}
