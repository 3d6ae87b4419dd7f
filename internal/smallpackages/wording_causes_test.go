package smallpackages

import (
	"testing"

	"github.com/sessctl/sessctl/internal/wording"
)

// TestOneCause: one and many are one cause, other words are another.
func TestOneCause(t *testing.T) {
	for _, c := range []struct {
		x, y string
		same bool
	}{
		{"every user can read 1 log in it", "every user can read 12 logs in it", true},
		{"it has 1 entry", "it has 2 lines", false},
		{"claude deletes 2 logs", "claude archives 2 logs", false},
		{"w-a/1 is gone", "w-b/2 is gone", true},
	} {
		if same := wording.CauseOf("", c.x) == wording.CauseOf("", c.y); same != c.same {
			t.Errorf("%q and %q: one cause is %v", c.x, c.y, same)
		}
	}
}

// TestForAll: what is advised of one agent, as it is for several.
func TestForAll(t *testing.T) {
	for advice, want := range map[string]string{
		"sessctl archive --runtime claude --agent w-proj1":                            "sessctl archive --runtime claude --all",
		"sessctl compact --runtime pi --agent 'a b'":                                  "sessctl compact --runtime pi --all",
		"only pi makes them smaller; sessctl compact --agent w archives it":           "only pi makes them smaller; sessctl compact --all archives it",
		"see what fills its logs: sessctl sizes --runtime claude --agent w --by-type": "see what fills its logs: sessctl sizes --runtime claude --by-type",
		"sessctl archive --all":                        "sessctl archive --all",
		"sessctl archive ID; sessctl recall --agent w": "sessctl archive ID; sessctl recall",
		"if it was removed on purpose nothing needs to be done: this ends a week after it was seen": "if it was removed on purpose nothing needs to be done: this ends a week after it was seen",
	} {
		if got := wording.ForAll(advice); got != want {
			t.Errorf("%q: %q, not %q", advice, got, want)
		}
	}
}
