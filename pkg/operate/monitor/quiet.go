package monitor

import (
	"fmt"
	"strings"
	"time"
)

// QuietHours are the hours in which alerts are held back, by the clock on the
// wall of a time zone.
type QuietHours struct {
	from, until int // minutes since midnight
	zone        *time.Location
}

// ParseQuietHours reads "22:00-07:00 Europe/Berlin". The zone is an IANA name,
// UTC, or Local for that of the machine; it must be there, because a container
// and its operator seldom live in the same.
func ParseQuietHours(text string) (*QuietHours, error) {
	hours, zone, found := strings.Cut(strings.TrimSpace(text), " ")
	if !found {
		return nil, fmt.Errorf("quiet hours %q: the time zone is missing", text)
	}
	location, err := time.LoadLocation(strings.TrimSpace(zone))
	if err != nil {
		return nil, fmt.Errorf("quiet hours %q: %w", text, err)
	}
	first, last, found := strings.Cut(hours, "-")
	if !found {
		return nil, fmt.Errorf("quiet hours %q: two times are needed", text)
	}
	q := &QuietHours{zone: location}
	for _, side := range []struct {
		text string
		at   *int
	}{{first, &q.from}, {last, &q.until}} {
		at, err := time.Parse("15:04", side.text)
		if err != nil {
			return nil, fmt.Errorf("quiet hours %q: %q is not a time of day", text, side.text)
		}
		*side.at = at.Hour()*60 + at.Minute()
	}
	if q.from == q.until {
		return nil, fmt.Errorf("quiet hours %q: they begin and end at the same time", text)
	}
	return q, nil
}

// Hold reports whether an instant is in the quiet hours. Nil holds nothing. In
// the night in which clocks go back the hour that comes twice is quiet twice; an
// hour that is left out cannot be.
func (q *QuietHours) Hold(at time.Time) bool {
	if q == nil {
		return false
	}
	wall := at.In(q.zone)
	minute := wall.Hour()*60 + wall.Minute()
	if q.from < q.until {
		return minute >= q.from && minute < q.until
	}
	return minute >= q.from || minute < q.until // over midnight
}
