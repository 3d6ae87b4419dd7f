package words

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/sessctl/sessctl/pkg/memory/database"
)

// Tables are the tables of an index. The words of records are kept in segments, each
// written once: its terms in their order, and behind each the records that have it
// and how often. A segment is a stream of entries, cut into pages that fill one of
// SQLite's:
//
//	shared    uvarint  bytes that the term has in common with the one before it
//	length    uvarint  of the rest of the term
//	rest               of the term
//	records   uvarint  that have it
//	size      uvarint  of the postings, in bytes
//	postings
//
// A page begins with its checksum (see sumOfPage) and the offset of the first
// entry that begins in it (uint16, 0 if none does), whose term shares nothing, and
// word_index has that term. The first entry of a segment is that of the empty
// term: it has every record, and in the place of how often, how many words it has.
//
// A posting is the distance to the record before it (to 0 for the first), times
// two, plus one if the record has the term once; else how often follows.
//
// A record that is removed stands in word_gone, with the newest segment there
// was: what that and older ones say of it does not count, and goes when they are
// merged. Merging four segments of about the same size makes one.
//
// Whoever reads words holds what he reads to its checksum: a page, a row of
// word_gone, the term by which word_index led to a page, which pages there are
// (checkSegments). What is not as it was written is ErrDamaged. The texts
// have all words, so the next write that meets damage reads them anew.
const Tables = `
CREATE TABLE IF NOT EXISTS word_segments (
  segment INTEGER PRIMARY KEY,
  pages   INTEGER NOT NULL,
  records INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS word_pages (
  page INTEGER PRIMARY KEY, -- of a segment: its number times 16777216, and how many pages are before it
  data BLOB    NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS word_index (
  segment INTEGER NOT NULL,
  term    BLOB    NOT NULL, -- the first that begins in the page
  page    INTEGER NOT NULL, -- how many are before it
  PRIMARY KEY (segment, term)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS word_gone (
  record  INTEGER PRIMARY KEY,
  segment INTEGER NOT NULL, -- what it and older ones say of the record does not count
  sum     INTEGER NOT NULL -- of both, see sumOfGone
) STRICT;
`

// TablePrefix is how the names begin in Tables, and in statements that SQL takes.
const TablePrefix = "word_"

// Lexicon is an index of words: of the texts of records, or of those of actions. Each
// has tables of its own. What is called a record in the files about words is the row
// of a text.
type Lexicon struct {
	tables string // how the names of its tables begin
	texts  string // the table that has a row for each text
}

// New returns the index whose tables have names that begin so, of the texts that
// have a row each in another table.
func New(tables, texts string) Lexicon { return Lexicon{tables, texts} }

// SQL is a statement that names the tables as Tables does, for the index.
func (x Lexicon) SQL(statement string) string {
	return strings.ReplaceAll(statement, "word_", x.tables)
}

// sumOfGone is the checksum of a row of word_gone, as SQL: no change of a bit
// leaves it as it is.
const sumOfGone = "(record*1000003+segment*7919)%2147483647"

// ErrDamaged is returned when the index of words is not what was written.
// It is [database.ErrCorrupt] too. Nothing is lost: the texts have all words. What to do:
// any command that stores something reads them anew, and so does a rebuild.
var ErrDamaged = fmt.Errorf("%w: its index of words is not what was written", database.ErrCorrupt)

const (
	// wordPageBytes is the size of a page: one row fills a page of SQLite.
	wordPageBytes = 4050
	wordPageSum   = 4 // bytes of the checksum that a page begins with
	wordPageHead  = wordPageSum + 2
	wordPageRoom  = wordPageBytes - wordPageHead
	// segmentPages is how many pages a segment may have at most.
	segmentPages = 1 << 24
	// scannedPages are read together by whoever reads a whole segment.
	scannedPages = 64
	// longestTerm bounds a term, in bytes: more is damage.
	longestTerm = 1 << 20
)

// wordSegment is a segment of the index of words.
type wordSegment struct{ number, pages, records int64 }

func (s wordSegment) page(n int64) int64 { return s.number*segmentPages + n }

