package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// A GGUF file (version 3, little-endian) is a magic word, the numbers of
// tensors and of metadata, the metadata, a description of every tensor, and the
// tensors' numbers, each tensor beginning at a multiple of 32 bytes.
const (
	ggufMagic     = "GGUF"
	ggufVersion   = 3
	ggufAlignment = 32
)

// The types of metadata, and of tensors.
const (
	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9

	tensorFloat32 = 0
	tensorFloat16 = 1
)

// metadata is a key and a string, bool, uint32, float32, []string, []float32 or
// []int32.
type metadata struct {
	key   string
	value any
}

// tensor is a matrix of rows of columns, or a vector (rows is 0).
type tensor struct {
	name          string
	columns, rows int
	half          bool                // stored as float16
	row           func(out []float32) // writes the next row
}

func (t tensor) bytes() int64 {
	n := int64(t.columns) * int64(max(t.rows, 1))
	if t.half {
		return 2 * n
	}
	return 4 * n
}

// ggufWriter writes the parts of a file. After an error it writes nothing.
type ggufWriter struct {
	out io.Writer
	n   int64
	err error
}

func (w *ggufWriter) write(values ...any) {
	for _, v := range values {
		if w.err != nil {
			return
		}
		if s, ok := v.(string); ok {
			w.write(uint64(len(s)), []byte(s))
			continue
		}
		w.err = binary.Write(w.out, binary.LittleEndian, v)
		w.n += int64(binary.Size(v))
	}
}

func (w *ggufWriter) align() { w.write(make([]byte, padding(w.n))) }

// padding is how many bytes are missing to the next aligned place.
func padding(n int64) int64 { return (ggufAlignment - n%ggufAlignment) % ggufAlignment }

func writeGGUF(out io.Writer, all []metadata, tensors []tensor) error {
	w := &ggufWriter{out: out}
	w.write([]byte(ggufMagic), uint32(ggufVersion), uint64(len(tensors)), uint64(len(all)))
	for _, m := range all {
		w.write(m.key)
		w.metadata(m.value)
	}
	at := int64(0)
	for _, t := range tensors {
		w.describe(t, at)
		at += t.bytes() + padding(t.bytes())
	}
	w.align()
	for _, t := range tensors {
		w.numbers(t)
		w.align()
	}
	return w.err
}

func (w *ggufWriter) metadata(value any) {
	switch v := value.(type) {
	case string:
		w.write(uint32(typeString), v)
	case bool:
		w.write(uint32(typeBool), v)
	case uint32:
		w.write(uint32(typeUint32), v)
	case float32:
		w.write(uint32(typeFloat32), v)
	case []string:
		w.write(uint32(typeArray), uint32(typeString), uint64(len(v)))
		for _, s := range v {
			w.write(s)
		}
	case []float32:
		w.write(uint32(typeArray), uint32(typeFloat32), uint64(len(v)), v)
	case []int32:
		w.write(uint32(typeArray), uint32(typeInt32), uint64(len(v)), v)
	default:
		w.err = fmt.Errorf("metadata of type %T", value)
	}
}

// describe writes where a tensor is, and its shape, the columns first.
func (w *ggufWriter) describe(t tensor, at int64) {
	w.write(t.name)
	if t.rows == 0 {
		w.write(uint32(1), uint64(t.columns))
	} else {
		w.write(uint32(2), uint64(t.columns), uint64(t.rows))
	}
	kind := uint32(tensorFloat32)
	if t.half {
		kind = tensorFloat16
	}
	w.write(kind, uint64(at))
}

func (w *ggufWriter) numbers(t tensor) {
	row, halves := make([]float32, t.columns), make([]uint16, t.columns)
	for range max(t.rows, 1) {
		t.row(row)
		if !t.half {
			w.write(row)
			continue
		}
		for i, x := range row {
			halves[i] = float16(x)
		}
		w.write(halves)
	}
}

// float16 is the nearest half-precision number towards zero; what is too small
// for a normal one is zero, what is too large the largest.
func float16(x float32) uint16 {
	bits := math.Float32bits(x)
	sign, exponent, fraction := uint16(bits>>16)&0x8000, int(bits>>23&0xff)-127, uint16(bits>>13)&0x3ff
	switch {
	case exponent < -14:
		return sign
	case exponent > 15:
		return sign | 0x7bff
	}
	return sign | uint16(exponent+15)<<10 | fraction
}
