package words

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory/database"
	"pgregory.net/rapid"
)

// oracle is SQLite's full-text index of the same records.
const oracle = `CREATE VIRTUAL TABLE temp.oracle USING fts5 (terms, content='', contentless_delete=1, tokenize="ascii tokenchars '_-./\:@'")`

// recordWords is the index that the tests are about.
func recordWords() Lexicon { return New(TablePrefix, "record_rows") }

// open makes a database of words, and of the records that have them.
func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "words.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(Tables + "CREATE TABLE record_rows (record INTEGER PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	return db
}

// passing lets records through that meet a condition.
func passing(ctx context.Context, tx *sql.Tx, condition string) func([]int64) ([]int64, error) {
	return func(records []int64) ([]int64, error) {
		among := ""
		if records != nil {
			among = "r.record IN " + database.List(records) + " AND "
		}
		return database.Numbers(ctx, tx, "SELECT r.record FROM record_rows r WHERE "+among+condition)
	}
}

// drawTerms draws the terms of a record: few words that many have, many that few
// have, long ones, and sometimes none.
func drawTerms(t *rapid.T) string {
	var b strings.Builder
	for range rapid.IntRange(0, 30).Draw(t, "words") {
		n := rapid.IntRange(0, 400).Draw(t, "word")
		n = n * n / 400
		fmt.Fprintf(&b, "%s%d ", strings.Repeat("ab", n%7*n%40), n)
	}
	return b.String()
}

// What the segments answer is what SQLite's full-text index answers, whatever was added, removed, replaced, written and merged before. The
// oracle is filled with what is left, because a removed record still counts there
// when it weighs words.
func TestSegmentsAnswerAsFullText(t *testing.T) {
	ctx := context.Background()
	db := open(t)
	rapid.Check(t, func(t *rapid.T) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		left := fillWords(ctx, t, tx)
		statement := func(text string, args ...any) {
			if _, err := tx.ExecContext(ctx, text, args...); err != nil {
				t.Fatal(err)
			}
		}
		statement(oracle)
		for _, record := range slices.Sorted(maps.Keys(left)) {
			statement("INSERT INTO temp.oracle (rowid, terms) VALUES (?, ?)", record, left[record])
			statement("INSERT INTO record_rows (record) VALUES (?1)", record)
		}
		x, err := recordWords().NewIndex(ctx, tx)
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			m := drawMatch(t)
			limit := rapid.IntRange(1, 40).Draw(t, "limit")
			odd := rapid.Bool().Draw(t, "odd")
			condition := "1=1"
			if odd {
				condition = "r.record%2=1"
			}
			want, scores := askOracle(t, tx, m, condition, limit)
			got, err := x.Passed(ctx, m, limit, passing(ctx, tx, condition))
			if err != nil || len(got) != len(want) {
				t.Fatalf("%s: %v, want %v (%v)", fullText(m), got, want, err)
			}
			all, err := x.Score(ctx, m)
			if err != nil {
				t.Fatal(err)
			}
			have := x.ScoresOf(all, append(slices.Clone(want), got...))
			for i, row := range want {
				if !near(have[row], scores[row]) || got[i] != row && !near(have[got[i]], scores[row]) {
					t.Fatalf("%s: %v scored %v, want %v scored %v", fullText(m), got, have, want, scores)
				}
			}
		}
	})
}

// near reports whether two scores differ by no more than two ways to compute a
// logarithm do.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-13*math.Abs(b) }

func drawMatch(t *rapid.T) (m Match) {
	word := rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(0, 400).Draw(t, "n")
		return fmt.Sprintf("%s%d", strings.Repeat("ab", n%7*n%40), n)
	})
	m.Any = rapid.SliceOfN(word, 1, 8).Draw(t, "any")
	if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
		m.All = rapid.SliceOfN(word, 1, 2).Draw(t, "all")
	}
	return m
}

func askOracle(t *rapid.T, tx *sql.Tx, m Match, condition string, limit int) (rows []int64, scores map[int64]float64) {
	found, err := tx.Query("SELECT r.record, -bm25(oracle) FROM temp.oracle JOIN record_rows r ON r.record=oracle.rowid WHERE oracle MATCH ? AND "+condition+" ORDER BY bm25(oracle), r.record LIMIT ?", fullText(m), limit)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	scores = map[int64]float64{}
	for found.Next() {
		var row int64
		var score float64
		if err := found.Scan(&row, &score); err != nil {
			t.Fatal(err)
		}
		rows, scores[row] = append(rows, row), score
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return rows, scores
}

// fillWords adds, removes and replaces the words of records, in several segments,
// and returns what should be left.
func fillWords(ctx context.Context, t *rapid.T, tx *sql.Tx) map[int64]string {
	left := map[int64]string{}
	next := int64(1)
	w := recordWords().NewWriter(ctx, tx)
	do := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		kind := rapid.IntRange(0, 20).Draw(t, "step")
		switch {
		case kind < 14 || len(left) == 0:
			next += int64(rapid.IntRange(0, 3).Draw(t, "gap"))
			left[next] = drawTerms(t)
			do(w.AddTerms(next, []byte(left[next])))
			next++
		case kind < 18:
			record := rapid.SampledFrom(slices.Sorted(maps.Keys(left))).Draw(t, "record")
			if w.has(record) {
				do(w.Flush())
			}
			do(goneWords(ctx, tx, record))
			delete(left, record)
			if kind == 17 { // the same record has other words now
				left[record] = drawTerms(t)
				do(w.AddTerms(record, []byte(left[record])))
			}
		case kind == 18:
			do(w.Flush())
			do(recordWords().MergeAll(ctx, tx))
		default:
			do(w.Flush())
		}
	}
	do(w.Flush())
	return left
}

