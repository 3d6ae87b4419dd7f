package facts

import (
	"slices"
	"strings"
)

// dates: a day that is to come, and what is on it.
func (s *statement) dates() bool {
	text := s.lower
	if strings.Contains(text, `"`) {
		text = quotedWords().ReplaceAllString(text, `""`)
	}
	if len(s.words) < 4 || !s.mayDate() || undated().MatchString(text) || !future().MatchString(withoutPaths(text)) || gone().MatchString(s.lower) || s.has("leave", "leaves") || hindered().MatchString(text) || s.restricts(text) {
		return false
	}
	if weekly().MatchString(text) && !s.has("by", "due", "until") && !future().MatchString(withoutPaths(weekly().ReplaceAllString(text, ""))) { // of every week
		return false
	}
	if recurring().MatchString(text) && !onDate().MatchString(text) && !s.has("by", "due", "deadline") || happenedElsewhere().MatchString(s.lower) {
		return false
	}
	return s.has("by", "due", "until", "deadline") || !s.past() && !s.datesPast()
}

// datesPast tells whether the clause with the day tells what was: "he fell on the 12th".
func (s *statement) datesPast() bool {
	for _, clause := range strings.Split(s.lower, ", ") {
		words := plainWords(clause)
		if future().MatchString(clause) && len(words) > 1 && slices.ContainsFunc(words[1:], inPast) && !slices.ContainsFunc(words, beforeParticiple) {
			return true
		}
	}
	return false
}

// restricts tells a rule for some days of the week, on which nothing is due.
func (s *statement) restricts(text string) bool {
	if noneBefore().MatchString(text) {
		return true
	}
	if onDate().MatchString(text) || s.has("by", "due", "deadline") {
		return false
	}
	return s.has("nobody", "nothing") || keptUntil().MatchString(text) || onDays().MatchString(text)
}

// mayDate tells whether a sentence has what names a day.
func (s *statement) mayDate() bool {
	return strings.ContainsAny(s.lower, digits) ||
		hasAny(s.lower, "day", "tomorrow", "christmas", "easter", "year", "end of", "first week", "mid-", "summer", "winter", "release", "freeze") ||
		hasAny(s.lower, "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
}

// withoutPaths is a text without what has slashes in it: a date there is a name.
func withoutPaths(text string) string {
	if !strings.Contains(text, "/") {
		return text
	}
	return strings.Join(slices.DeleteFunc(strings.Fields(text), func(w string) bool { return strings.Contains(w, "/") }), " ")
}

const dayWords = `(?:mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?)`

var (
	future      = expression(`\b(?:by|before|until|till|on|from|due|for|is|to|of|at|moved|not before) (?:the )?(?:next )?(?:` + dayWords + `|` + date + `|tomorrow|christmas|easter|new year|q[1-4]\b|end of [a-z0-9]+|the end of [a-z0-9]+|first week of [a-z]+|mid-[a-z]+|\d{1,2}(?:st|nd|rd|th)\b)|\b` + date + `|\b` + dayWords + ` (?:at |the )?\d|\bnext ` + dayWords + `\b|\bremind me (?:in |on |at )?(?:mid|early|late|in|on|at|the|end)\b|\bend of ` + months + `|\bbefore (?:christmas|easter|summer|winter|the (?:[a-z]+ )?release|the freeze)\b|\b(?:by|before|until|from) ` + months + `\b`)
	hindered    = expression(`\b(?:cannot|can't|free)\b.{0,30}\b(?:` + dayWords + `|` + date + `|\d{1,2}(?:st|nd|rd|th)\b)|^(?:` + dayWords + `|` + date + `).{0,20}\b(?:cannot|can't|free)\b`)
	noneBefore  = expression(`(?:^|[,;:] |\band |\bso )no (?:[a-z-]+ ){1,3}(?:before|until|till) `)
	keptUntil   = expression(`\b(?:keep|leave|(?:must|has to|have to|should|shall|can) (?:stay|remain))\b(?: .{1,60})? (?:until|till) `)
	onDays      = expression(`\b` + dayWords + ` (?:to|till|until|through|-|–|or|and) ` + dayWords + `\b|\b(?:on|so|only|and|,) ` + dayWords + `,? \d{1,2}(?:[:.]\d\d)? ?(?:to|till|until|-|–) ?\d|, ` + dayWords + ` \d{1,2}(?:[:.]\d\d)? ?(?:to|till|until|-|–) ?\d`)
	onDate      = expression(date + `|\b\d{1,2}(?:st|nd|rd|th)\b|\bend of ` + months)
	quotedWords = expression(`"[^"]*"`)
	recurring   = expression(`\b(?:every|each|per|once a|twice a|times a) (?:[a-z]+ )?(?:day|night|week|month|quarter|year|` + dayWords + `)\b`)
	weekly      = expression(`\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)s\b`)
	gone        = expression(`\b(?:we|i|they) [a-z]+ed\b|\b(?:has|have|had) (?:already |both |all )?(?:agreed|decided|answered|called|written|sent|signed|told|said|asked|met|happened|voted|approved)\b|\b(?:go on|continue|write again|see you|, (?:till|until) tomorrow$|talk to you|finish it|week (?:begins|starts)|since|last (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|week|month|year)|ago|was|were|yesterday|happened|started on|broke)\b`)
	// A day that nothing is due on: of every week, one that was supposed or declined,
	// a value, or where rows of data begin and end.
	undated = expression(`^(?:and )?if |\b(?:doesn't|does not|won't|isn't) (?:work|fit|suit)\b|^(?:we have|it's|today is|it is) (?:the )?` + date + `$|\bdefault (?:is )?\d|\b(?:because of|thanks to) (?:the )?` + dayWords + `|\b(?:till|until) (?:today|now)\b|\b(?:everything|all|anything|those|rows|data|entries|records|messages|readings) (?:before|until|from|since) `)
)
