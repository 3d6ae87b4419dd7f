package rank

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Period is a time that a query names, or one near it.
type Period struct {
	From, To int64   // epoch milliseconds, To not included
	Share    float64 // that a record of this time gains
}

func newPeriod(from, to time.Time, share float64) Period {
	return Period{from.UnixMilli(), to.UnixMilli(), share}
}

// Proposes says whether the records of the time are looked for: a time that is only
// near one which is named is not.
func (p Period) Proposes() bool { return p.Share >= saidAfter }

// dayPeriods are a day and what is near it.
func dayPeriods(year int, month time.Month, day int, zone *time.Location) []Period {
	start := time.Date(year, month, day, 0, 0, 0, 0, zone)
	if start.Month() != month {
		return nil // 31 June
	}
	next := start.AddDate(0, 0, 1)
	return append([]Period{newPeriod(start, next, saidThen), newPeriod(next, next.AddDate(0, 0, tellingDays), saidAfter)},
		monthPeriod(year, month, zone, saidNear))
}

// monthPeriods are a month and what is near it.
func monthPeriods(year int, month time.Month, zone *time.Location) []Period {
	p := monthPeriod(year, month, zone, saidThen)
	next := time.Date(year, month+1, 1, 0, 0, 0, 0, zone)
	return []Period{p, newPeriod(next, next.AddDate(0, 0, overhang), saidNear)}
}

func monthPeriod(year int, month time.Month, zone *time.Location, share float64) Period {
	start := time.Date(year, month, 1, 0, 0, 0, 0, zone)
	return newPeriod(start, start.AddDate(0, 1, 0), share)
}

// Periods are the times that a date may mean, and those near them: without a year
// those of any from first to last.
func (d Date) Periods(first, last int, zone *time.Location) (list []Period) {
	years := []int{d.year}
	if d.year == 0 {
		years = nil
		for y := first; y <= last && len(years) < 100; y++ {
			years = append(years, y)
		}
	}
	for _, year := range years {
		switch {
		case d.day != 0:
			list = append(list, dayPeriods(year, d.month, d.day, zone)...)
		case d.month != 0:
			list = append(list, monthPeriods(year, d.month, zone)...)
		default:
			start := time.Date(year, time.January, 1, 0, 0, 0, 0, zone)
			list = append(list, newPeriod(start, start.AddDate(1, 0, 0), saidNear))
		}
	}
	return list
}

// RelativePeriods are the times that a query names by how long ago they were.
// Without a now there are none.
func RelativePeriods(text string, now time.Time) (list []Period) {
	if now.IsZero() {
		return nil
	}
	year, month, day := now.Date()
	today := time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	first := time.Date(year, month, 1, 0, 0, 0, 0, now.Location())
	text = " " + strings.Join(strings.Fields(strings.ToLower(text)), " ")
	for phrase, p := range map[string]Period{
		" today":      newPeriod(today, today.AddDate(0, 0, 1), saidThen),
		" yesterday":  newPeriod(today.AddDate(0, 0, -1), today, saidThen),
		" this week":  newPeriod(monday, monday.AddDate(0, 0, 7), saidThen),
		" last week":  newPeriod(monday.AddDate(0, 0, -7), monday, saidThen),
		" this month": newPeriod(first, first.AddDate(0, 1, 0), saidThen),
		" last month": newPeriod(first.AddDate(0, -1, 0), first, saidThen),
	} {
		if strings.Contains(text, phrase) {
			list = append(list, p)
		}
	}
	return list
}

// favourDated adds to the relevance of records of the times that are named.
func (r *ranking) favourDated(list []*Candidate) {
	for _, x := range list {
		x.Relevance += r.timeShare(x)
	}
}

// timeShare is what a record gains because it is of a time that is named.
func (r *ranking) timeShare(x *Candidate) (share float64) {
	for _, p := range r.Periods {
		if p.From <= x.CreatedAt && x.CreatedAt < p.To {
			share = max(share, p.Share)
		}
	}
	return share
}

// Date is a date as far as a text names it; 0 stands for the rest.
type Date struct {
	year  int
	month time.Month
	day   int
}

// NamedDates finds the dates in a question that count, and returns the words that
// belong to none of them: 2026-03-01, 2026-03, 3 March 2026, March 3rd, March 2026, in March, in
// 2026. A word that is often no month (may, march, and short forms) counts as
// one only beside a number, or with a capital after "in" and the like.
func NamedDates(text string, counts func(Date) bool) (dates []Date, others string) {
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
		if counts(d) {
			dates = append(dates, d)
		} else {
			rest = append(rest, words[i:i+n]...)
		}
		i += n
	}
	return dates, strings.Join(rest, " ")
}

// dateAt reads the date that words begin with, and returns how many words it
// has; 0 if they do not begin with one.
func dateAt(words []string) (d Date, n int) {
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
		return Date{}, 0
	}
	if d.day == 0 {
		d.day = number(dayNumber)
	}
	d.year = number(yearNumber)
	return d, n
}

// plausible says whether n words at a place are the date that they may be: "in
// May", "on 3 may" and "3 May" are, "step 3 may fail" and "they may" are not.
func (d Date) plausible(words []string, at, n int) bool {
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
func isoDate(word string) (Date, bool) {
	for _, layout := range []string{time.DateOnly, "2006-01"} {
		if t, err := time.Parse(layout, word); err == nil {
			d := Date{t.Year(), t.Month(), 0}
			if layout == time.DateOnly {
				d.day = t.Day()
			}
			return d, true
		}
	}
	return Date{}, false
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

// isSurelyMonth says whether the name of a month means nothing else.
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
