package session

import (
	"bytes"
	"context"
	"strconv"
	"time"
)

// Times outside this range (epoch milliseconds) are taken for garbage: no
// session is older than the year 2000.
const (
	earliest = 946_684_800_000   // 2000-01-01
	latest   = 7_258_118_400_000 // 2200-01-01
)

// ParseTime reads the time of a record as a JSON value: a number, a number in a
// string, or an ISO 8601 string (docs/dev/formats.md, "Damaged input"). naive is
// true for a string without a zone, which is read as UTC. ok is false for
// anything else, and for a time out of all reason.
func ParseTime(raw []byte) (ms int64, naive, ok bool) {
	if len(raw) == 0 {
		return 0, false, false
	}
	if raw[0] == '"' {
		raw = bytes.Trim(raw, `"`)
		if ms, naive, ok = parseISO(raw); ok {
			return ms, naive, plausible(ms)
		}
	}
	ms, ok = parseEpoch(raw)
	return ms, false, ok && plausible(ms)
}

func plausible(ms int64) bool { return ms >= earliest && ms < latest }

// parseEpoch reads seconds, milliseconds, microseconds or nanoseconds: the
// magnitude says which.
func parseEpoch(raw []byte) (ms int64, ok bool) {
	v, ok := parseInteger(raw)
	if !ok {
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || f < 0 || f > 1e19 {
			return 0, false
		}
		if f < 1e11 {
			return int64(f * 1000), true
		}
		v = int64(min(f, 9e18))
	}
	switch {
	case v < 1e11:
		return v * 1000, true
	case v < 1e14:
		return v, true
	case v < 1e17:
		return v / 1000, true
	}
	return v / 1_000_000, true
}

// parseInteger reads up to 18 digits and nothing else.
func parseInteger(raw []byte) (int64, bool) {
	if len(raw) == 0 || len(raw) > 18 {
		return 0, false
	}
	return digits(raw)
}

func digits(b []byte) (int64, bool) {
	var v int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = 10*v + int64(c-'0')
	}
	return v, true
}

// parseISO reads YYYY-MM-DDTHH:MM[:SS[.fraction]][zone], with a space for the
// T if need be.
func parseISO(b []byte) (ms int64, naive, ok bool) {
	if len(b) < 16 || b[4] != '-' || b[7] != '-' || (b[10] != 'T' && b[10] != 't' && b[10] != ' ') || b[13] != ':' {
		return 0, false, false
	}
	year, ok1 := digits(b[0:4])
	month, ok2 := digits(b[5:7])
	day, ok3 := digits(b[8:10])
	hour, ok4 := digits(b[11:13])
	minute, ok5 := digits(b[14:16])
	if !(ok1 && ok2 && ok3 && ok4 && ok5) || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 {
		return 0, false, false
	}
	seconds, rest, ok := parseSeconds(b[16:])
	if !ok {
		return 0, false, false
	}
	offset, naive, ok := parseZone(rest)
	date := time.Date(int(year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC)
	ok = ok && date.Day() == int(day)
	return date.UnixMilli() + (hour*60+minute-offset)*60_000 + seconds, naive, ok
}

// parseSeconds reads an optional :SS and fraction, in milliseconds.
func parseSeconds(b []byte) (ms int64, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != ':' {
		return 0, b, true
	}
	if len(b) < 3 {
		return 0, nil, false
	}
	seconds, ok := digits(b[1:3])
	if !ok || seconds > 60 {
		return 0, nil, false
	}
	ms, b = seconds*1000, b[3:]
	if len(b) == 0 || (b[0] != '.' && b[0] != ',') {
		return ms, b, true
	}
	end := 1
	for scale := int64(100); end < len(b) && b[end] >= '0' && b[end] <= '9'; end++ {
		ms += scale * int64(b[end]-'0')
		scale /= 10
	}
	return ms, b[end:], end > 1
}

// parseZone reads Z, ±HH:MM, ±HHMM, ±HH or nothing, in minutes east of UTC.
func parseZone(b []byte) (offset int64, naive, ok bool) {
	if len(b) == 0 {
		return 0, true, true
	}
	if len(b) == 1 && (b[0] == 'Z' || b[0] == 'z') {
		return 0, false, true
	}
	if b[0] != '+' && b[0] != '-' || len(b) < 3 {
		return 0, false, false
	}
	hours, ok1 := digits(b[1:3])
	minutes, ok2 := digits(bytes.TrimPrefix(b[3:], []byte(":")))
	if !ok1 || !ok2 || hours > 23 || minutes > 59 {
		return 0, false, false
	}
	offset = 60*hours + minutes
	if b[0] == '-' {
		offset = -offset
	}
	return offset, false, true
}

// Wait waits, or returns the error of a context that ends earlier.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
