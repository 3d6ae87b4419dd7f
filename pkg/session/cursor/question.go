package cursor

import (
	"bytes"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/speaker"
)

// question is a text in a person's name, taken apart.
type question struct {
	at     int64  // when it was asked, in epoch milliseconds; 0 if it does not say
	typed  []byte // what the person typed
	around []byte // what Cursor has put around it
}

// framed takes a text in a person's name apart. What was typed stands in user_query
// elements; a text without one is all typed, but for its time.
func framed(text []byte) (q question) {
	text, q.at = untimed(text)
	var typed, around [][]byte
	for rest := text; ; {
		before, query, after, whole := speaker.Named("cursor", "query").Cut(rest)
		if !whole {
			around = append(around, bytes.TrimSpace(rest))
			break
		}
		typed, around = append(typed, bytes.TrimSpace(query)), append(around, bytes.TrimSpace(before))
		rest = after
	}
	if len(typed) == 0 {
		q.typed = text
		return q
	}
	q.typed, q.around = joined(typed), joined(around)
	return q
}

// joined joins the texts that are not empty with empty lines.
func joined(texts [][]byte) []byte {
	var all []byte
	for _, text := range texts {
		if len(text) > 0 && len(all) > 0 {
			all = append(all, "\n\n"...)
		}
		all = append(all, text...)
	}
	return all
}

// untimed takes the element with the time of a question out of a text, if it stands
// before what was typed.
func untimed(text []byte) (rest []byte, at int64) {
	before, stamp, after, whole := speaker.Named("cursor", "time").Cut(text)
	if !whole || bytes.Contains(before, []byte(speaker.Named("cursor", "query").Begins)) {
		return text, 0
	}
	when, ok := stampOf(string(stamp))
	if !ok {
		return text, 0
	}
	return bytes.TrimSpace(append(bytes.Clone(before), bytes.TrimSpace(after)...)), when
}

// stampOf reads "Monday, Jun 29, 2026, 1:39 PM (UTC-7)". A time without a zone tells
// nothing.
func stampOf(stamp string) (ms int64, ok bool) {
	stamp, zone, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(stamp), ")"), " (UTC")
	at, err := time.Parse("Monday, Jan 2, 2006, 3:04 PM", stamp)
	if !ok || err != nil {
		return 0, false
	}
	east, ok := offsetOf(zone)
	return at.Add(-east).UnixMilli(), ok
}

// offsetOf reads what follows UTC: nothing, "-7" or "+5:30".
func offsetOf(zone string) (time.Duration, bool) {
	if zone == "" {
		return 0, true
	}
	hours, minutes, _ := strings.Cut(zone[1:], ":")
	if minutes == "" {
		minutes = "0"
	}
	east, err := time.ParseDuration(hours + "h" + minutes + "m")
	switch {
	case err != nil || east < 0 || east > 15*time.Hour:
		return 0, false
	case zone[0] == '-':
		return -east, true
	}
	return east, zone[0] == '+'
}
