package cmd

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

// checkConfig is the error for the first key that cannot be used: one that
// nobody knows, or one whose value is of another kind. It names the file and the
// line, or the variable.
func (a *app) checkConfig(v *viper.Viper) error {
	if err := a.checkProfileNames(); err != nil {
		return err
	}
	known := slices.Sorted(maps.Keys(defaults()))
	for _, key := range slices.Sorted(slices.Values(v.AllKeys())) {
		if !slices.Contains(known, key) && !isProfileKey(key, v.Get(key)) {
			return a.unknownKey(key, append(known, profileKeysLike(key)...))
		}
	}
	for _, key := range slices.Concat(known, profileKeysOf(v)) {
		if err := checkTargetList(key, v.Get(key)); err != nil {
			return blamedOn(a.originOf(key), err)
		}
		if err := a.checkScheduleList(key, v.Get(key)); err != nil {
			return err
		}
		if !isOfKind(key, v.Get(key)) {
			return a.wrongKind(key, kindOf(key), v.Get(key))
		}
	}
	if err := v.UnmarshalExact(&a.config); err != nil {
		return a.wrongKindAmong(v, err)
	}
	a.config.addBareProfiles(v.AllKeys())
	return nil
}

// wrongKindAmong is the error for the key whose value made the whole unfit. Each is
// decoded alone for it, which takes as long as a short command does.
func (a *app) wrongKindAmong(v *viper.Viper, whole error) error {
	for _, key := range slices.Concat(slices.Sorted(maps.Keys(defaults())), profileKeysOf(v)) {
		if !fits(key, v.Get(key)) {
			return a.wrongKind(key, kindOf(key), v.Get(key))
		}
	}
	return whole
}

// keysHint is the hint for a value that a key does not take.
const keysHint = "docs/configuration.md lists the keys and what they take"

func (a *settings) wrongKind(key, kind string, value any) error {
	return usageError(keysHint, "%s: %s takes %s, not %q", a.originOf(key), key, kind, fmt.Sprint(value))
}

// blamedOn is a usage error with where it stands in front.
func blamedOn(origin string, err error) error {
	var f *failure
	if !errors.As(err, &f) {
		return fmt.Errorf("%s: %w", origin, err)
	}
	told := *f
	told.err = fmt.Errorf("%s: %w", origin, f.err)
	return &told
}

// mistyped are the variables of an environment that look like those of settings and
// are not, and which were probably meant. Others may have a use of their own.
func mistyped(environment []string) map[string]string {
	known := []string{"SESSCTL_CONFIG"}
	for key := range defaults() {
		known = append(known, envName(key))
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
		} else if near := closest(name, known); near != "" {
			meant[name] = near
		}
	}
	return meant
}

func (a *settings) unknownKey(key string, known []string) error {
	if slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, key+".") }) {
		return usageError("docs/configuration.md lists the keys", "%s: %s has keys below it and takes no value", a.originOf(key), key)
	}
	return usageError(didYouMean(key, known, "docs/configuration.md lists the keys"), "%s: unknown key %s", a.originOf(key), key)
}

// fits reports whether a value can be that of a key.
func fits(key string, value any) bool {
	if !isOfKind(key, value) {
		return false
	}
	v := viper.New()
	v.Set(key, value)
	return v.UnmarshalExact(&config{}) == nil
}

// isOfKind reports whether the value of a switch or a number is one. The decoder
// alone would take 7 for true, and 1.5 for 1.
func isOfKind(key string, value any) bool {
	text := fmt.Sprint(value)
	switch kindOf(key) {
	case aSwitch:
		if _, err := strconv.ParseBool(text); err != nil && text != "" {
			return false
		}
	case aWholeNumber:
		if _, err := strconv.ParseInt(text, 0, 64); err != nil && text != "" {
			return false
		}
	}
	return true
}

// originOf says where a value comes from: a variable, or a file and the line.
func (a *settings) originOf(key string) string {
	return a.originBelow(key, "")
}

