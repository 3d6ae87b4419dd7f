package arrowfile

import (
	"encoding/binary"
	"fmt"
	"io"
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
