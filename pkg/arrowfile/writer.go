package arrowfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// magic begins and ends a file.
const magic = "ARROW1"

// The numbers that the format gives to messages (Message.fbs).
const (
	version5          = 4
	headerSchema      = 1
	headerRecordBatch = 3
)

// Writer writes one file. It is for one goroutine. After an error of any of
// its methods the file is of no use.
type Writer struct {
	out    io.Writer
	fields []Field
	at     int64
	blocks []byte // of the footer: where the batches are
	count  int
}

// NewWriter begins a file of these columns. It returns the errors of out.
func NewWriter(out io.Writer, fields []Field) (*Writer, error) {
	w := &Writer{out: out, fields: fields}
	if err := w.write([]byte(magic + "\x00\x00")); err != nil {
		return nil, err
	}
	b := &flat{}
	_, err := w.message(b, headerSchema, w.schema(b), nil)
	return w, err
}

// Write adds a batch of rows: one column a field, all of one length, whose
// texts have less than 2 GiB together. It returns the errors of out.
func (w *Writer) Write(columns ...Column) error {
	if len(columns) != len(w.fields) {
		return fmt.Errorf("a batch of %d columns for %d fields", len(columns), len(w.fields))
	}
	rows, content := columns[0].rows(w.fields[0].Kind), &body{}
	for i, c := range columns {
		if n := c.rows(w.fields[i].Kind); n != rows {
			return fmt.Errorf("column %s has %d rows, %s has %d", w.fields[i].Name, n, w.fields[0].Name, rows)
		}
		if err := content.add(w.fields[i], c); err != nil {
			return err
		}
	}
	content.begin() // all of it is a multiple of eight bytes
	b, start := &flat{}, w.at
	buffers := b.structs(content.buffers, content.counts[1])
	nodes := b.structs(content.nodes, content.counts[0])
	header := b.table(long(int64(rows)), pointer(nodes), pointer(buffers))
	size, err := w.message(b, headerRecordBatch, header, content.bytes)
	w.blocks = binary.LittleEndian.AppendUint64(w.blocks, uint64(start))
	w.blocks = binary.LittleEndian.AppendUint64(w.blocks, uint64(size)) // an int32 and four bytes of padding
	w.blocks = binary.LittleEndian.AppendUint64(w.blocks, uint64(len(content.bytes)))
	w.count++
	return err
}

// Close ends the file. It does not close what it is written to.
func (w *Writer) Close() error {
	if err := w.write([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}); err != nil {
		return err
	}
	b := &flat{}
	batches := b.structs(w.blocks, w.count)
	dictionaries := b.structs(nil, 0)
	schema := w.schema(b)
	footer := b.finish(b.table(short(version5), pointer(schema), pointer(dictionaries), pointer(batches)))
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	return w.write(append(footer, magic...))
}

// schema adds the schema: little-endian, these fields.
func (w *Writer) schema(b *flat) int {
	fields := make([]int, len(w.fields))
	for i, f := range w.fields {
		fields[i] = f.describe(b)
	}
	return b.table(short(0), pointer(b.pointers(fields)))
}

// message writes a message and its content. It returns how many bytes come
// before the content.
func (w *Writer) message(b *flat, kind uint8, header int, content []byte) (int, error) {
	meta := b.finish(b.table(short(version5), octet(kind), pointer(header), long(int64(len(content)))))
	head := binary.LittleEndian.AppendUint32([]byte{0xff, 0xff, 0xff, 0xff}, uint32(len(meta)))
	if err := w.write(append(head, meta...)); err != nil {
		return 0, err
	}
	return len(head) + len(meta), w.write(content)
}

func (w *Writer) write(p []byte) error {
	n, err := w.out.Write(p)
	w.at += int64(n)
	if err != nil {
		return fmt.Errorf("write Arrow file: %w", err)
	}
	return nil
}

// Kind is the type of a column.
type Kind int

// The kinds of columns.
const (
	Text   Kind = iota // utf8
	Number             // float64
	Vector             // fixed_size_list<item: float32>
)

// Field describes a column. Like those that LanceDB makes, every column may
// hold nulls.
type Field struct {
	Name string
	Kind Kind
	Dim  int // numbers in a vector
}

// Column is the values of one column in a batch: those of its field's kind.
type Column struct {
	Texts   []string
	Numbers []float64
	Vectors [][]float32 // each as long as the field's Dim; nil is null
}

