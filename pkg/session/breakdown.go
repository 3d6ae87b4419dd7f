package session

import (
	"cmp"
	"context"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// Breakdown says what fills logs. It may take in one log after the other.
type Breakdown struct {
	Types     map[string]*TypeShare // by the type of the record, "message user" for one with a role
	Bytes     int64                 // of all logs
	Base64    int64                 // bytes of images and other binary data written as base64
	Duplicate int64                 // bytes of long strings that stand in an earlier record too
	Largest   []LargeRecord         // the largest records, at most MostLargest, the largest first
	Told      Voices                // what agents are told, by whose words it is, but for Carried
	Carried   []Retold              // what was told to another agent first

	// Log is the number, for whoever adds, of the log that is added next.
	Log int

	seen  *stringSet
	sum   jsonl.Cursor
	lines *jsonl.Reader // of the log that is read; its memory is used again
}

// TypeShare is what the records of one type take up.
type TypeShare struct {
	Records int
	Bytes   int64
}

// LargeRecord is one record of a log.
type LargeRecord struct {
	Log               int // [Breakdown.Log]
	Line              int // counted from 1
	Type              string
	Bytes             int64
	Base64, Duplicate int64 // of the record
}

// mostLargest is how many of the largest records a Breakdown names.
const mostLargest = 10

// longString is the length, in bytes as written, from which a string is looked
// at for binary data and repetition.
const longString = 256

// NewBreakdown returns a Breakdown of nothing. It holds about 12 bytes for every
// long string that it has seen.
func NewBreakdown() *Breakdown {
	return &Breakdown{Types: map[string]*TypeShare{}, seen: newStringSet()}
}

// Beside returns a Breakdown of nothing that knows the strings that b has seen,
// and b those of it, so that another goroutine can read other logs. Which of
// two equal strings comes first does not matter: the sum of both is the same.
func (b *Breakdown) Beside() *Breakdown {
	return &Breakdown{Types: map[string]*TypeShare{}, seen: b.seen}
}

// Merge adds what other has counted to b.
func (b *Breakdown) Merge(other *Breakdown) {
	for name, share := range other.Types {
		mine := b.typeShare(name)
		mine.Records += share.Records
		mine.Bytes += share.Bytes
	}
	for _, r := range other.Largest {
		b.note(r)
	}
	b.Told.merge(other.Told)
	b.Carried = append(b.Carried, other.Carried...)
	b.Bytes += other.Bytes
	b.Base64 += other.Base64
	b.Duplicate += other.Duplicate
}

// Add reads a whole log. Lines that are no JSON object count as "not JSON";
// text that is not UTF-8 at all counts as such as a whole.
func (b *Breakdown) Add(ctx context.Context, r io.Reader) error {
	lines := b.lines
	if lines == nil {
		lines = jsonl.NewReader(r, jsonl.Options{})
		b.lines = lines
	}
	lines.Reset(r)
	return lines.Each(ctx, func(l jsonl.Line) error {
		b.line(l)
		return nil
	})
}

// scanner reads the messages of a log: the Scan of its store.
type scanner = func(context.Context, io.Reader, ScanOptions, func(*Message) error) (Scan, error)

// AddVoices reads a whole log that Add has counted once more, for what its
// agent is told.
func (b *Breakdown) AddVoices(ctx context.Context, r io.Reader, scan scanner) error {
	var carried Voices
	s, err := scan(ctx, r, ScanOptions{}, func(m *Message) error {
		b.tell(&carried, m)
		return nil
	})
	b.retold(s, carried)
	return err
}

// tell counts what an agent is told.
func (b *Breakdown) tell(carried *Voices, m *Message) {
	if m.Carried {
		carried.Add(m)
	} else {
		b.Told.Add(m)
	}
}

// retold takes in what a scan found of what was told elsewhere first.
func (b *Breakdown) retold(s Scan, carried Voices) {
	if carried.Messages > 0 {
		b.Carried = append(b.Carried, Retold{s.Carriage.Origin, carried})
	}
}

// AddFile counts a file that no reader reads as one record.
func (b *Breakdown) AddFile(name string, size int64) {
	b.Bytes += size
	b.share(name, size)
	b.note(LargeRecord{Log: b.Log, Line: 1, Type: name, Bytes: size})
}

// AddMessages reads a whole log that is not JSON lines (Markdown, one JSON
// document): its messages count by who speaks, and what is left of it as
// "frame". size is the log's, in bytes; scan is the store's own.
func (b *Breakdown) AddMessages(ctx context.Context, r io.Reader, size int64, scan scanner) error {
	rest, end := size, int64(0)
	var carried Voices
	s, err := scan(ctx, r, ScanOptions{Thinking: true}, func(m *Message) error {
		b.tell(&carried, m)
		from := max(m.Offset, end) // several messages may stand in one record
		end = max(end, m.Offset+m.Length)
		b.share(m.Role.String(), end-min(from, end))
		b.note(LargeRecord{Log: b.Log, Line: m.Line, Type: m.Role.String(), Bytes: end - min(from, end)})
		rest -= end - min(from, end)
		return nil
	})
	b.retold(s, carried)
	if err != nil {
		return err
	}
	if rest > 0 {
		b.share("frame", rest)
	}
	b.Bytes += size
	return nil
}

func (b *Breakdown) line(l jsonl.Line) {
	b.Bytes += l.Length
	base64, duplicate := b.Base64, b.Duplicate
	name := b.record(l.Raw)
	b.share(name, l.Length)
	b.note(LargeRecord{Log: b.Log, Line: l.Number, Type: name, Bytes: l.Length, Base64: b.Base64 - base64, Duplicate: b.Duplicate - duplicate})
}

// note keeps a record that is among the largest.
func (b *Breakdown) note(r LargeRecord) {
	full := len(b.Largest) == mostLargest
	if full && r.compare(b.Largest[mostLargest-1]) >= 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(b.Largest, r, LargeRecord.compare)
	if full {
		b.Largest = b.Largest[:mostLargest-1]
	}
	b.Largest = slices.Insert(b.Largest, at, r)
}

// compare puts larger records first, and of equal ones that of the first log.
func (r LargeRecord) compare(other LargeRecord) int {
	return cmp.Or(cmp.Compare(other.Bytes, r.Bytes), cmp.Compare(r.Log, other.Log), cmp.Compare(r.Line, other.Line))
}

// share counts one record of a type.
func (b *Breakdown) share(name string, bytes int64) {
	share := b.typeShare(name)
	share.Records++
	share.Bytes += bytes
}

func (b *Breakdown) typeShare(name string) *TypeShare {
	share := b.Types[name]
	if share == nil {
		share = &TypeShare{}
		b.Types[name] = share
	}
	return share
}

// record walks one record and returns the name of its type.
func (b *Breakdown) record(raw []byte) string {
	c := &b.sum
	c.Reset(raw)
	if c.Kind() != jsonl.Object {
		return "not JSON"
	}
	var w recordWalk
	b.object(c, &w, 0)
	if c.End() != nil {
		return "not JSON"
	}
	return w.name()
}

// recordWalk collects what names a record's type.
type recordWalk struct{ kind, inner, role string }

func (w *recordWalk) name() string {
	name := w.kind
	for _, part := range []string{w.inner, w.role} {
		if part != "" && part != name {
			if name != "" {
				name += " "
			}
			name += part
		}
	}
	if name == "" {
		return "without a type"
	}
	return name
}

// maxTypeName bounds the part of a name that comes from a log, in bytes.
const maxTypeName = 48

// object walks the members of an object. The types of the record stand at its
// top and, in an envelope, one level down.
func (b *Breakdown) object(c *jsonl.Cursor, w *recordWalk, depth int) {
	if !c.EnterObject() {
		return
	}
	for c.NextKey() {
		if depth < 2 && c.Kind() == jsonl.String && b.names(c, w, depth) {
			continue
		}
		inner := depth + 1
		if key := string(c.Key()); depth == 0 && key != "message" && key != "payload" && key != "row" {
			inner = 2
		}
		b.value(c, w, inner)
	}
}

// names takes a member that names the type; false for any other.
func (b *Breakdown) names(c *jsonl.Cursor, w *recordWalk, depth int) bool {
	var to *string
	switch key := string(c.Key()); {
	case key == "role":
		to = &w.role
	case depth == 0 && (key == "type" || key == "recordType"):
		to = &w.kind
	case depth == 1 && key == "type":
		to = &w.inner
	default:
		return false
	}
	text, _ := c.Bytes()
	*to = string(text[:min(len(text), maxTypeName)])
	return true
}

func (b *Breakdown) value(c *jsonl.Cursor, w *recordWalk, depth int) {
	switch c.Kind() {
	case jsonl.Object:
		b.object(c, w, depth)
	case jsonl.Array:
		c.EnterArray()
		for c.NextElement() {
			b.value(c, w, 2)
		}
	case jsonl.String:
		b.text(c.Raw())
	default:
		c.Skip()
	}
}

// text looks at one string as it is written, quotes included.
func (b *Breakdown) text(raw []byte) {
	if len(raw) < longString {
		return
	}
	b.Base64 += countBinary(raw)
	if b.seen.add(raw) {
		b.Duplicate += int64(len(raw))
	}
}

// countBinary counts the bytes of binary data in text.
func countBinary(text []byte) (n int64) {
	finder := binaryFinder{text: text, url: -1, runFrom: -1}
	for from, to := finder.next(0); from < to; from, to = finder.next(to) {
		n += int64(to - from)
	}
	return n
}
