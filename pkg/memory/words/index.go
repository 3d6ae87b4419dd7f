package words

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/sessctl/sessctl/pkg/memory/database"
)

// Index answers from the segments of words, as they are at one moment: what
// it reads of them it keeps, because a question asks for the same words several
// times. Records are numbered by their order in it.
type Index struct {
	Lexicon
	q        database.Querier
	segments []wordSegment
	gone     map[int64]int64

	records []int64   // ascending
	lengths []uint32  // in words
	norms   []float64 // what BM25 adds to how often, by the length of a record
	known   map[string]*wordPostings
	match   string // that scores are those of
	scores  []float64
}

// wordPostings are the records that have a word, in their order, and how often.
type wordPostings struct {
	at    []int32
	times []uint32
}

// NewIndex reads which records there are.
func (l Lexicon) NewIndex(ctx context.Context, q database.Querier) (x *Index, err error) {
	x = &Index{Lexicon: l, q: q, known: map[string]*wordPostings{}}
	if x.segments, err = x.readSegments(ctx, q); err != nil {
		return nil, err
	}
	if err := x.checkSegments(ctx, q, x.segments); err != nil {
		return nil, err
	}
	if x.gone, err = x.readGone(ctx, q); err != nil {
		return nil, err
	}
	if err := x.readRecords(ctx); err != nil {
		return nil, err
	}
	return x, x.checkRecords(ctx)
}

// readRecords reads of which records there are words, and how many.
func (x *Index) readRecords(ctx context.Context) (err error) {
	var all []posting
	for _, s := range x.segments {
		if all, err = x.read(ctx, s, nil, all); err != nil {
			return err
		}
	}
	sortPostings(all)
	x.records, x.lengths = make([]int64, len(all)), make([]uint32, len(all))
	for i, p := range all {
		x.records[i], x.lengths[i] = p.record, p.times
		if i > 0 && p.record == x.records[i-1] {
			return fmt.Errorf("%w: the words of record %d are there twice", ErrDamaged, p.record)
		}
	}
	return nil
}

// checkRecords checks that there are words of as many records as there are: those
// of a record that has none would not be found.
func (x *Index) checkRecords(ctx context.Context) error {
	var records int
	if err := x.q.QueryRowContext(ctx, "SELECT count(*) FROM "+x.Lexicon.texts).Scan(&records); err != nil {
		return fmt.Errorf("count records: %w", database.Classify(err))
	}
	if records != len(x.records) {
		return fmt.Errorf("%w: it has %d records, the memory %d", ErrDamaged, len(x.records), records)
	}
	return nil
}

// read appends the postings of a term in a segment, without those that are gone.
func (x *Index) read(ctx context.Context, s wordSegment, term []byte, list []posting) ([]posting, error) {
	r := segmentReader{Lexicon: x.Lexicon, q: x.q, segment: s}
	_, size, found, err := r.seek(ctx, term)
	if err != nil || !found {
		return list, err
	}
	data, err := r.bytes(ctx, size)
	if err != nil {
		return list, err
	}
	p := postings{data: data}
	for p.next() {
		if len(x.gone) > 0 {
			if upTo, ok := x.gone[p.record]; ok && s.number <= upTo {
				continue
			}
		}
		list = append(list, posting{p.record, p.times})
	}
	if p.torn {
		return list, r.torn()
	}
	return list, nil
}

// postingsOf are those of a word.
func (x *Index) postingsOf(ctx context.Context, word string) (*wordPostings, error) {
	if p, ok := x.known[word]; ok {
		return p, nil
	}
	var list []posting
	var err error
	for _, s := range x.segments {
		if list, err = x.read(ctx, s, []byte(word), list); err != nil {
			return nil, err
		}
	}
	sortPostings(list)
	p := &wordPostings{at: make([]int32, 0, len(list)), times: make([]uint32, 0, len(list))}
	at := 0
	for _, one := range list {
		if at = x.from(at, one.record); at == len(x.records) {
			break
		}
		if x.records[at] == one.record {
			p.at, p.times = append(p.at, int32(at)), append(p.times, one.times)
		}
	}
	x.known[word] = p
	return p, nil
}

// from is the number of the first record that is not before one, from a number
// on.
func (x *Index) from(at int, record int64) int {
	if at >= len(x.records) || x.records[at] >= record {
		return at
	}
	step := 1 // of a search that goes on in ever longer steps: most are near
	for at+step < len(x.records) && x.records[at+step] < record {
		at, step = at+step, 2*step
	}
	end := min(at+step, len(x.records))
	for at+1 < end {
		if middle := at + (end-at)/2; x.records[middle] < record {
			at = middle
		} else {
			end = middle
		}
	}
	return end
}

// The constants of BM25, which are those of SQLite's full-text index.
const (
	bm25Saturation  = 1.2
	bm25LengthShare = 0.75
	bm25LeastWeight = 1e-6
)

