package remote

import (
	"strconv"
	"strings"
)

// IsOlder compares versions of numbers and dots.
func IsOlder(version, than string) bool {
	x, y := strings.Split(version, "."), strings.Split(than, ".")
	for i := range y {
		have, want := 0, 0
		if i < len(x) {
			have, _ = strconv.Atoi(strings.TrimRightFunc(x[i], func(r rune) bool { return r < '0' || r > '9' }))
		}
		want, _ = strconv.Atoi(y[i])
		if have != want {
			return have < want
		}
	}
	return false
}
