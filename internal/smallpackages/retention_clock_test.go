package smallpackages_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/retention"
)

func TestRetentionClock(t *testing.T) {
	c := retention.Clock{Path: filepath.Join(t.TempDir(), "clock.json")}
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	past := retention.Recorded{At: now.Add(-time.Hour), What: "the last run"}
	near := retention.Recorded{At: now.Add(30 * time.Second), What: "the last run"}
	far := retention.Recorded{At: now.AddDate(1, 0, 0), Path: "receipts/x.json", What: "the last run"}
	farther := retention.Recorded{At: far.At.Add(time.Hour), What: "the audit log"}

	check := func(what string, now time.Time, wrong bool, all ...retention.Recorded) {
		t.Helper()
		r, err := c.Check(now, all)
		if errors.Is(err, retention.ErrClock) != wrong || (r != nil) != wrong {
			t.Errorf("%s: %v, %v", what, r, err)
		}
	}
	check("nothing", now, false)
	check("the past, and clocks that differ a little", now, false, past, near)
	check("the future", now, true, past, far)

	if n, err := c.Trust(now, []retention.Recorded{past, near}); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := os.Stat(c.Path); err == nil {
		t.Error("a declaration is kept that declares nothing wrong")
	}
	if n, err := c.Trust(now, []retention.Recorded{past, far}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	check("declared wrong", now.Add(time.Hour), false, past, far)
	for recorded, want := range map[time.Time]bool{past.At: false, far.At: true, farther.At: false} {
		if wrong, err := c.Wrong(recorded); wrong != want || err != nil {
			t.Errorf("declared wrong, %s: %v, %v", recorded, wrong, err)
		}
	}
	check("later than what was declared", now, true, far, farther)
	check("the clock went behind the declaration", now.Add(-time.Hour), true, past)
	if n, err := c.Trust(now, []retention.Recorded{far, farther}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	check("declared again", now, false, far, farther)
	if n, err := c.Trust(now.Add(-48*time.Hour), nil); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	check("the declaration itself was wrong", now.Add(-48*time.Hour), false)
}
