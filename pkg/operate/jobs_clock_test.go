package operate_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"
	_ "time/tzdata" // a bare machine has no zones

	"github.com/adhocore/gronx"
	"github.com/sessctl/sessctl/pkg/operate/jobs"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// begun runs a clock over the minutes of a span, with whatever the hands of the
// clock do in it, and returns the slots that it begins. Every look is a clock
// that is opened anew: the server may have been started again in between.
func begun(t *testing.T, path string, z *time.Location, expr string, looks []time.Time) []jobs.Slot {
	t.Helper()
	s := jobs.Schedule{Name: "nightly", Expr: expr}
	var slots []jobs.Slot
	for _, now := range looks {
		c, err := jobs.OpenClock(nil, path, z)
		if err != nil {
			t.Fatal(err)
		}
		slot, err := c.Due(s, now)
		if err != nil {
			t.Fatal(err)
		}
		if slot != "" {
			slots = append(slots, slot)
			if err := c.Begun(s, slot); err != nil {
				t.Fatal(err)
			}
		}
	}
	return slots
}

func minutes(from time.Time, n, step int) []time.Time {
	var all []time.Time
	for i := 0; i < n; i += step {
		all = append(all, from.Add(time.Duration(i)*time.Minute))
	}
	return all
}

func TestJobsClock(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	at := func(year int, month time.Month, day, hour, minute int) time.Time {
		return time.Date(year, month, day, hour, minute, 20, 0, berlin)
	}
	evening := at(2026, 3, 1, 20, 0)
	for _, c := range []struct {
		name, expr string
		looks      []time.Time
		want       []jobs.Slot
	}{
		{"once a night", "30 3 * * *", minutes(evening, 48*60, 7), []jobs.Slot{"2026-03-02T03:30", "2026-03-03T03:30"}},
		{"seen first a minute after its slot", "30 3 * * *", minutes(at(2026, 3, 1, 3, 31), 60, 7), nil},
		{"four nights missed, one run", "30 3 * * *", append(minutes(evening, 60, 7), minutes(at(2026, 3, 6, 9, 0), 60, 7)...), []jobs.Slot{"2026-03-06T03:30"}},
		{"clock set back an hour", "30 3 * * *",
			append(minutes(at(2026, 3, 2, 3, 0), 60, 7), minutes(at(2026, 3, 2, 3, 0), 120, 7)...), []jobs.Slot{"2026-03-02T03:30"}},
		{"end of summer time", "30 2 * * *", minutes(at(2026, 10, 25, 0, 0), 6*60, 7), []jobs.Slot{"2026-10-25T02:30"}},
		{"begin of summer time, slot that is not there", "30 2 * * *", minutes(at(2026, 3, 29, 0, 0), 6*60, 7), []jobs.Slot{"2026-03-29T02:30"}},
		{"every quarter, clock set back an hour", "*/15 * * * *",
			append(minutes(at(2026, 3, 2, 3, 1), 50, 15), minutes(at(2026, 3, 2, 2, 50), 75, 15)...),
			[]jobs.Slot{"2026-03-02T03:15", "2026-03-02T03:30", "2026-03-02T03:45"}},
		{"clock that was a year ahead", "30 3 * * *",
			append(minutes(at(2027, 3, 2, 3, 0), 60, 7), minutes(evening, 10*60, 7)...), []jobs.Slot{"2027-03-02T03:30", "2026-03-02T03:30"}},
	} {
		got := begun(t, filepath.Join(t.TempDir(), "schedules.json"), berlin, c.expr, c.looks)
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	}
}

// A clock that cannot be read is no empty one: slots would be begun twice.
func TestJobsClockDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "schedules.json")
	if err := os.WriteFile(path, []byte(`{"last":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := jobs.OpenClock(nil, path, time.UTC); err == nil {
		t.Error("a damaged file is opened")
	}
}

func TestJobsScheduleCheck(t *testing.T) {
	for expr, good := range map[string]bool{
		"30 3 * * *": true, "*/5 * * * *": true, "0 4 1 * *": true, "0 3 * * MON-FRI": true, "@daily": true, "0 0 29 2 *": true,
		"": false, "30 3 * *": false, "61 3 * * *": false, "* * * * * *": false, "@always": false, "@reboot": false, "0 0 30 2 *": false, "x 3 * * *": false,
	} {
		if err := (jobs.Schedule{Name: "nightly", Expr: expr}).Check(); (err == nil) != good {
			t.Errorf("%q: %v, want good %v", expr, err, good)
		}
	}
}

// The last slot that has come is the one that a look at every minute finds.
func TestJobsClockAgainstEveryMinute(t *testing.T) {
	for _, expr := range []string{"30 3 * * *", "*/15 * * * *", "0 4 1 * *", "5 0 * * 1", "0 12 * * 1-5", "17 */6 * * *", "0 0 15 * 5", "59 23 31 * *", "@weekly"} {
		due := gronx.New()
		from := time.Date(2026, 1, 28, 22, 37, 0, 0, time.UTC)
		for k := range 3 {
			now := from.Add(time.Duration(k) * 1613 * time.Minute)
			want := now
			for !isDue(t, due, expr, want) {
				want = want.Add(-time.Minute)
			}
			if got, err := gronx.PrevTickBefore(expr, now, true); err != nil || !got.Equal(want) {
				t.Errorf("%s before %s: %s, want %s (%v)", expr, now, got, want, err)
			}
		}
	}
}

func isDue(t *testing.T, g *gronx.Gronx, expr string, at time.Time) bool {
	t.Helper()
	due, err := g.IsDue(expr, at)
	if err != nil {
		t.Fatal(err)
	}
	return due
}