// originBelow says where a part of the value of a key comes from: ".0.profile" is
// that of the first entry of a list.
func (a *settings) originBelow(key, part string) string {
	if a.getenv(envName(key)) != "" {
		return envName(key)
	}
	file := a.configFile()
	if line := lineOf(file, key+part); line > 0 {
		return fmt.Sprintf("%s:%d", file, line)
	}
	return file
}

// yamlOf is what a file of YAML holds, nil if it cannot be read.
func yamlOf(file string) *yaml.Node {
	text, err := os.ReadFile(file)
	var document yaml.Node
	if err != nil || yaml.Unmarshal(text, &document) != nil || len(document.Content) == 0 {
		return nil
	}
	return document.Content[0]
}

// lineOf is the line of a file of YAML in which a key stands, 0 if it is not
// known. An entry of a list has its number, from 0, for a name.
func lineOf(file, key string) int {
	node, line := yamlOf(file), 0
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
	aDuration    = "a duration such as 30s or 5m"
	aWholeNumber = "a whole number"
	aSwitch      = "true or false"
	aText        = "a text"
)

// kindOf says what a key takes.
func kindOf(key string) string {
	t := reflect.TypeFor[config]()
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
		return aDuration
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return aWholeNumber
	case t.Kind() == reflect.Bool:
		return aSwitch
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.Struct:
		return "keys below it"
	}
	return aText
}

// configured reads the configuration and checks what it says.
func (a *app) configured(c *cobra.Command) error {
	if err := a.loadConfig(c); err != nil {
		return err
	}
	return a.blameConfig(c, a.checkLimits())
}

// leadingKey is the key that a message is about.
var leadingKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z_]+(?:\.[a-z_]+)+`) })

// blameKey says in which file and line, or variable, the key stands that a
// complaint is about.
func (a *settings) blameKey(err error) error {
	if err == nil {
		return nil
	}
	key := leadingKey().FindString(err.Error())
	if _, known := defaults()[key]; !known {
		return err
	}
	return blamedOn(a.originOf(key), err)
}

// leadingFlag is the flag that a message is about.
var leadingFlag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^--([\w-]+)`) })

// blameConfig makes a complaint about a flag that nobody typed one about the key
// that has filled it, and says in which file and line, or variable, that stands.
func (a *app) blameConfig(c *cobra.Command, err error) error {
	var f *failure
	if c == nil || !errors.As(err, &f) || f.exit != exitUsage {
		return err
	}
	name := leadingFlag().FindStringSubmatch(f.Error())
	if name == nil {
		return err
	}
	flag := c.Flags().Lookup(name[1])
	if flag == nil || flag.Changed || len(flag.Annotations[configAnnotation]) != 1 {
		return err
	}
	key := flag.Annotations[configAnnotation][0]
	if a.getenv(envName(key)) == "" && !a.fileConfig().IsSet(key) {
		return err // a default
	}
	told := *f
	told.err = fmt.Errorf("%s: %s%s", a.originOf(key), key, strings.TrimPrefix(f.Error(), name[0]))
	return &told
}

// useDefaults falls back to the variables and the defaults if the configuration
// cannot be used; a variable that is wrong itself does not count.
func (a *app) useDefaults(c *cobra.Command) error {
	v := viper.New()
	for key, value := range defaults() {
		v.SetDefault(key, value)
		if own := a.getenv(envName(key)); own != "" && fits(key, envValue(key, own)) {
			v.Set(key, envValue(key, own))
		}
	}
	a.config = config{}
	if err := v.UnmarshalExact(&a.config); err != nil {
		return err
	}
	return a.fillFlags(c.Flags(), v)
}

// oneLine is an error of a library on one line.
func oneLine(err error) error {
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

// profileKeysOf are the keys of profiles that are set.
func profileKeysOf(v *viper.Viper) []string {
	return slices.DeleteFunc(slices.Sorted(slices.Values(v.AllKeys())), func(key string) bool {
		return !strings.HasPrefix(key, "profiles.") || v.Get(key) == nil
	})
}
