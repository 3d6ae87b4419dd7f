package wording

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/dustin/go-humanize"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/printable"
)

// Days says a time in days.
func Days(d time.Duration) string { return Plural(int(d/(24*time.Hour)), "day") }

// Plural is a count and its noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(int64(n)) + " " + noun + "s"
}

// Were is the verb for so many.
func Were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// OneLineOf reads a file that holds one line. The error does not name it.
func OneLineOf(path string) (string, error) {
	data, err := durable.ReadSmall(path, 64<<10)
	line := strings.TrimSpace(string(data))
	if err == nil && (line == "" || strings.ContainsAny(line, "\r\n")) {
		err = errors.New("it does not hold one line")
	}
	return line, err
}

// Bytes says a number of bytes for a person.
func Bytes(n int64) string {
	return humanize.IBytes(uint64(max(n, 0)))
}

// Count writes a number with commas.
func Count(n int64) string { return humanize.Comma(n) }

// Age says how long ago something was, in one unit.
func Age(d time.Duration) string {
	switch {
	case d < 0:
		return "in the future"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// StampText is a time of a document, "" for none.
func StampText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// Stamp is a time as records have it.
func Stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Pathless is what the system said, without the path that it is about.
func Pathless(err error) error {
	if of := (*os.PathError)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}

// maxTypos is how many letters may be wrong in a word that is taken for another.
const maxTypos = 2

// Closest returns the known word that a mistyped one was probably meant to be,
// or "". A short word has room for one wrong letter only.
func Closest(typed string, known []string) string {
	best, typos := "", maxTypos+1
	if len([]rune(typed)) < 5 {
		typos = 2
	}
	for _, word := range known {
		if n := distance(strings.ToLower(typed), strings.ToLower(word)); n < typos {
			best, typos = word, n
		}
	}
	return best
}

// distance counts the letters that are wrong, missing, too many or changed
// places with their neighbour between two words.
func distance(x, y string) int {
	a, b := []rune(x), []rune(y)
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			changed := last[j]
			if a[i] != b[j] {
				changed++
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, changed)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// DidYouMean is a hint for a mistyped word, in front of another hint.
func DidYouMean(typed string, known []string, hint string) string {
	if meant := Closest(typed, known); meant != "" {
		return "did you mean " + meant + "? " + hint
	}
	return hint
}

// ShownTime is a time of RFC 3339 as people read it, in their own zone.
func ShownTime(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return at.Local().Format("2006-01-02 15:04")
}

// DayOf is the day of a time of RFC 3339, and MinuteOf its minute, both in UTC as it
// stands there. What another host answers may have none: then it is a question mark.
func DayOf(text string) string { return partOf(text, "2006-01-02") }

// MinuteOf is the minute of a time of RFC 3339, see [DayOf].
func MinuteOf(text string) string { return partOf(text, "2006-01-02 15:04") }

func partOf(text, layout string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "?"
	}
	return at.Format(layout)
}

// Visible makes text that is not ours safe to print on one line of a terminal.
func Visible(s string) string { return printable.Line(s) }

// VisibleText is visible for text of several lines: line feeds and tabs stay.
func VisibleText(s string) string { return printable.Text(s) }

// FirstLine shortens text to one visible line that fills at most width columns
// of a terminal.
func FirstLine(s string, width int) string {
	return ansi.Truncate(Visible(strings.Join(strings.Fields(s), " ")), width, "…")
}

// VisibleJSON is visible for the strings in a document of JSON.
func VisibleJSON(document []byte) []byte { return printable.JSON(document) }
