package rank

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNamedDates(t *testing.T) {
	for text, want := range map[string][]Date{
		"what did we decide on 3 March 2026?":             {{2026, time.March, 3}},
		"what did we decide on March 3rd, 2026?":          {{2026, time.March, 3}},
		"What did Nate do on 25 May, 2022?":               {{2022, time.May, 25}},
		"on the 3rd of March":                             {{0, time.March, 3}},
		"the release of 2026-03-01":                       {{2026, time.March, 1}},
		"deploys in 2026-03":                              {{2026, time.March, 0}},
		"in July":                                         {{0, time.July, 0}},
		"july plans":                                      {{0, time.July, 0}},
		"between Jan 5 and 7 february":                    {{0, time.January, 5}, {0, time.February, 7}},
		"what changed in May":                             {{0, time.May, 0}},
		"what changed on 3 may":                           {{0, time.May, 3}},
		"the first half of September 2022":                {{2022, time.September, 0}},
		"all that was said in 2025":                       {{2025, 0, 0}},
		"sept 2025 and dec 2024":                          {{2025, time.September, 0}, {2024, time.December, 0}},
		"they may know":                                   nil,
		"May I ask":                                       nil,
		"step 3 may fail":                                 nil,
		"the march of time":                               nil,
		"port 2026 is taken":                              nil,
		"error 2026-13-45 in 10.20.4.11":                  nil,
		"mar the surface, dec r1, or else":                nil,
		"which 31 of 40":                                  nil,
		"":                                                nil,
		"01J9ZK3V5Q8R7T6Y4W2X1N0M at /srv/app/2026/03/01": nil,
	} {
		got, _ := NamedDates(text, anyDate)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Date{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func anyDate(Date) bool { return true }

// The words of a date are taken out, and only those.
func TestWordsBesideDates(t *testing.T) {
	for text, want := range map[string]string{
		"What did Nate do on 25 May, 2022?":    "What did Nate do on",
		"the 3rd of March, why?":               "the why",
		"logs of 2026-03-01 in /var/log/a.txt": "logs of in /var/log/a.txt",
		"step 3 may fail":                      "step 3 may fail",
		"12 March":                             "",
	} {
		if _, got := NamedDates(text, anyDate); got != want {
			t.Errorf("%q leaves %q, want %q", text, got, want)
		}
	}
}

func TestRelativePeriods(t *testing.T) {
	zone := time.FixedZone("east", 9*3600)
	now := time.Date(2026, 3, 4, 1, 0, 0, 0, zone) // a Wednesday; in UTC it is Tuesday
	at := func(year int, month time.Month, day int) int64 {
		return time.Date(year, month, day, 0, 0, 0, 0, zone).UnixMilli()
	}
	for text, want := range map[string]Period{
		"what did we do Yesterday?":       {at(2026, 3, 3), at(2026, 3, 4), saidThen},
		"today's plan":                    {at(2026, 3, 4), at(2026, 3, 5), saidThen},
		"what broke last  week":           {at(2026, 2, 23), at(2026, 3, 2), saidThen},
		"this week":                       {at(2026, 3, 2), at(2026, 3, 9), saidThen},
		"the invoices of last month, all": {at(2026, 2, 1), at(2026, 3, 1), saidThen},
		"this month":                      {at(2026, 3, 1), at(2026, 4, 1), saidThen},
	} {
		if diff := cmp.Diff([]Period{want}, RelativePeriods(text, now), cmp.AllowUnexported(Period{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	if got := RelativePeriods("yesterday", time.Time{}); got != nil {
		t.Errorf("without a now: %v", got)
	}
}

func TestDayPeriods(t *testing.T) {
	if got := dayPeriods(2026, time.June, 31, time.UTC); got != nil {
		t.Errorf("31 June: %v", got)
	}
	if got := len(dayPeriods(2024, time.February, 29, time.UTC)); got != 3 {
		t.Errorf("29 February 2024 has %d periods", got)
	}
}
