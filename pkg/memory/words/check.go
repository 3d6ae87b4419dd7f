package words

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"hash/maphash"
	"io"

	"github.com/sessctl/sessctl/pkg/memory/database"
)

// Sum sums up which record has which word, and how often.
type Sum struct {
	postings uint64
	seed     maphash.Seed
	inText   map[uint64]uint32 // the words of the text that is read, and how often
}

// NewSum returns the sum of no words.
func NewSum() *Sum { return &Sum{seed: maphash.MakeSeed(), inText: map[uint64]uint32{}} }

// AddRecord counts the words of a record, and how many it has.
func (w *Sum) AddRecord(record int64, terms []byte) {
	clear(w.inText)
	for term := range bytes.FieldsSeq(terms) {
		w.inText[maphash.Bytes(w.seed, term)]++
	}
	words := uint32(0)
	for hash, times := range w.inText {
		w.postings += w.posting(hash, posting{record, times})
		words += times
	}
	w.postings += w.posting(maphash.Bytes(w.seed, nil), posting{record, words})
}

func (w *Sum) posting(term uint64, p posting) uint64 {
	return maphash.Comparable(w.seed, [3]uint64{term, uint64(p.record), uint64(p.times)})
}

// Same reports whether an index has the words that were added, and no others.
// ErrDamaged says that it cannot be read, or that a word would not be found where it
// is.
func (w *Sum) Same(ctx context.Context, c *sql.Conn, x Lexicon) (bool, error) {
	have, err := w.ofSegments(ctx, c, x)
	return have == w.postings, err
}

// ofSegments sums up what the segments of words have.
func (w *Sum) ofSegments(ctx context.Context, c *sql.Conn, x Lexicon) (sum uint64, err error) {
	segments, err := x.readSegments(ctx, c)
	if err != nil {
		return 0, err
	}
	if err := x.checkSegments(ctx, c, segments); err != nil {
		return 0, err
	}
	gone, err := x.readGone(ctx, c)
	for _, s := range segments {
		if err != nil {
			return 0, err
		}
		err = w.ofSegment(ctx, &segmentCheck{segmentReader: segmentReader{Lexicon: x, q: c, segment: s, batch: scannedPages}, begun: -1}, gone, &sum)
	}
	return sum, err
}

func (w *Sum) ofSegment(ctx context.Context, r *segmentCheck, gone map[int64]int64, sum *uint64) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	for {
		data, err := r.entry(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p, hash := postings{data: data}, maphash.Bytes(w.seed, r.term)
		for p.next() {
			if upTo, ok := gone[p.record]; !ok || r.segment.number > upTo {
				*sum += w.posting(hash, posting{p.record, p.times})
			}
		}
		if p.torn {
			return r.torn()
		}
	}
}

// segmentCheck reads a segment from its beginning to its end, and holds it to
// what a question trusts: the pages' first entries and the terms that word_index
// has of them. A question for a word reads nothing but what these lead to.
type segmentCheck struct {
	segmentReader
	index []indexedPage // that are still to come
	begun int64         // the last page in which an entry began
}

// indexedPage is a page and the term that begins in it first.
type indexedPage struct {
	page int64
	term []byte
}

// open goes to the first entry.
func (r *segmentCheck) open(ctx context.Context) error {
	if err := r.readIndex(ctx); err != nil {
		return err
	}
	return r.begin(ctx, 0)
}

func (r *segmentCheck) readIndex(ctx context.Context) (err error) {
	r.index, err = database.All(ctx, database.For(r.q, "list the pages of words"), func(x *indexedPage) []any { return []any{&x.page, &x.term} },
		r.SQL("SELECT page, term FROM word_index WHERE segment=? ORDER BY term"), r.segment.number)
	return err
}

// entry reads the next entry and returns its postings; io.EOF at the end.
func (r *segmentCheck) entry(ctx context.Context) ([]byte, error) {
	if len(r.rest) == 0 && r.page < r.segment.pages-1 { // the end of a page is the beginning of the next
		if err := r.turn(ctx, r.page+1, 1); err != nil {
			return nil, err
		}
	}
	page, data := r.page, r.pages[r.page-r.first]
	found := firstEntry(data) == len(data)-len(r.rest)
	_, size, err := r.next(ctx)
	if errors.Is(err, io.EOF) && len(r.index) > 0 {
		return nil, r.torn()
	}
	if err != nil {
		return nil, err
	}
	if page != r.begun && !(found && r.isNext(page)) {
		return nil, r.torn()
	}
	r.begun = page
	return r.bytes(ctx, size)
}

// isNext takes the next page from the index, which must be this one and have the
// term that was read.
func (r *segmentCheck) isNext(page int64) bool {
	if len(r.index) == 0 || r.index[0].page != page || !bytes.Equal(r.index[0].term, r.term) {
		return false
	}
	r.index = r.index[1:]
	return true
}
