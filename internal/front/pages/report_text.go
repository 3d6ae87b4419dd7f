package pages

import (
	"strings"

	"github.com/sessctl/sessctl/internal/wording"
)

// DayOf is the day of a shown time.
func DayOf(at string) string {
	day, _, _ := strings.Cut(wording.ShownTime(at), " ")
	return day
}
