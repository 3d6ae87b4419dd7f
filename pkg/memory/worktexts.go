package memory

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"unicode"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
)

// The sorts of texts that actions have.
const (
	sortPath    = "path"
	sortCommand = "command"
	sortQuery   = "query"
	sortURL     = "url"
	sortError   = "error"
)

// sortOf is the sort of the subject of a kind of actions.
func sortOf(kind string) string {
	switch kind {
	case "command":
		return sortCommand
	case "search":
		return sortQuery
	case "fetch":
		return sortURL
	}
	return sortPath
}

// workText is a text of an action.
type workText struct{ sort, body string }

func (t workText) sum() int64 { return sumOfBytes(appendTexts(nil, t.sort, t.body)) }

// textOf returns the row of a text, which is made if there is none.
func (w actionWriter) textOf(t workText) (row int64, err error) {
	if row, ok := w.work.texts[t]; ok {
		return row, nil
	}
	if row, err = w.findText(t); err != nil {
		return 0, err
	}
	if w.work.texts == nil {
		w.work.texts = map[workText]int64{}
	}
	if len(w.work.texts) >= mostKnownTexts {
		clear(w.work.texts)
	}
	w.work.texts[t] = row
	return row, nil
}

// findText looks a text up, and makes a row if there is none.
func (w actionWriter) findText(t workText) (row int64, err error) {
	sum := t.sum()
	if !w.work.sums.lacks(sum) {
		if row, err = w.lookForText(t, sum); err != nil || row != 0 {
			return row, err
		}
		if err = w.noteSums(); err != nil {
			return 0, err
		}
	}
	return w.addText(t, sum)
}

// lookForText returns the row of a text, 0 if there is none.
func (w actionWriter) lookForText(t workText, sum int64) (row int64, err error) {
	s, err := w.statement("SELECT text, body FROM work_texts WHERE sum=? AND sort=?")
	if err != nil {
		return 0, err
	}
	rows, err := s.QueryContext(w.ctx, sum, t.sort)
	if err != nil {
		return 0, err
	}
	for rows.Next() {
		var body keptText
		var at int64
		if err = rows.Scan(&at, &body); err != nil {
			break
		}
		if string(body) == t.body { // else it is damaged
			row = at
		}
	}
	if err == nil {
		err = rows.Err()
	}
	_ = rows.Close() // it was read to its end
	return row, err
}

// addText makes the row of a text, and writes its words.
func (w actionWriter) addText(t workText, sum int64) (row int64, err error) {
	if w.texts == nil {
		if w.texts, err = newTextWriter(); err != nil {
			return 0, err
		}
	}
	result, err := w.exec("INSERT INTO work_texts (sort, body, sum) VALUES (?,?,?)", t.sort, w.texts.kept(t.body), sum)
	if err != nil {
		return 0, err
	}
	w.work.sums.add(sum)
	if row, err = result.LastInsertId(); err != nil {
		return 0, err
	}
	return row, w.writeWorkWords(row, t.body)
}

// noteSums counts a text that was looked for in vain. After some of them it reads
// which sums there are: a text with another one need not be looked for. Where there
// are many more texts than were looked for, reading them all would take longer.
func (w actionWriter) noteSums() error {
	w.work.missed++
	if missed := w.work.missed; w.work.sums != nil || missed < leastMissed || missed&(missed-1) != 0 {
		return nil
	}
	var last int64
	if err := w.tx.QueryRowContext(w.ctx, "SELECT coalesce(max(text), 0) FROM work_texts").Scan(&last); err != nil || last > textsAMiss*int64(w.work.missed) {
		return err
	}
	list, err := database.Numbers(w.ctx, w.tx, "SELECT sum FROM work_texts")
	if err != nil {
		return err
	}
	w.work.sums = newSumFilter()
	for _, sum := range list {
		w.work.sums.add(sum)
	}
	return nil
}

// The sums of texts are read after leastMissed texts that were not there, or after
// twice as many and so on, once there are at most textsAMiss for each of them: that
// many are read in the time in which one is looked for.
const (
	leastMissed = 512
	textsAMiss  = 16
)

// sumFilter says of a sum that it is not there, or that it may be: each sets two
// bits, which are as good as random (see sumOfBytes). A nil filter knows nothing.
type sumFilter struct{ bits []uint64 }

// sumFilterBits is how many bits a filter has: with 100,000 sums a thirtieth of the
// others is looked for.
const sumFilterBits = 1 << 20

func newSumFilter() *sumFilter { return &sumFilter{make([]uint64, sumFilterBits/64)} }

// places are the bits of a sum.
func (f *sumFilter) places(sum int64) (a, b uint64) {
	return uint64(sum) % sumFilterBits, uint64(sum) >> 32 % sumFilterBits
}

func (f *sumFilter) add(sum int64) {
	if f == nil {
		return
	}
	a, b := f.places(sum)
	f.bits[a/64] |= 1 << (a % 64)
	f.bits[b/64] |= 1 << (b % 64)
}

// lacks reports whether a sum is surely not there.
func (f *sumFilter) lacks(sum int64) bool {
	if f == nil {
		return false
	}
	a, b := f.places(sum)
	return f.bits[a/64]&(1<<(a%64)) == 0 || f.bits[b/64]&(1<<(b%64)) == 0
}

func (w actionWriter) writeWorkWords(row int64, body string) error {
	if w.names == nil {
		w.names = embed.NewNameReader()
	}
	w.terms = appendWorkTerms(w.terms[:0], w.names, body)
	return w.workWords.AddTerms(row, w.terms)
}

// appendWorkTerms appends the words of a text of an action: each element of a
// path by itself, so that its whole name is a word, also without its extension.
func appendWorkTerms(dst []byte, r *embed.NameReader, text string) []byte {
	for _, name := range workNames(text) {
		dst = r.AppendTerms(dst, name)
		if dot := strings.LastIndexByte(name, '.'); dot > 0 && dot < len(name)-1 {
			dst = r.AppendTerms(dst, name[:dot])
		}
	}
	return dst
}

// workWordsOf are the words of a text of an action, as the index has them.
func workWordsOf(text string) []string {
	return strings.Fields(string(appendWorkTerms(nil, embed.NewNameReader(), text)))
}

// workNames are the words of a text, paths in their elements.
func workNames(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' || unicode.IsSpace(r) })
}

// textIfAny is textOf, and 0 for a text that is empty.
func (w actionWriter) textIfAny(t workText) (int64, error) {
	if t.body == "" {
		return 0, nil
	}
	return w.textOf(t)
}

// removeTexts deletes those of some texts, which a query lists, that no action
// has, and their words.
func removeTexts(ctx context.Context, tx *sql.Tx, query string) error {
	gone := "SELECT text FROM work_texts t WHERE text IN (" + query + ") AND " + unusedText
	if err := workWords().RemoveWords(ctx, tx, gone); err != nil {
		return fmt.Errorf("delete texts of actions: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM work_texts WHERE text IN ("+gone+")"); err != nil {
		return fmt.Errorf("delete texts of actions: %w", err)
	}
	return nil
}

// unusedText is the condition under which no action has a text t.
const unusedText = `NOT EXISTS (SELECT 1 FROM actions a WHERE a.subject=t.text) AND NOT EXISTS (SELECT 1 FROM actions a WHERE a.place=t.text)
	AND NOT EXISTS (SELECT 1 FROM actions a WHERE a.errors=t.text)`