// rows is how many values a column has.
func (c Column) rows(k Kind) int {
	return [...]int{Text: len(c.Texts), Number: len(c.Numbers), Vector: len(c.Vectors)}[k]
}

// The numbers that the format gives to types (Schema.fbs).
const (
	typeFloatingPoint = 3
	typeUtf8          = 5
	typeFixedSizeList = 16

	precisionSingle = 1
	precisionDouble = 2
)

// describe adds a field of the schema.
func (f Field) describe(b *flat) int {
	switch f.Kind {
	case Number:
		return describe(b, f.Name, typeFloatingPoint, b.table(short(precisionDouble)), nil)
	case Vector:
		item := describe(b, "item", typeFloatingPoint, b.table(short(precisionSingle)), nil)
		return describe(b, f.Name, typeFixedSizeList, b.table(word(int32(f.Dim))), []int{item})
	}
	return describe(b, f.Name, typeUtf8, b.table(), nil)
}

func describe(b *flat, name string, kind uint8, details int, children []int) int {
	list := b.pointers(children)
	title := b.text(name)
	return b.table(pointer(title), octet(1), octet(kind), pointer(details), slot{}, pointer(list))
}

// body is the content of a batch, and where it is.
type body struct {
	bytes   []byte
	nodes   []byte // of columns: values and nulls
	buffers []byte // of bytes: where they begin and how many they are
	counts  [2]int // of nodes and buffers
}

func (b *body) node(values, nulls int) {
	b.nodes = binary.LittleEndian.AppendUint64(b.nodes, uint64(values))
	b.nodes = binary.LittleEndian.AppendUint64(b.nodes, uint64(nulls))
	b.counts[0]++
}

// begin starts a buffer, and end ends it.
func (b *body) begin() (start int) {
	b.bytes = append(b.bytes, make([]byte, -len(b.bytes)&7)...)
	return len(b.bytes)
}

func (b *body) end(start int) {
	b.buffers = binary.LittleEndian.AppendUint64(b.buffers, uint64(start))
	b.buffers = binary.LittleEndian.AppendUint64(b.buffers, uint64(len(b.bytes)-start))
	b.counts[1]++
}

// add appends the values of a column.
func (b *body) add(f Field, c Column) error {
	switch f.Kind {
	case Number:
		b.addNumbers(c.Numbers)
		return nil
	case Vector:
		return b.addVectors(f, c.Vectors)
	}
	return b.addTexts(c.Texts)
}

func (b *body) addTexts(texts []string) error {
	b.node(len(texts), 0)
	b.end(b.begin())
	start, offset := b.begin(), 0
	b.bytes = binary.LittleEndian.AppendUint32(b.bytes, 0)
	for _, s := range texts {
		if offset += len(s); offset > math.MaxInt32 {
			return fmt.Errorf("a batch of texts has more than %d bytes", math.MaxInt32)
		}
		b.bytes = binary.LittleEndian.AppendUint32(b.bytes, uint32(offset))
	}
	b.end(start)
	start = b.begin()
	for _, s := range texts {
		b.bytes = append(b.bytes, s...)
	}
	b.end(start)
	return nil
}

func (b *body) addNumbers(numbers []float64) {
	b.node(len(numbers), 0)
	b.end(b.begin())
	start := b.begin()
	for _, x := range numbers {
		b.bytes = binary.LittleEndian.AppendUint64(b.bytes, math.Float64bits(x))
	}
	b.end(start)
}

func (b *body) addVectors(f Field, vectors [][]float32) error {
	start, nulls := b.begin(), 0
	valid := make([]byte, (len(vectors)+7)/8)
	for i, v := range vectors {
		if v != nil {
			valid[i/8] |= 1 << (i % 8)
		} else {
			nulls++
		}
	}
	if nulls > 0 {
		b.bytes = append(b.bytes, valid...)
	}
	b.node(len(vectors), nulls)
	b.end(start)
	b.node(len(vectors)*f.Dim, 0)
	b.end(b.begin())
	start = b.begin()
	for i, v := range vectors {
		if v != nil && len(v) != f.Dim {
			return fmt.Errorf("vector %d of column %s has %d numbers, not %d", i, f.Name, len(v), f.Dim)
		}
		for _, x := range v {
			b.bytes = binary.LittleEndian.AppendUint32(b.bytes, math.Float32bits(x))
		}
		if v == nil {
			b.bytes = append(b.bytes, make([]byte, 4*f.Dim)...)
		}
	}
	b.end(start)
	return nil
}