func goneWords(ctx context.Context, tx *sql.Tx, record int64) error {
	_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO word_gone SELECT record, segment, "+sumOfGone+" FROM (SELECT ? AS record, (SELECT coalesce(max(segment), 0) FROM word_segments) AS segment)", record)
	return err
}

// recordsWithWords writes records with words, and their words in several segments,
// one of them of a record that had others before. It returns which words those are.
func recordsWithWords(t *testing.T, tx *sql.Tx, records int64) Match {
	ctx := context.Background()
	w := recordWords().NewWriter(ctx, tx)
	do := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for record := int64(1); record <= records; record++ {
		_, err := tx.Exec("INSERT INTO record_rows (record) VALUES (?1)", record)
		do(err)
		do(w.AddTerms(record, fmt.Appendf(nil, "common w%d w%d %s ", record%50, record, longWord(record))))
		if record == records/2 || record == records {
			do(w.Flush())
		}
	}
	do(goneWords(ctx, tx, 2))
	do(w.AddTerms(2, []byte("common other ")))
	do(w.Flush())
	return Match{Any: []string{"common", "w3", "w44", "other", longWord(3), longWord(records)}}
}

// longWord is one that shares little with others, so that a page has few.
func longWord(n int64) string { return fmt.Sprintf("%08x%080d", n*2654435761%(1<<32), n) }

// damagedWords is an index of words that is damaged in one way after another, and
// asked the same question each time.
type damagedWords struct {
	*testing.T
	tx             *sql.Tx
	question       Match
	want           map[int64]float64
	refused, tried map[string]int // by the kind of damage
}

// No bit of the index of words changes an answer: whatever is flipped, moved or
// lost, a question is refused, or answered as before where it does not read that.
func TestChangedBitsAreRefused(t *testing.T) {
	db := open(t)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	d := &damagedWords{T: t, tx: tx, question: recordsWithWords(t, tx, 300), refused: map[string]int{}, tried: map[string]int{}}
	if d.want, err = d.ask(); err != nil || len(d.want) != 300 {
		t.Fatal(len(d.want), err)
	}
	d.pages()
	d.table("word_segments", "segment", "segment", "pages")
	d.table("word_gone", "record", "record", "segment", "sum")
	d.table("word_index", "page", "page", "segment")
	d.damage("a term of word_index", "UPDATE word_index SET term=CAST('c' || term AS BLOB) WHERE term<>x''")
	d.damage("a term of word_index", "UPDATE word_index SET term=CAST(substr(term, 1, 2) AS BLOB) WHERE page=1")
	d.damage("a row of word_gone more", "INSERT INTO word_gone SELECT 7, segment, "+sumOfGone+" FROM (SELECT 7 AS record, max(segment) AS segment FROM word_segments)")
	for kind, n := range d.tried {
		if t.Logf("%s: %d of %d refused", kind, d.refused[kind], n); d.refused[kind] == 0 {
			t.Errorf("%s: never refused", kind)
		}
	}
}

// ask asks the question.
func (d *damagedWords) ask() (map[int64]float64, error) {
	x, err := recordWords().NewIndex(d.Context(), d.tx)
	if err != nil {
		return nil, err
	}
	scores, err := x.Score(d.Context(), d.question)
	if err != nil {
		return nil, err
	}
	return x.ScoresOf(scores, x.records), nil
}

// damage runs a statement, asks, and takes it back.
func (d *damagedWords) damage(kind, statement string, args ...any) {
	d.Helper()
	d.exec("SAVEPOINT damage")
	d.exec(statement, args...)
	d.tried[kind]++
	switch got, err := d.ask(); {
	case errors.Is(err, ErrDamaged):
		d.refused[kind]++
	case err != nil:
		d.Errorf("%s %v: %v", kind, args, err)
	case !maps.Equal(got, d.want):
		d.Errorf("%s %v: another answer", kind, args)
	}
	d.exec("ROLLBACK TO damage; RELEASE damage")
}

func (d *damagedWords) exec(statement string, args ...any) {
	d.Helper()
	if _, err := d.tx.Exec(statement, args...); err != nil {
		d.Fatal(statement, err)
	}
}

