package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// calendar is a calendar expression of systemd, as far as launchd and cron know
// what it says. An empty list is every value.
type calendar struct {
	minutes, hours, days, months, weekdays []int // weekdays: 0 is Sunday
}

// words are the expressions that are one word.
var words = map[string]string{
	"minutely": "*-*-* *:*:00", "hourly": "*-*-* *:00:00", "daily": "*-*-* 00:00:00", "midnight": "*-*-* 00:00:00", "weekly": "Mon *-*-* 00:00:00",
	"monthly": "*-*-01 00:00:00", "quarterly": "*-01,04,07,10-01 00:00:00", "semiannually": "*-01,07-01 00:00:00",
	"yearly": "*-01-01 00:00:00", "annually": "*-01-01 00:00:00",
}

// ErrCalendar is wrapped by the errors about expressions that only systemd knows.
var ErrCalendar = errors.New("only systemd can do that")

// Translatable says what launchd and cron can be told, for hints.
const Translatable = "daily, hourly, weekly, *-*-* 03:00, Mon..Fri 22:30, *-*-01 04:00, *:0/15"

func parseCalendar(text string) (c calendar, err error) {
	whole, known := words[strings.ToLower(strings.TrimSpace(text))]
	if !known {
		whole = text
	}
	fields := strings.Fields(whole)
	if len(fields) > 0 && !strings.ContainsAny(fields[0], ":-*") && !isDigit(fields[0]) {
		if c.weekdays, err = parseWeekdays(fields[0]); err != nil {
			return c, err
		}
		fields = fields[1:]
	}
	if len(fields) > 0 && strings.Contains(fields[0], "-") {
		if err := c.parseDate(fields[0]); err != nil {
			return c, err
		}
		fields = fields[1:]
	}
	switch {
	case len(fields) == 0 && (len(c.weekdays) > 0 || strings.Contains(whole, "-")):
		c.hours, c.minutes = []int{0}, []int{0}
	case len(fields) == 1:
		if err := c.parseTime(fields[0]); err != nil {
			return c, err
		}
	default:
		return c, fmt.Errorf("%q: %w", text, ErrCalendar)
	}
	if len(c.days) > 0 && len(c.weekdays) > 0 {
		return c, fmt.Errorf("%q: a day of the month that is also a certain weekday: %w", text, ErrCalendar)
	}
	return c, nil
}

func isDigit(text string) bool { return text[0] >= '0' && text[0] <= '9' }

func parseWeekdays(text string) (days []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "..")
		from, ok := weekday(first)
		to := from
		if isRange && ok {
			to, ok = weekday(last)
		}
		if !ok {
			return nil, fmt.Errorf("%q is not a weekday: %w", part, ErrCalendar)
		}
		for d := from; ; d = (d + 1) % 7 {
			days = append(days, d)
			if d == to {
				break
			}
		}
	}
	slices.Sort(days)
	return slices.Compact(days), nil
}

func weekday(text string) (int, bool) {
	for d := range 7 {
		name := strings.ToLower(time.Weekday(d).String())
		if t := strings.ToLower(text); t == name || t == name[:3] {
			return d, true
		}
	}
	return 0, false
}

func (c *calendar) parseDate(text string) (err error) {
	parts := strings.Split(text, "-")
	if len(parts) == 3 && parts[0] != "*" || len(parts) < 2 || len(parts) > 3 {
		return fmt.Errorf("the date %q: %w", text, ErrCalendar)
	}
	parts = parts[len(parts)-2:]
	if c.months, err = parseList(parts[0], 1, 12); err == nil {
		c.days, err = parseList(parts[1], 1, 31)
	}
	return err
}

func (c *calendar) parseTime(text string) (err error) {
	parts := strings.Split(text, ":")
	switch {
	case len(parts) == 3 && parts[2] != "0" && parts[2] != "00":
		return fmt.Errorf("the seconds of %q: %w", text, ErrCalendar)
	case len(parts) < 2 || len(parts) > 3:
		return fmt.Errorf("%q is not a time: %w", text, ErrCalendar)
	}
	if c.hours, err = parseList(parts[0], 0, 23); err == nil {
		c.minutes, err = parseList(parts[1], 0, 59)
	}
	return err
}

// parseList reads one field: *, 3, 1,15, 8..18, 0/15, */10, 8..18/2.
func parseList(text string, least, most int) (values []int, err error) {
	if text == "*" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		from, to, step, err := parseRange(part, least, most)
		if err != nil {
			return nil, err
		}
		for v := from; v <= to; v += step {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	if len(values) == most-least+1 {
		return nil, nil
	}
	return values, nil
}

func parseRange(part string, least, most int) (from, to, step int, err error) {
	bounds, by, repeated := strings.Cut(part, "/")
	first, last, isRange := strings.Cut(bounds, "..")
	if first == "*" {
		first = strconv.Itoa(least)
	}
	from, errFrom := strconv.Atoi(first)
	to, step = from, 1
	var errTo, errStep error
	switch {
	case isRange:
		to, errTo = strconv.Atoi(last)
	case repeated:
		to = most
	}
	if repeated {
		step, errStep = strconv.Atoi(by)
	}
	if errors.Join(errFrom, errTo, errStep) != nil || step < 1 || from < least || to > most || from > to {
		return 0, 0, 0, fmt.Errorf("%q is not a number or a range from %d to %d: %w", part, least, most, ErrCalendar)
	}
	return from, to, step, nil
}
