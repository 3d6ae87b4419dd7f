package pages

import (
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/wording"
)

// DayOf is the day of a shown time.
func DayOf(at string) string {
	day, _, _ := strings.Cut(wording.ShownTime(at), " ")
	return day
}

// GoesOn is when a runtime deletes something, by day: it does so when it starts, so a time
// that is past means its next start.
func GoesOn(at string, now time.Time) string {
	if t, err := time.Parse(time.RFC3339, at); err == nil && !t.After(now) {
		return "at its next start"
	}
	return DayOf(at)
}
