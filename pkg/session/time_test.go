package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseTime(t *testing.T) {
	const nine = 1768035600000 // 2026-01-10T09:00:00Z
	for raw, want := range map[string]struct {
		ms    int64
		naive bool
		ok    bool
	}{
		`"2026-01-10T09:00:00Z"`:           {nine, false, true},
		`"2026-01-10T09:00:00.25Z"`:        {nine + 250, false, true},
		`"2026-01-10T09:00:00.123456789Z"`: {nine + 123, false, true},
		`"2026-01-10T09:00:00,5Z"`:         {nine + 500, false, true},
		`"2026-01-10T10:00:00+01:00"`:      {nine, false, true},
		`"2026-01-10T05:30:00-0330"`:       {nine, false, true},
		`"2026-01-10T09:00:00+00"`:         {nine, false, true},
		`"2026-01-10t09:00:00z"`:           {nine, false, true},
		`"2026-01-10 09:00:00"`:            {nine, true, true},
		`"2026-01-10T09:00"`:               {nine, true, true},
		`"2026-01-10T08:59:60Z"`:           {nine, false, true},
		`1768035600`:                       {nine, false, true},
		`1768035600.5`:                     {nine + 500, false, true},
		`1768035600000`:                    {nine, false, true},
		`1768035600000.7`:                  {nine, false, true},
		`1.7680356e12`:                     {nine, false, true},
		`"1768035600000"`:                  {nine, false, true},
		`1768035600000000`:                 {nine, false, true},
		`1768035600000000000`:              {nine, false, true},
		`978307200000000`:                  {978307200000, false, true},
		`1`:                                {},
		`0`:                                {},
		`-1`:                               {},
		`253402300800000`:                  {},
		`99999999999999999999999`:          {},
		`1e999`:                            {},
		`null`:                             {},
		`true`:                             {},
		`{}`:                               {},
		``:                                 {},
		`""`:                               {},
		`"yesterday"`:                      {},
		`"2026-13-10T09:00:00Z"`:           {},
		`"2026-02-30T09:00:00Z"`:           {},
		`"2026-01-10T24:00:00Z"`:           {},
		`"2026-01-10T09:60:00Z"`:           {},
		`"2026-01-10T09:00:00."`:           {},
		`"2026-01-10T09:00:0Z"`:            {},
		`"2026-01-10T09:00:00 UTC"`:        {},
		`"2026-01-10T09:00:00+1"`:          {},
		`"2026-01-10T09:00:00+25:00"`:      {},
		`"2026-01-10"`:                     {},
		`"1926-01-10T09:00:00Z"`:           {},
		`"2\u0030026-01-10T09:00:00Z"`:     {},
	} {
		ms, naive, ok := ParseTime([]byte(raw))
		if ok != want.ok || (ok && (ms != want.ms || naive != want.naive)) {
			t.Errorf("%s is %d (naive %v, ok %v), want %d (naive %v, ok %v)", raw, ms, naive, ok, want.ms, want.naive, want.ok)
		}
	}
}

// Any moment, in any form that the time package writes, is read back.
func TestParseTimeAgainstTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(int64(earliest)*1e6, int64(latest)*1e6-1).Draw(t, "ns")
		minutes := rapid.IntRange(-14*60, 14*60).Draw(t, "zone")
		at := time.Unix(0, ns).In(time.FixedZone("", 60*minutes))
		layout := rapid.SampledFrom([]string{
			time.RFC3339Nano, "2006-01-02T15:04:05.000Z07:00", "2006-01-02 15:04:05.999999999-0700", "2006-01-02T15:04:05Z0700",
		}).Draw(t, "layout")
		want := at.UnixMilli()
		if !strings.Contains(layout, ".") && layout != time.RFC3339Nano {
			want = at.Unix() * 1000
		}
		text := fmt.Sprintf("%q", at.Format(layout))
		ms, naive, ok := ParseTime([]byte(text))
		if !ok || naive || ms != want {
			t.Fatalf("%s is %d (naive %v, ok %v), want %d", text, ms, naive, ok, want)
		}
	})
}

func TestParseTimeDoesNotAllocate(t *testing.T) {
	iso, ms := []byte(`"2026-01-10T09:00:00.123Z"`), []byte("1768035600000")
	if n := testing.AllocsPerRun(10, func() { ParseTime(iso); ParseTime(ms) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
