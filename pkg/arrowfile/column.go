package arrowfile

import (
	"encoding/binary"
	"fmt"
	"math"
)

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
