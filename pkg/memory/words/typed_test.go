package words

import (
	"slices"
	"strings"
	"testing"
)

func TestIsTyped(t *testing.T) {
	for word, want := range map[string]bool{
		"table": true, "zebra": true, "Azure": true, "getMarkdwonTheme": true, "packges/tui_a-b.ts": true, strings.Repeat("a", 40): true,
		"": false, "tabl": false, strings.Repeat("a", 41): false, "v1.20.5": false, "abc12def": false, "/etc/hosts": false, "größer": false, "tab{le": false, "tab`le": false, "tab@le": false,
	} {
		if got := IsTyped(word); got != want {
			t.Errorf("%q: %v", word, got)
		}
	}
}

// Each slip behind the first letter is looked at, also at the end; marks between
// letters stay where they are.
func TestNearWords(t *testing.T) {
	for typed, meant := range map[string]string{
		"thmee": "theme", "themex": "theme", "thxme": "theme", "theme.": "themes.", "thee": "theme", "them": "theme", "themx": "theme", "a/bc": "a/cb", "a.bx": "a.b", "thhme": "theme", "sixes": "sizes", "sies": "sizes",
	} {
		if !slices.Contains(Near(typed), meant) {
			t.Errorf("%q is not near %q", meant, typed)
		}
	}
	for typed, other := range map[string]string{"xheme": "theme", "a/bc": "ab/c", "ab/c": "a/bc", "ab-c": "abxc", "ab.c": "abc", "theme": "theme", "abcd": "acdb", "them": "themes"} {
		if slices.Contains(Near(typed), other) {
			t.Errorf("%q is near %q", other, typed)
		}
	}
}
