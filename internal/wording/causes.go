package wording

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// particular are the words of a message that say which one it is about: paths,
// numbers, ids.
var particular = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\S*[\d/\\]\S*`) })

// counted is a particular with the one or the many that it counts.
var counted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b0 ([a-z]+?)s?\b`) })

// CauseOf is what a message says of everything that it is said of: without the path
// that it is about, without other paths, ids and numbers, and of one as of many.
func CauseOf(path, message string) string {
	for _, own := range []string{path, filepath.Base(path)} {
		if len(own) > 1 {
			message = strings.ReplaceAll(message, own, "0")
		}
	}
	return counted().ReplaceAllString(particular().ReplaceAllString(message, "0"), "0 $1")
}

// Alike is the first of several findings with one cause, and how many there are.
type Alike[T any] struct {
	First T
	Count int
}

// ByCause puts findings with one cause together, in the order of the first ones. One
// without a cause, "", stands alone.
func ByCause[T any](all []T, cause func(T) string) (groups []Alike[T]) {
	at := map[string]int{}
	for _, x := range all {
		c := cause(x)
		if i, known := at[c]; known && c != "" {
			groups[i].Count++
			continue
		}
		at[c] = len(groups)
		groups = append(groups, Alike[T]{x, 1})
	}
	return groups
}

// MoreLike says behind a finding that stands for others how many these are, where
// nothing shows them all.
func MoreLike(others int) string {
	if others == 0 {
		return ""
	}
	return " (and " + Count(int64(others)) + " more like it)"
}

// agentOption is the option of a command that names one agent.
var agentOption = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(sessctl (?:archive|compact)\b[^;]*?)? --agent (?:'[^']*'|\S+)`)
})

// ForAll is an advice about one agent as it is for several.
func ForAll(advice string) string {
	return agentOption().ReplaceAllStringFunc(advice, func(option string) string {
		if command, _, found := strings.Cut(option, " --agent "); found && command != "" {
			return command + " --all"
		}
		return ""
	})
}

// More says behind a finding that stands for others how many these are.
func More(others int) string {
	if others == 0 {
		return ""
	}
	return " (and " + Count(int64(others)) + " more; --verbose shows them)"
}