// readSegments lists the segments, oldest first.
func (x Lexicon) readSegments(ctx context.Context, q database.Querier) (list []wordSegment, err error) {
	return database.All(ctx, database.For(q, "list the words"), func(s *wordSegment) []any { return []any{&s.number, &s.pages, &s.records} },
		x.SQL("SELECT segment, pages, records FROM word_segments ORDER BY segment"))
}

// readGone returns the records that were removed: the newest segment of which
// each is gone.
func (x Lexicon) readGone(ctx context.Context, q database.Querier) (map[int64]int64, error) {
	gone := map[int64]int64{}
	err := database.Each(ctx, database.For(q, "list words that are gone"), func(scan database.Scan) error {
		var record, segment int64
		var sound bool
		if err := scan(&record, &segment, &sound); err != nil {
			return err
		}
		if !sound {
			return fmt.Errorf("%w: a record that is gone from it", ErrDamaged)
		}
		gone[record] = segment
		return nil
	}, x.SQL("SELECT record, segment, sum="+sumOfGone+" FROM word_gone"))
	return gone, err
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// sumOfPage is the checksum of a page: CRC-32C of its number and of all that
// stands behind the checksum, so that neither a bit that has changed nor a page in
// the place of another goes unnoticed.
func sumOfPage(page int64, data []byte) uint32 {
	number := binary.LittleEndian.AppendUint64(make([]byte, 0, 8), uint64(page))
	return crc32.Update(crc32.Checksum(number, castagnoli()), castagnoli(), data[wordPageSum:])
}

// checkSegments checks that the pages there are are those of the segments, each of
// which has its first and its last: where a segment is lost, what only it has would
// not be found.
func (x Lexicon) checkSegments(ctx context.Context, q database.Querier, segments []wordSegment) error {
	end := int64(0) // of the pages of the segment before
	next := func(from int64) (page int64, err error) {
		err = q.QueryRowContext(ctx, x.SQL("SELECT coalesce(min(page), -1) FROM word_pages WHERE page>=?"), from).Scan(&page)
		return page, database.Classify(err)
	}
	for _, s := range segments {
		first, err := next(end)
		if err != nil {
			return fmt.Errorf("look for pages of words: %w", err)
		}
		last, err := next(s.page(s.pages - 1))
		if err != nil {
			return fmt.Errorf("look for pages of words: %w", err)
		}
		if s.pages < 1 || first != s.page(0) || last != s.page(s.pages-1) {
			return fmt.Errorf("%w: segment %d has not the pages that it should have", ErrDamaged, s.number)
		}
		end = s.page(s.pages)
	}
	orphan, err := next(end)
	if err != nil {
		return fmt.Errorf("look for pages of words: %w", err)
	}
	if orphan >= 0 {
		return fmt.Errorf("%w: pages from %d on belong to no segment", ErrDamaged, orphan)
	}
	return nil
}

// LackRecords says whether the segments have fewer records than there are, as where
// all segments are lost, with their pages.
func (x Lexicon) LackRecords(ctx context.Context, q database.Querier) (lack bool, err error) {
	err = q.QueryRowContext(ctx, x.SQL("SELECT (SELECT count(*) FROM "+x.texts+") > (SELECT coalesce(sum(records), 0) FROM word_segments)")).Scan(&lack)
	return lack, database.Classify(err)
}

// appendPosting appends a posting behind one of the record last, 0 for none.
func appendPosting(dst []byte, last, record int64, times uint32) []byte {
	distance := uint64(record-last) << 1
	if times == 1 {
		return binary.AppendUvarint(dst, distance|1)
	}
	return binary.AppendUvarint(binary.AppendUvarint(dst, distance), uint64(times))
}

// postings are read one after the other.
type postings struct {
	data   []byte
	record int64
	times  uint32
	torn   bool // there is something that is no posting
}

// next reads the next posting; false at the end, or if there is none.
func (p *postings) next() bool {
	if len(p.data) == 0 {
		return false
	}
	if c := p.data[0]; c < 0x80 && c&1 != 0 && c > 1 && p.record < 1<<61 { // most are near, and say it once
		p.data, p.record, p.times = p.data[1:], p.record+int64(c>>1), 1
		return true
	}
	distance, n := binary.Uvarint(p.data)
	if n <= 0 || distance>>1 == 0 || int64(distance>>1) > 1<<62-p.record {
		p.data, p.torn = nil, true
		return false
	}
	p.data, p.record, p.times = p.data[n:], p.record+int64(distance>>1), 1
	if distance&1 != 0 {
		return true
	}
	times, n := binary.Uvarint(p.data)
	if n <= 0 || times > 1<<32-1 {
		p.data, p.torn = nil, true
		return false
	}
	p.data, p.times = p.data[n:], uint32(times)
	return true
}

// segmentWriter writes a segment.
type segmentWriter struct {
	Lexicon
	ctx     context.Context
	tx      *sql.Tx
	segment wordSegment
	page    []byte
	begun   bool   // an entry begins in the page
	last    []byte // the term before, if that begins in the page
	head    []byte
	insert  *sql.Stmt // of a page
	lead    *sql.Stmt // of the term that leads to a page
}

func (x Lexicon) newSegmentWriter(ctx context.Context, tx *sql.Tx) (*segmentWriter, error) {
	w := &segmentWriter{Lexicon: x, ctx: ctx, tx: tx, page: make([]byte, wordPageHead, wordPageBytes)}
	// Not one whose pages are still there, though it is lost: they would be in the way.
	err := tx.QueryRowContext(ctx, x.SQL("SELECT 1 + max((SELECT coalesce(max(segment), 0) FROM word_segments), (SELECT coalesce(max(segment), 0) FROM word_gone), (SELECT coalesce(max(page), 0)/? FROM word_pages))"), segmentPages).Scan(&w.segment.number)
	if err != nil {
		return nil, database.Classify(err)
	}
	if w.insert, err = tx.PrepareContext(ctx, x.SQL("INSERT INTO word_pages (page, data) VALUES (?, ?)")); err != nil {
		return w, database.Classify(err)
	}
	w.lead, err = tx.PrepareContext(ctx, x.SQL("INSERT INTO word_index (segment, term, page) VALUES (?, ?, ?)"))
	return w, database.Classify(err)
}

// add writes the entry of a term. Terms come in their order.
func (w *segmentWriter) add(term []byte, records int64, data []byte) error {
	if len(w.page) == wordPageBytes {
		if err := w.writePage(); err != nil {
			return err
		}
	}
	shared := 0
	if w.begun {
		shared = commonPrefix(w.last, term)
	} else if err := w.begin(term); err != nil {
		return err
	}
	if len(term) == 0 {
		w.segment.records = records
	}
	w.head = binary.AppendUvarint(w.head[:0], uint64(shared))
	w.head = binary.AppendUvarint(w.head, uint64(len(term)-shared))
	w.head = append(w.head, term[shared:]...)
	w.head = binary.AppendUvarint(w.head, uint64(records))
	w.head = binary.AppendUvarint(w.head, uint64(len(data)))
	w.last = append(w.last[:0], term...)
	if err := w.write(w.head); err != nil {
		return err
	}
	return w.write(data)
}

func commonPrefix(a, b []byte) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// begin notes the first entry of a page.
func (w *segmentWriter) begin(term []byte) error {
	w.begun = true
	binary.LittleEndian.PutUint16(w.page[wordPageSum:], uint16(len(w.page)))
	_, err := w.lead.ExecContext(w.ctx, w.segment.number, append([]byte{}, term...), w.segment.pages)
	return database.Classify(err)
}

func (w *segmentWriter) write(data []byte) error {
	for len(data) > 0 {
		if len(w.page) == wordPageBytes {
			if err := w.writePage(); err != nil {
				return err
			}
		}
		n := min(len(data), wordPageBytes-len(w.page))
		w.page, data = append(w.page, data[:n]...), data[n:]
	}
	return nil
}

func (w *segmentWriter) writePage() error {
	if w.segment.pages == segmentPages {
		return errors.New("the words are too many for one segment")
	}
	number := w.segment.page(w.segment.pages)
	binary.LittleEndian.PutUint32(w.page, sumOfPage(number, w.page))
	if _, err := w.insert.ExecContext(w.ctx, number, w.page); err != nil {
		return database.Classify(err)
	}
	w.segment.pages++
	w.page, w.begun = append(w.page[:0], make([]byte, wordPageHead)...), false
	return nil
}

// finish writes the last page and names the segment. One without records is
// none.
func (w *segmentWriter) finish() error {
	defer w.insert.Close()
	defer w.lead.Close()
	if len(w.page) > wordPageHead {
		if err := w.writePage(); err != nil {
			return err
		}
	}
	if w.segment.records == 0 {
		return nil
	}
	_, err := w.tx.ExecContext(w.ctx, w.SQL("INSERT INTO word_segments (segment, pages, records) VALUES (?, ?, ?)"), w.segment.number, w.segment.pages, w.segment.records)
	return database.Classify(err)
}

// segmentReader reads a segment, from its beginning or from a term.
type segmentReader struct {
	Lexicon
	q       database.Querier
	segment wordSegment
	batch   int64    // pages that are read at a time, at least
	first   int64    // of pages
	pages   [][]byte // that are held
	page    int64    // that is read
	rest    []byte   // of it
	term    []byte   // of the entry that was read
	long    []byte   // room for postings of several pages
}

// torn says that a segment is not what was written.
func (r *segmentReader) torn() error {
	return fmt.Errorf("%w: segment %d", ErrDamaged, r.segment.number)
}

// load reads at least n pages from one on, as far as there are some.
func (r *segmentReader) load(ctx context.Context, page, n int64) error {
	if page < 0 || page >= r.segment.pages {
		return r.torn()
	}
	n = min(max(n, r.batch, 1), r.segment.pages-page)
	rows, err := r.q.QueryContext(ctx, r.SQL("SELECT data FROM word_pages WHERE page>=? AND page<? ORDER BY page"), r.segment.page(page), r.segment.page(page+n))
	if err != nil {
		return fmt.Errorf("read the words: %w", database.Classify(err))
	}
	defer rows.Close()
	r.first, r.pages = page, nil
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return fmt.Errorf("read the words: %w", database.Classify(err))
		}
		number := page + int64(len(r.pages))
		if len(data) < wordPageHead || len(data) < wordPageBytes && number < r.segment.pages-1 || binary.LittleEndian.Uint32(data) != sumOfPage(r.segment.page(number), data) {
			return fmt.Errorf("%w: page %d of segment %d", ErrDamaged, number, r.segment.number)
		}
		r.pages = append(r.pages, data)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the words: %w", database.Classify(err))
	}
	if int64(len(r.pages)) != n {
		return r.torn()
	}
	return nil
}

