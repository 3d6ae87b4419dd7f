package memory

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/memory/database"
)

// What an agent stores must be its own words. Otherwise a passage that a web
// page or a mail got into one session would come back from memory a second time
// as what the agent itself has found, without the lines that show where it is
// from (docs/dev/decisions.md D29).

// The bounds of what may be in words that stand in memory already.
const (
	// shingleWords is how many words in a row count as taken over.
	shingleWords = 4
	// repeatedShare is the share of a text's words that may be taken over, and
	// repeatedRun how many in a row: a quotation in a frame of own words.
	repeatedShare = 0.5
	repeatedRun   = 20
)

// RepeatError is returned for words that repeat what memory has, or what the
// agent was told.
type RepeatError struct {
	Share  float64 // of the words, that are taken over
	Run    int     // words in a row
	Record Record  // that has the most of them; without an id if the agent was told them
}

// Error implements error.
func (e *RepeatError) Error() string {
	from := "what was returned to you"
	if e.Record.ID != "" {
		from = "record " + e.Record.ID[:16]
		if e.Record.Archive != "" {
			from += fmt.Sprintf(" (archive %s, lines %d to %d)", e.Record.Archive, e.Record.FirstLine, e.Record.LastLine)
		}
	}
	return fmt.Sprintf("it repeats %s: %.0f%% of the words, %d in a row; memory has them with the lines they came from", from, 100*e.Share, e.Run)
}

// checkRepeats refuses a text most of which stands in records that the agent
// could recall, or in what it was told.
func (s storedWords) checkRepeats(ctx context.Context, w OwnWords) error {
	words := wordsOf(w.Text)
	n := min(shingleWords, len(words))
	near, err := s.nearWords(ctx, w, words)
	if err != nil {
		return err
	}
	all, best, most := map[string]bool{}, Record{}, 0
	for _, r := range near {
		own := addShingles(map[string]bool{}, wordsOf(r.Text), n)
		for shingle := range own {
			all[shingle] = true
		}
		if share, _ := takenOver(words, own, n); share > most {
			most, best = share, r
		}
	}
	for _, text := range w.Returned {
		addShingles(all, wordsOf(text), n)
	}
	taken, run := takenOver(words, all, n)
	if share := float64(taken) / float64(max(len(words), 1)); share > repeatedShare || run >= repeatedRun {
		if most*2 < taken {
			best = Record{}
		}
		return &RepeatError{Share: share, Run: run, Record: best}
	}
	return nil
}

// How the records are found that may have words of a text: those that have most
// of a few words in a row, for each few.
const (
	nearWindow  = 30
	nearRecords = 30
)

// nearWords are the records that a text may be taken from. What agents stored is
// not among them: to correct what one has stored is what one must be able to do.
func (s storedWords) nearWords(ctx context.Context, w OwnWords, words []string) (list []Record, err error) {
	q := Query{Runtime: w.Runtime, Agent: agentset.Set(w.Agent)}
	if w.Everybody {
		q = Query{}
	}
	condition, args := q.filter()
	rows := map[int64]bool{}
	err = s.asOfNow(ctx, func(view *connection) error {
		x := &embeddedIndex{store: view}
		for from := 0; from < len(words); from += nearWindow {
			match := matchAny(strings.Join(words[from:min(from+nearWindow, len(words))], " "))
			if match.IsEmpty() {
				continue
			}
			found, err := x.matching(ctx, match, nearRecords, "r.branch<>? AND "+condition, append([]any{BranchStored}, args...))
			if err != nil {
				return err
			}
			for _, row := range found {
				rows[row] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return database.All(ctx, database.For(s.db, "read records"), func(r *Record) []any { return append(r.fields(), new(any)) },
		"SELECT "+recordColumns+" FROM records r JOIN texts t ON t.record=r.rowid WHERE r.rowid IN "+listed(rows))
}

// wordsOf are the words of a text as they are compared: in lower case, without
// punctuation and accents. Where a script has no spaces each character is one.
func wordsOf(text string) (words []string) {
	var word []rune
	end := func() {
		if len(word) > 0 {
			words, word = append(words, string(word)), word[:0]
		}
	}
	for _, r := range text {
		if r >= 0xFF01 && r <= 0xFF5E { // a wide form of ASCII
			r -= 0xFEE0
		}
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
			end()
			words = append(words, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			word = append(word, unicode.ToLower(r))
		case unicode.In(r, unicode.Mn, unicode.Cf):
		default:
			end()
		}
	}
	end()
	return words
}

// addShingles adds every n words in a row.
func addShingles(to map[string]bool, words []string, n int) map[string]bool {
	for i := 0; n > 0 && i+n <= len(words); i++ {
		to[strings.Join(words[i:i+n], " ")] = true
	}
	return to
}

// takenOver counts the words that stand in shingles of others, and the most of
// them in a row.
func takenOver(words []string, others map[string]bool, n int) (taken, run int) {
	covered, start := 0, 0 // up to where words are counted, and where their run begins
	for i := 0; n > 0 && i+n <= len(words); i++ {
		if !others[strings.Join(words[i:i+n], " ")] {
			continue
		}
		if i > covered {
			start = i
		}
		taken += i + n - max(i, covered)
		covered = i + n
		run = max(run, covered-start)
	}
	return taken, run
}
