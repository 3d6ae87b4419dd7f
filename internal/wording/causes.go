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

// CauseOf is what a message says of everything that it is said of: without the path
// that it is about, and without other paths, ids and numbers.
func CauseOf(path, message string) string {
	for _, own := range []string{path, filepath.Base(path)} {
		if len(own) > 1 {
			message = strings.ReplaceAll(message, own, "0")
		}
	}
	return particular().ReplaceAllString(message, "0")
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

// More says behind a finding that stands for others how many these are.
func More(others int) string {
	if others == 0 {
		return ""
	}
	return " (and " + Count(int64(others)) + " more; --verbose shows them)"
}