// numbers are what a query of one column gives.
func (d *damagedWords) numbers(query string) []int64 {
	d.Helper()
	list, err := database.Numbers(d.Context(), d.tx, query)
	if err != nil {
		d.Fatal(query, err)
	}
	return list
}

// pages damages each page.
func (d *damagedWords) pages() {
	pages := d.numbers("SELECT page FROM word_pages")
	if len(pages) < 5 {
		d.Fatal(pages)
	}
	for _, page := range pages {
		var data []byte
		if err := d.tx.QueryRow("SELECT data FROM word_pages WHERE page=?", page).Scan(&data); err != nil {
			d.Fatal(err)
		}
		for at := 0; at < len(data); at += 1 + at/12*31 {
			changed := bytes.Clone(data)
			changed[at] ^= 1 << (at % 8)
			d.damage("a bit of a page", "UPDATE word_pages SET data=? WHERE page=?", changed, page)
		}
		d.damage("a shorter page", "UPDATE word_pages SET data=? WHERE page=?", data[:len(data)-1], page)
		d.damage("a lost page", "DELETE FROM word_pages WHERE page=?", page)
		d.damage("a page elsewhere", "UPDATE word_pages SET page=page+? WHERE page=?", int64(1)<<(20+page%10), page)
		d.damage("another page", "UPDATE word_pages SET data=(SELECT data FROM word_pages WHERE page<>?1 ORDER BY page DESC LIMIT 1) WHERE page=?1", page)
	}
}

// table damages each row of a table, and the lowest bits of columns.
func (d *damagedWords) table(name, key string, columns ...string) {
	for _, row := range d.numbers("SELECT DISTINCT " + key + " FROM " + name) {
		d.damage("a lost row of "+name, "DELETE FROM "+name+" WHERE "+key+"=?", row)
		for _, column := range columns {
			for bit := range 6 {
				d.damage("a bit of "+name, "UPDATE OR REPLACE "+name+" SET "+column+"=("+column+"|?1)-("+column+"&?1) WHERE "+key+"=?2", 1<<bit, row)
			}
		}
	}
}

// Whatever is changed in the segments, they are read without harm: as they were,
// or as damage.
func TestTornSegmentsAreDamage(t *testing.T) {
	ctx := context.Background()
	db := open(t)
	rapid.Check(t, func(t *rapid.T) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		w := recordWords().NewWriter(ctx, tx)
		for record := range int64(rapid.SampledFrom([]int{1, 40, 700}).Draw(t, "records")) {
			if err := w.AddTerms(record+1, fmt.Appendf(nil, "common w%d w%d ", record%50, record)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		var page int64
		sealed := rapid.Bool().Draw(t, "sealed") // with a checksum that holds, as by a defect of ours
		var data []byte
		if err := tx.QueryRow("SELECT page, data FROM word_pages ORDER BY page LIMIT 1 OFFSET ? % (SELECT count(*) FROM word_pages)", rapid.IntRange(0, 9).Draw(t, "page")).Scan(&page, &data); err != nil {
			t.Fatal(err)
		}
		data = bytes.Clone(data)
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		data = data[:rapid.SampledFrom([]int{len(data), len(data), len(data) / 2, 1}).Draw(t, "length")]
		if sealed && len(data) >= wordPageHead {
			binary.LittleEndian.PutUint32(data, sumOfPage(page, data))
		}
		if _, err := tx.Exec("UPDATE word_pages SET data=? WHERE page=?", data, page); err != nil {
			t.Fatal(err)
		}
		x := &Index{q: tx, known: map[string]*wordPostings{}}
		if x.segments, err = recordWords().readSegments(ctx, tx); err != nil {
			t.Fatal(err)
		}
		if err := x.readRecords(ctx); err == nil {
			_, _ = x.Score(ctx, Match{Any: []string{"common", "w3", "w444"}})
		}
		_ = recordWords().MergeAll(ctx, tx)
	})
}

// What is no posting ends a list as damaged, however short it is.
func TestTornPostings(t *testing.T) {
	for name, p := range map[string]postings{
		"no distance":          {data: []byte{1}},
		"no distance, counted": {data: []byte{0, 3}},
		"too far":              {data: []byte{5}, record: 1<<62 - 1},
		"cut":                  {data: []byte{0x80}},
		"without its count":    {data: []byte{4}},
	} {
		if p.next() || !p.torn {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// fullText is a match as a question to SQLite's full-text index.
func fullText(m Match) string {
	quoted := func(terms []string, operator string) string {
		list := make([]string, len(terms))
		for i, term := range terms {
			list[i] = `"` + strings.ReplaceAll(term, `"`, `""`) + `"`
		}
		return strings.Join(list, operator)
	}
	some := "(" + quoted(m.Any, " OR ") + ")"
	switch {
	case len(m.All) == 0:
		return quoted(m.Any, " OR ")
	case len(m.Any) == 0:
		return quoted(m.All, " AND ")
	}
	return quoted(m.All, " AND ") + " AND " + some
}