// turn goes to a page; n pages from there on are wanted.
func (r *segmentReader) turn(ctx context.Context, page, n int64) error {
	if page < r.first || page >= r.first+int64(len(r.pages)) {
		if err := r.load(ctx, page, n); err != nil {
			return err
		}
	}
	r.page, r.rest = page, r.pages[page-r.first][wordPageHead:]
	return nil
}

// begin goes to the first entry that begins in a page.
func (r *segmentReader) begin(ctx context.Context, page int64) error {
	if err := r.turn(ctx, page, 1); err != nil {
		return err
	}
	data := r.pages[page-r.first]
	at := firstEntry(data)
	if at < wordPageHead || at > len(data) {
		return r.torn()
	}
	r.rest, r.term = data[at:], r.term[:0]
	return nil
}

// firstEntry is where the first entry begins that begins in a page.
func firstEntry(page []byte) int { return int(binary.LittleEndian.Uint16(page[wordPageSum:])) }

// seek reads the entry of a term, if there is one. It returns how many records
// have it and how long its postings are. The first entry must be the one that
// word_index has: then the term cannot stand before it. It may stand pages behind
// it, where rows of word_index are lost.
func (r *segmentReader) seek(ctx context.Context, term []byte) (records, size int64, found bool, err error) {
	var page int64
	var first []byte
	err = r.q.QueryRowContext(ctx, r.SQL("SELECT page, term FROM word_index WHERE segment=? AND term<=? ORDER BY term DESC LIMIT 1"), r.segment.number, append([]byte{}, term...)).Scan(&page, &first)
	if errors.Is(err, sql.ErrNoRows) { // not even the empty term
		return 0, 0, false, r.torn()
	}
	if err != nil {
		return 0, 0, false, fmt.Errorf("look for a word: %w", database.Classify(err))
	}
	if err := r.begin(ctx, page); err != nil {
		return 0, 0, false, err
	}
	for begun := false; ; begun = true {
		records, size, err = r.next(ctx)
		if errors.Is(err, io.EOF) {
			return 0, 0, false, nil
		}
		if err == nil && !begun && (!bytes.Equal(r.term, first) || bytes.Compare(first, term) > 0) {
			return 0, 0, false, r.torn()
		}
		if order := bytes.Compare(r.term, term); err != nil || order >= 0 {
			return records, size, err == nil && order == 0, err
		}
		if err := r.skip(ctx, size); err != nil {
			return 0, 0, false, err
		}
	}
}

