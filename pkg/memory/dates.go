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

// namedDates finds the dates in a question, and returns the words that are of
// none: 2026-03-01, 2026-03, 3 March 2026, March 3rd, March 2026, in March, in
// 2026. A word that is as often no month (may, march, and what is short) is one
// only beside a number, or after "in" or its like with a capital.
func namedDates(text string) (dates []date, others string) {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;:!?()[]\"'", r) })
	for i := range words {
		words[i] = strings.Trim(words[i], ".")
	}
	var rest []string
	for i := 0; i < len(words); {
		d, n := dateAt(words[i:])
		if n == 0 && i > 0 && isBeforeTime(words[i-1]) {
			if d.year = yearNumber(words[i]); d.year != 0 {
				n = 1
			}
		}
		if n == 0 || !d.plausible(words, i, n) {
			rest = append(rest, words[i])
			i++
			continue
		}
		dates, i = append(dates, d), i+n
	}
	return dates, strings.Join(rest, " ")
}

// dateAt reads the date that words begin with, and returns how many words it
// has; 0 if they do not begin with one.
func dateAt(words []string) (d date, n int) {
	if d, ok := isoDate(words[0]); ok {
		return d, 1
	}
	number := func(read func(string) int) int {
		if n < len(words) {
			if x := read(words[n]); x != 0 {
				n++
				return x
			}
		}
		return 0
	}
	d.day = number(dayNumber)
	if d.day != 0 && n < len(words) && strings.EqualFold(words[n], "of") {
		n++ // the 3rd of March
	}
	if d.month = time.Month(number(monthNumber)); d.month == 0 {
		return date{}, 0
	}
	if d.day == 0 {
		d.day = number(dayNumber)
	}
	d.year = number(yearNumber)
	return d, n
}

// plausible says whether n words at a place are the date that they may be: "in
// May", "on 3 may" and "3 May" are, "step 3 may fail" and "they may" are not.
func (d date) plausible(words []string, at, n int) bool {
	if d.year != 0 {
		return true
	}
	capital, sure := false, false
	for _, word := range words[at : at+n] {
		if monthNumber(word) != 0 {
			capital, sure = unicode.IsUpper(rune(word[0])), isSurelyMonth(word)
		}
	}
	after := at > 0 && isBeforeTime(words[at-1]) || at > 1 && isBeforeTime(words[at-2]) && strings.EqualFold(words[at-1], "the")
	if d.day != 0 {
		return sure || capital || after
	}
	return sure || capital && after
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

// monthNumber reads the name of a month, whole or its first three letters, else
// 0.
func monthNumber(word string) int {
	word = strings.ToLower(word)
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		if word == name || word == name[:3] || word == "sept" && m == time.September {
			return int(m)
		}
	}
	return 0
}

// isSurelyMonth says whether the name of a month is nothing else.
func isSurelyMonth(word string) bool {
	switch strings.ToLower(word) {
	case "january", "february", "april", "june", "july", "august", "september", "october", "november", "december":
		return true
	}
	return false
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