// BeginningWith lists the records that have a word which begins so.
func (x *Index) BeginningWith(ctx context.Context, beginning string) ([]int64, error) {
	found := map[int64]bool{}
	for _, s := range x.segments {
		if err := x.beginningIn(ctx, s, []byte(beginning), found); err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// beginningIn adds those of a segment.
func (x *Index) beginningIn(ctx context.Context, s wordSegment, beginning []byte, found map[int64]bool) error {
	r := segmentReader{Lexicon: x.Lexicon, q: x.q, segment: s, batch: 4}
	_, size, _, err := r.seek(ctx, beginning)
	for ; err == nil && bytes.HasPrefix(r.term, beginning); _, size, err = r.next(ctx) {
		data, err := r.bytes(ctx, size)
		if err != nil {
			return err
		}
		p := postings{data: data}
		for p.next() {
			if upTo, ok := x.gone[p.record]; !ok || s.number > upTo {
				found[p.record] = true
			}
		}
		if p.torn {
			return r.torn()
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Having lists the records that have a word.
func (x *Index) Having(ctx context.Context, word string) ([]int64, error) {
	p, err := x.postingsOf(ctx, word)
	if err != nil {
		return nil, err
	}
	return x.rowsOf(p.at), nil
}

// Score returns the BM25 of all records by a match, 0 of those that do not
// match.
func (x *Index) Score(ctx context.Context, m Match) ([]float64, error) {
	key := m.key()
	if key == x.match && x.scores != nil {
		return x.scores, nil
	}
	x.prepareNorms()
	scores, all, some := make([]float64, len(x.records)), make([]uint8, len(x.records)), make([]bool, len(x.records))
	for i, word := range slices.Concat(m.All, m.Any) {
		p, err := x.postingsOf(ctx, word)
		if err != nil {
			return nil, err
		}
		weight := bm25Weight(len(x.records), len(p.at))
		for j, at := range p.at {
			often := float64(p.times[j])
			scores[at] += weight * ((often * (bm25Saturation + 1)) / (often + x.norms[at]))
			if i < len(m.All) {
				all[at]++
			} else {
				some[at] = true
			}
		}
	}
	for at := range scores {
		if int(all[at]) < len(m.All) || len(m.Any) > 0 && !some[at] {
			scores[at] = 0
		}
	}
	x.match, x.scores = key, scores
	return scores, nil
}

// bm25Weight is how much a word says that so many of the records have.
func bm25Weight(records, having int) float64 {
	weight := math.Log((float64(records-having) + 0.5) / (float64(having) + 0.5))
	if weight <= 0 {
		return bm25LeastWeight
	}
	return weight
}

func (x *Index) prepareNorms() {
	if x.norms != nil {
		return
	}
	total := uint64(0)
	for _, n := range x.lengths {
		total += uint64(n)
	}
	mean := float64(total) / float64(len(x.lengths))
	x.norms = make([]float64, len(x.lengths))
	for i, n := range x.lengths {
		x.norms[i] = bm25Saturation * (1 - bm25LengthShare + bm25LengthShare*float64(n)/mean)
	}
}

// best returns the n records with the highest scores of those that may be found,
// equal ones in their order.
func (x *Index) best(scores []float64, n int, may func(at int32) bool) []int32 {
	before := func(a, b int32) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) }
	var top []int32
	floor := 0.0
	for at, score := range scores {
		if score <= floor || may != nil && !may(int32(at)) {
			continue
		}
		if top = append(top, int32(at)); len(top) >= 2*n+64 {
			slices.SortFunc(top, before)
			top = top[:n]
			floor = scores[top[n-1]]
		}
	}
	slices.SortFunc(top, before)
	return top[:min(n, len(top))]
}

// rowsOf are the records of some numbers.
func (x *Index) rowsOf(list []int32) []int64 {
	rows := make([]int64, len(list))
	for i, at := range list {
		rows[i] = x.records[at]
	}
	return rows
}

// ScoresOf returns the scores of records that match.
func (x *Index) ScoresOf(scores []float64, records []int64) map[int64]float64 {
	found := map[int64]float64{}
	for _, record := range records {
		at := sort.Search(len(x.records), func(i int) bool { return x.records[i] >= record })
		if at < len(x.records) && x.records[at] == record && scores[at] > 0 {
			found[record] = scores[at]
		}
	}
	return found
}

// Passed are the best n matches that pass: those of some records that do, or of all
// if none are given. First the best few alone are asked for; if too few of them pass,
// all.
func (x *Index) Passed(ctx context.Context, m Match, n int, pass func(records []int64) ([]int64, error)) ([]int64, error) {
	scores, err := x.Score(ctx, m)
	if err != nil {
		return nil, err
	}
	few := max(4*n, 500)
	best := x.best(scores, few, nil)
	if len(best) == 0 {
		return nil, nil
	}
	rows := x.rowsOf(best)
	passed, err := pass(rows)
	if err != nil {
		return nil, err
	}
	if len(passed) < n && len(best) == few {
		if passed, err = pass(nil); err != nil {
			return nil, err
		}
		numbers := database.Set(passed)
		rows = x.rowsOf(x.best(scores, n, func(at int32) bool { return numbers[x.records[at]] }))
	}
	passes := database.Set(passed)
	rows = slices.DeleteFunc(rows, func(row int64) bool { return !passes[row] })
	return rows[:min(n, len(rows))], nil
}

// Records is how many records there are.
func (x *Index) Records() int { return len(x.records) }

// CountWith counts the records that have a word.
func (x *Index) CountWith(ctx context.Context, word string) (int, error) {
	p, err := x.postingsOf(ctx, word)
	if err != nil {
		return 0, err
	}
	return len(p.at), nil
}