// next reads the next entry up to its postings, which must be read or skipped
// then; io.EOF at the end.
func (r *segmentReader) next(ctx context.Context) (records, size int64, err error) {
	if len(r.rest) == 0 && r.page == r.segment.pages-1 {
		return 0, 0, io.EOF
	}
	var figures [4]int64 // shared, length, records, size
	for i := range figures {
		if figures[i], err = r.number(ctx); err != nil {
			return 0, 0, err
		}
		if i != 1 {
			continue
		}
		if figures[0] > int64(len(r.term)) || figures[1] > longestTerm {
			return 0, 0, r.torn()
		}
		rest, err := r.bytes(ctx, figures[1])
		if err != nil {
			return 0, 0, err
		}
		r.term = append(r.term[:figures[0]], rest...)
	}
	return figures[2], figures[3], nil
}

// number reads a uvarint.
func (r *segmentReader) number(ctx context.Context) (int64, error) {
	if x, n := binary.Uvarint(r.rest); n > 0 && x < 1<<62 {
		r.rest = r.rest[n:]
		return int64(x), nil
	}
	x := uint64(0)
	for shift := 0; shift < 63; shift += 7 {
		part, err := r.bytes(ctx, 1)
		if err != nil {
			return 0, err
		}
		x |= uint64(part[0]&0x7f) << shift
		if part[0] < 0x80 {
			return int64(x & (1<<62 - 1)), nil
		}
	}
	return 0, r.torn()
}

