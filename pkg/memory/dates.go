package memory

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// date is a date as far as a text names it: 0 is what it does not say.
type date struct {
	year  int
	month time.Month
	day   int
}

// namedDates finds the dates in a question: 2026-03-01, 2026-03, 3 March 2026,
// March 3rd, March 2026, in March, in 2026. A word that is as often no month
// (may, march, and what is short) is one only beside a number, or after "in" or
// its like with a capital.
func namedDates(text string) (dates []date) {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' })
	taken := -1 // the last word of a date
	for i, word := range words {
		if i <= taken {
			continue
		}
		d, ok := isoDate(word)
		if !ok {
			d, taken = monthDate(words, i)
		}
		if d == (date{}) && i > 0 && isBeforeTime(words[i-1]) {
			d.year = yearNumber(word)
		}
		if d != (date{}) {
			dates = append(dates, d)
		}
	}
	return dates
}

// isoDate reads 2026-03-01 and 2026-03.
func isoDate(word string) (date, bool) {
	for _, layout := range []string{time.DateOnly, "2006-01"} {
		if t, err := time.Parse(layout, word); err == nil {
			d := date{t.Year(), t.Month(), 0}
			if layout == time.DateOnly {
				d.day = t.Day()
			}
			return d, true
		}
	}
	return date{}, false
}

// monthDate reads the date whose month is the word at a place, and says which
// word is its last. Without a month there it is nothing.
func monthDate(words []string, at int) (d date, last int) {
	month, sure := monthOf(words[at])
	if month == 0 {
		return date{}, at - 1
	}
	number := func(i int, read func(string) int) int {
		if i < 0 || i >= len(words) {
			return 0
		}
		return read(words[i])
	}
	d.month, last = month, at
	if d.day = number(at-1, dayNumber); d.day == 0 {
		if d.day = number(at+1, dayNumber); d.day != 0 {
			last++
		}
	}
	if d.day == 0 && at > 1 && strings.EqualFold(words[at-1], "of") { // the 3rd of March
		d.day = dayNumber(words[at-2])
	}
	if d.year = number(last+1, yearNumber); d.year != 0 {
		last++
	}
	if !sure && d.year == 0 && !plausible(words, at, d.day != 0) {
		return date{}, at - 1
	}
	return d, last
}

// plausible says whether a word that may be no month is one: "in May", "on 3
// may" and "3 May" are, "step 3 may fail" and "they may" are not.
func plausible(words []string, at int, hasDay bool) bool {
	capital := unicode.IsUpper(rune(words[at][0]))
	if hasDay && capital {
		return true
	}
	for i := max(0, at-2); i < at; i++ {
		if isBeforeTime(words[i]) && (hasDay || capital) {
			return true
		}
	}
	return false
}

// monthOf returns the month that a word names, and whether it can be nothing
// else.
func monthOf(word string) (month time.Month, sure bool) {
	word = strings.ToLower(word)
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		if word == name {
			return m, m != time.March && m != time.May
		}
		if word == name[:3] || word == "sept" && m == time.September {
			return m, false
		}
	}
	return 0, false
}

// dayNumber reads 3, 3rd and 03 as a day of a month, else 0.
func dayNumber(word string) int {
	word = strings.ToLower(word)
	for _, end := range []string{"st", "nd", "rd", "th"} {
		word = strings.TrimSuffix(word, end)
	}
	if n, err := strconv.Atoi(word); err == nil && len(word) <= 2 && n >= 1 && n <= 31 {
		return n
	}
	return 0
}

// yearNumber reads a year of our time, else 0.
func yearNumber(word string) int {
	if n, err := strconv.Atoi(word); err == nil && len(word) == 4 && n >= 1970 && n < 2200 {
		return n
	}
	return 0
}

// isBeforeTime says whether a time may follow a word.
func isBeforeTime(word string) bool {
	switch strings.ToLower(word) {
	case "in", "on", "by", "from", "during", "since", "until", "before", "after", "of", "early", "late", "mid", "last", "this":
		return true
	}
	return false
}
