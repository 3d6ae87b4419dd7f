package words

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
)

const (
	// gatheredBytes is how many bytes of postings are gathered before a segment is
	// written, with the vocabulary; termBytes is what a term takes besides, about.
	gatheredBytes = 12 << 20
	termBytes     = 64
	// VocabularyBytes bounds the words that are known from one record to the next.
	VocabularyBytes = 6 << 20
	// mergedSegments of about the same size are merged into one.
	mergedSegments = 4
	// goneShare of the records may be gone before all segments are merged.
	goneShare = 4
)

// Writer gathers the words of records and writes them as segments, in a
// transaction. What it was given is in the database after Flush.
type Writer struct {
	Lexicon
	ctx         context.Context
	tx          *sql.Tx
	reader      *embed.Reader // of Add; nil until it is called
	counts      []embed.TermCount
	times       map[int32]uint32  // of AddTerms
	vocabulary  *embed.Vocabulary // of the terms that were gathered
	names       []string          // of its terms, as far as they were gathered
	bytes       int               // that it takes
	gathered    gatheredPostings
	all         gatheredTerm // the empty term
	terms       gatheredTerms
	used        int   // how many of the terms have postings
	first, last int64 // records that were gathered; none if last is 0
	size        int   // of what was gathered, less that of the vocabulary before
	damaged     bool  // what is written already cannot be merged: see finishWords
}

// Read are the words of a text that was read.
type Read struct {
	vocabulary *embed.Vocabulary
	names      []string // of its terms, when the text was read
	bytes      int      // that it took then
	counts     []embed.TermCount
}

// Of are the words of the text that a reader has read last. They stand in
// the room for counts, which is returned with them in it.
func Of(r *embed.Reader, room []embed.TermCount) (Read, []embed.TermCount) {
	v, from := r.Vocabulary(), len(room)
	room = r.AppendCounts(room)
	return Read{vocabulary: v, names: v.Terms(), bytes: v.Size(), counts: room[from:len(room):len(room)]}, room
}

// NewWriter returns a writer of words, which writes in a transaction.
func (x Lexicon) NewWriter(ctx context.Context, tx *sql.Tx) *Writer {
	return &Writer{Lexicon: x, ctx: ctx, tx: tx}
}

// Add takes in the words of a record. Those of a record that are there already are
// removed before.
func (w *Writer) Add(record int64, text string) error {
	if w.reader == nil {
		w.reader = embed.NewReader(nil)
	}
	if w.reader.Vocabulary().Size() > VocabularyBytes {
		w.reader.Renew()
	}
	w.reader.Read(text)
	words, room := Of(w.reader, w.counts[:0])
	w.counts = room
	return w.Post(record, words)
}