// bytes reads n bytes, which are valid until the next call.
func (r *segmentReader) bytes(ctx context.Context, n int64) (data []byte, err error) {
	if n <= int64(len(r.rest)) {
		data, r.rest = r.rest[:n], r.rest[n:]
		return data, nil
	}
	if n > (r.segment.pages-r.page)*wordPageRoom {
		return nil, r.torn()
	}
	r.long = append(r.long[:0], r.rest...)
	for int64(len(r.long)) < n {
		if err := r.turn(ctx, r.page+1, (n-int64(len(r.long))+wordPageRoom-1)/wordPageRoom); err != nil {
			return nil, err
		}
		part := r.rest[:min(int64(len(r.rest)), n-int64(len(r.long)))]
		if len(part) == 0 {
			return nil, r.torn()
		}
		r.long, r.rest = append(r.long, part...), r.rest[len(part):]
	}
	return r.long, nil
}

// skip goes over n bytes.
func (r *segmentReader) skip(ctx context.Context, n int64) error {
	if n <= int64(len(r.rest)) {
		r.rest = r.rest[n:]
		return nil
	}
	n -= int64(len(r.rest))
	// The end of a page and the beginning of the next are the same place.
	if err := r.turn(ctx, r.page+1+(n-1)/wordPageRoom, 1); err != nil {
		return err
	}
	if n = (n-1)%wordPageRoom + 1; n > int64(len(r.rest)) {
		return r.torn()
	}
	r.rest = r.rest[n:]
	return nil
}
