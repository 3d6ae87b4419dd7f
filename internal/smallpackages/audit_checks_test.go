package smallpackages_test

import (
	"testing"

	"github.com/sessctl/sessctl/internal/audit"
)

// What a check has found is settled by a later one that has looked at as much, not
// by one that has read another part of the copies.
func TestUnsettledChecks(t *testing.T) {
	rotten := audit.Check{All: true, Remote: true, Copies: 3, Problems: 1}
	for name, c := range map[string]struct {
		after   audit.Check
		settled bool
	}{
		"nothing after":         {audit.Check{}, false},
		"another part":          {audit.Check{All: true, ReadData: true, Remote: true, Copies: 3}, false},
		"no copy read":          {audit.Check{All: true, ReadData: true, Remote: true}, false},
		"the storage was away":  {audit.Check{All: true, ReadData: true}, false},
		"all copies of a few":   {audit.Check{ReadData: true, Remote: true, Copies: 1, Whole: true}, false},
		"all copies":            {audit.Check{All: true, ReadData: true, Remote: true, Copies: 9, Whole: true}, true},
		"all copies, not local": {audit.Check{All: true, Remote: true, Copies: 9, Whole: true}, true},
	} {
		if _, found := audit.Unsettled([]audit.Check{rotten, c.after}); found == c.settled {
			t.Errorf("%s: unsettled is %v", name, found)
		}
	}
}