// Post is Add of words that were read already.
func (w *Writer) Post(record int64, words Read) error {
	if record <= w.last || words.vocabulary != w.vocabulary || w.size+words.bytes > gatheredBytes {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if words.vocabulary != w.vocabulary {
		w.vocabulary, w.size = words.vocabulary, 0
	}
	if w.last == 0 {
		w.first = record
	}
	w.names, w.bytes = words.names, words.bytes
	w.terms.room(len(words.names))
	all := uint32(0)
	for _, c := range words.counts {
		t := w.terms.of(c.Number)
		if t.records == 0 {
			w.size += termBytes
			w.used++
		}
		w.size += w.gathered.post(t, record, c.Times)
		all += c.Times
	}
	w.size += w.gathered.post(&w.all, record, all)
	w.last = record
	return nil
}

// Context is that of the writer: it may end what is made of its index, too.
func (w *Writer) Context() context.Context { return w.ctx }

// Damaged reports whether what was written already cannot be merged.
func (w *Writer) Damaged() bool { return w.damaged }

// has reports whether the words of a record are gathered and not written.
func (w *Writer) has(record int64) bool {
	return w.last != 0 && record >= w.first && record <= w.last
}

// Remove takes the words of a record out.
func (w *Writer) Remove(record int64) error {
	if w.has(record) {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return w.RemoveWords(w.ctx, w.tx, "SELECT ?", record)
}

// RemoveWords takes the words of the records out that a query lists.
func (x Lexicon) RemoveWords(ctx context.Context, tx *sql.Tx, records string, args ...any) error {
	_, err := tx.ExecContext(ctx, x.SQL("INSERT OR REPLACE INTO word_gone (record, segment, sum) WITH gone (record) AS (")+records+
		x.SQL(") SELECT record, segment, "+sumOfGone+" FROM (SELECT record, (SELECT coalesce(max(segment), 0) FROM word_segments) AS segment FROM gone)"), args...)
	if err != nil {
		return fmt.Errorf("delete words: %w", database.Classify(err))
	}
	return nil
}

// AddTerms takes in the words of a record that are given as terms, each followed by
// a space.
func (w *Writer) AddTerms(record int64, terms []byte) error {
	v := w.vocabulary
	if v == nil || v.Size() > VocabularyBytes {
		v = embed.NewVocabulary()
	}
	if w.times == nil {
		w.times = map[int32]uint32{}
	}
	clear(w.times)
	for term := range bytes.FieldsSeq(terms) {
		w.times[v.Number(term)]++
	}
	words := Read{vocabulary: v, names: v.Terms(), bytes: v.Size(), counts: w.counts[:0]}
	for number, times := range w.times {
		words.counts = append(words.counts, embed.TermCount{Number: number, Times: times})
	}
	w.counts = words.counts
	return w.Post(record, words)
}

// Anew makes the index again. fill adds the words of all records.
func (x Lexicon) Anew(ctx context.Context, tx *sql.Tx, fill func(*Writer) error) error {
	for _, table := range []string{"word_pages", "word_index", "word_segments", "word_gone"} {
		if _, err := tx.ExecContext(ctx, x.SQL("DELETE FROM "+table)); err != nil {
			return err
		}
	}
	w := x.NewWriter(ctx, tx)
	if err := fill(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if w.damaged {
		return ErrDamaged
	}
	return nil
}

// Flush writes what was gathered, and merges what is due. Damage does not end it:
// then damaged is set.
func (w *Writer) Flush() error {
	if w.last == 0 {
		return nil
	}
	if err := w.writeSegment(); err != nil {
		return fmt.Errorf("write words: %w", err)
	}
	w.terms.clear()
	w.gathered.reset()
	w.used, w.all, w.first, w.last, w.size = 0, gatheredTerm{}, 0, 0, -w.bytes
	err := w.mergeWords(w.ctx, w.tx)
	if errors.Is(err, ErrDamaged) {
		w.damaged, err = true, nil
	}
	return err
}

// writeSegment writes what was gathered, the terms in their order.
func (w *Writer) writeSegment() error {
	s, err := w.newSegmentWriter(w.ctx, w.tx)
	if err != nil {
		return err
	}
	data := w.gathered.appendAll(nil, &w.all)
	if err := s.add(nil, w.all.records, data); err != nil {
		return err
	}
	var name []byte
	for _, t := range w.order(w.names) {
		name = append(name[:0], w.names[t.number]...)
		term := w.terms.of(t.number)
		data = w.gathered.appendAll(data[:0], term)
		if err := s.add(name, term.records, data); err != nil {
			return err
		}
	}
	return s.finish()
}

// orderedTerm is a term with its first bytes: they decide most comparisons, and
// lie beside each other.
type orderedTerm struct {
	first  uint64
	number int32
}

// order are the terms that were gathered, in the order of their names.
func (w *Writer) order(names []string) []orderedTerm {
	order := make([]orderedTerm, 0, w.used)
	for number := range int32(len(names)) {
		if w.terms.of(number).records > 0 {
			var first [8]byte
			copy(first[:], names[number])
			order = append(order, orderedTerm{binary.BigEndian.Uint64(first[:]), number})
		}
	}
	slices.SortFunc(order, func(a, b orderedTerm) int {
		if a.first != b.first {
			return cmp.Compare(a.first, b.first)
		}
		return strings.Compare(names[a.number], names[b.number])
	})
	return order
}

// mergeWords merges the segments that are due.
func (x Lexicon) mergeWords(ctx context.Context, tx *sql.Tx) error {
	for {
		segments, err := x.readSegments(ctx, tx)
		if err != nil {
			return err
		}
		if err := x.checkSegments(ctx, tx, segments); err != nil {
			return err
		}
		gone, err := x.readGone(ctx, tx)
		if err != nil {
			return err
		}
		due := dueSegments(segments, len(gone))
		if len(due) == 0 {
			return nil
		}
		if err := x.mergeSegments(ctx, tx, due, gone); err != nil {
			return fmt.Errorf("merge words: %w", err)
		}
	}
}

// dueSegments are those that should become one.
func dueSegments(segments []wordSegment, gone int) []wordSegment {
	records, levels := int64(0), map[int][]wordSegment{}
	for _, s := range segments {
		records += s.records
		level := levelOf(s.pages)
		if levels[level] = append(levels[level], s); len(levels[level]) >= mergedSegments {
			return levels[level]
		}
	}
	if int64(gone)*goneShare > records {
		return segments
	}
	return nil
}

// levelOf is the size of a segment in orders of mergedSegments.
func levelOf(pages int64) (level int) {
	for ; pages >= mergedSegments; pages /= mergedSegments {
		level++
	}
	return level
}

// MergeAll makes one segment of all, without the records that are gone. ErrDamaged
// says that it cannot: then Anew leaves as little of these records.
func (x Lexicon) MergeAll(ctx context.Context, tx *sql.Tx) error {
	segments, err := x.readSegments(ctx, tx)
	if err != nil {
		return err
	}
	if err := x.checkSegments(ctx, tx, segments); err != nil {
		return err
	}
	if lack, err := x.LackRecords(ctx, tx); err != nil || lack {
		return cmp.Or(err, ErrDamaged)
	}
	gone, err := x.readGone(ctx, tx)
	if err != nil || len(segments) < 2 && len(gone) == 0 {
		return err
	}
	return x.mergeSegments(ctx, tx, segments, gone)
}

// mergeSegments puts one segment in the place of several.
func (x Lexicon) mergeSegments(ctx context.Context, tx *sql.Tx, segments []wordSegment, gone map[int64]int64) error {
	m := &wordMerge{ctx: ctx, gone: gone}
	for _, s := range segments {
		source := &mergedSegment{segmentReader: segmentReader{Lexicon: x, q: tx, segment: s, batch: scannedPages}}
		if err := source.begin(ctx, 0); err != nil {
			return err
		}
		if err := source.read(ctx); err != nil {
			return err
		}
		if source.ended || len(source.term) > 0 {
			return source.torn()
		}
		m.sources = append(m.sources, source)
	}
	out, err := x.newSegmentWriter(ctx, tx)
	if err != nil {
		return err
	}
	for more := true; more; {
		if more, err = m.step(out); err != nil {
			return err
		}
	}
	if err := out.finish(); err != nil {
		return err
	}
	for _, s := range segments {
		if err := x.dropSegment(ctx, tx, s); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, x.SQL("DELETE FROM word_gone WHERE segment<coalesce((SELECT min(segment) FROM word_segments), 9223372036854775807)"))
	return database.Classify(err)
}

func (x Lexicon) dropSegment(ctx context.Context, tx *sql.Tx, s wordSegment) error {
	if _, err := tx.ExecContext(ctx, x.SQL("DELETE FROM word_pages WHERE page>=? AND page<?"), s.page(0), s.page(segmentPages)); err != nil {
		return database.Classify(err)
	}
	for _, table := range []string{"word_index", "word_segments"} {
		if _, err := tx.ExecContext(ctx, x.SQL("DELETE FROM "+table+" WHERE segment=?"), s.number); err != nil {
			return database.Classify(err)
		}
	}
	return nil
}

// wordMerge merges segments, term by term.
type wordMerge struct {
	ctx     context.Context
	sources []*mergedSegment // that are not at their end
	gone    map[int64]int64
	same    []*mergedSegment // that have the term
	found   []posting
	data    []byte
	records int64 // in data, of join
}

// mergedSegment is a segment that is read to be merged, and its entry.
type mergedSegment struct {
	segmentReader
	records int64
	data    []byte
	ended   bool
}

// posting is one that was read.
type posting struct {
	record int64
	times  uint32
}

// sortPostings puts postings in the order of records. Most are in it.
func sortPostings(list []posting) {
	byRecord := func(a, b posting) int { return cmp.Compare(a.record, b.record) }
	if !slices.IsSortedFunc(list, byRecord) {
		slices.SortFunc(list, byRecord)
	}
}

// read reads the next entry.
func (s *mergedSegment) read(ctx context.Context) error {
	records, size, err := s.next(ctx)
	if errors.Is(err, io.EOF) {
		s.ended = true
		return nil
	}
	if err == nil {
		s.records = records
		s.data, err = s.bytes(ctx, size)
	}
	return err
}

// step writes the first of the terms that the sources are at.
func (m *wordMerge) step(out *segmentWriter) (more bool, err error) {
	m.sources = slices.DeleteFunc(m.sources, func(s *mergedSegment) bool { return s.ended })
	if len(m.sources) == 0 {
		return false, nil
	}
	m.same = m.same[:0]
	for _, s := range m.sources {
		order := -1
		if len(m.same) > 0 {
			order = bytes.Compare(s.term, m.same[0].term)
		}
		if order < 0 {
			m.same = m.same[:0]
		}
		if order <= 0 {
			m.same = append(m.same, s)
		}
	}
	if err := m.write(out); err != nil {
		return false, err
	}
	for _, s := range m.same {
		if err := s.read(m.ctx); err != nil {
			return false, err
		}
	}
	return true, nil
}

// write writes the entry of the term that some sources are at.
func (m *wordMerge) write(out *segmentWriter) error {
	if len(m.same) == 1 && len(m.gone) == 0 {
		return out.add(m.same[0].term, m.same[0].records, m.same[0].data)
	}
	if len(m.gone) == 0 && m.join() {
		return out.add(m.same[0].term, m.records, m.data)
	}
	m.found = m.found[:0]
	for _, s := range m.same {
		p := postings{data: s.data}
		for p.next() {
			if upTo, ok := m.gone[p.record]; !ok || s.segment.number > upTo {
				m.found = append(m.found, posting{p.record, p.times})
			}
		}
		if p.torn {
			return s.torn()
		}
	}
	if len(m.found) == 0 {
		return nil
	}
	sortPostings(m.found)
	m.data = m.data[:0]
	last := int64(0)
	for _, p := range m.found {
		if p.record == last {
			return m.same[0].torn()
		}
		m.data = appendPosting(m.data, last, p.record, p.times)
		last = p.record
	}
	return out.add(m.same[0].term, int64(len(m.found)), m.data)
}

// join puts the postings of a term together as they are written, when no record is gone:
// those of a segment stand behind those of the one before. It returns false where they
// do not, or are not as they were written: write sorts them, or says so.
func (m *wordMerge) join() bool {
	m.data, m.records = m.data[:0], 0
	last := int64(0)
	for _, s := range m.same {
		p := postings{data: s.data}
		if !p.next() || p.record <= last {
			return false
		}
		m.data = append(appendPosting(m.data, last, p.record, p.times), p.data...)
		for m.records++; p.next(); m.records++ {
		}
		if last = p.record; p.torn {
			return false
		}
	}
	return true
}
