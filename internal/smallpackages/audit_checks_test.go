package smallpackages_test

import (
	"testing"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/pkg/report"
)

// What a check has found is settled by a later one that has looked at as much, not
// by one that has read another part of the copies.
func TestUnsettledChecks(t *testing.T) {
	rotten := report.Check{All: true, Remote: true, Copies: 3, Problems: 1}
	for name, c := range map[string]struct {
		after   report.Check
		settled bool
	}{
		"nothing after":         {report.Check{}, false},
		"another part":          {report.Check{All: true, ReadData: true, Remote: true, Copies: 3}, false},
		"no copy read":          {report.Check{All: true, ReadData: true, Remote: true}, false},
		"the storage was away":  {report.Check{All: true, ReadData: true}, false},
		"all copies of a few":   {report.Check{ReadData: true, Remote: true, Copies: 1, Whole: true}, false},
		"all copies":            {report.Check{All: true, ReadData: true, Remote: true, Copies: 9, Whole: true}, true},
		"all copies, not local": {report.Check{All: true, Remote: true, Copies: 9, Whole: true}, true},
	} {
		if _, found := audit.Unsettled([]report.Check{rotten, c.after}); found == c.settled {
			t.Errorf("%s: unsettled is %v", name, found)
		}
	}
}
