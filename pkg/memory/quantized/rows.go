package quantized

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"
)

// A vector is kept as a row of small whole numbers: docs/dev/decisions.md D27 says
// what that saves and that it finds the same. A row holds
//
//	size   uint16   of the row, in units of 4 bytes
//	split  uint16   how many components are listed, a multiple of 64
//	listed uint16   how many of those are not 0
//	peakAt uint16   the largest component, which is kept apart: it would make all
//	                others coarse
//	scale  float32  what the numbers are multiplied by
//	peak   float32  the largest component
//	bitmap          a bit for each of the first split components, that it is not 0
//	numbers         int8, of those that have a bit
//	numbers         int8, of all others, to a multiple of 8
//
// and zeroes to a multiple of 4 bytes, all of it little-endian. The vectors of
// the built-in embedder are mostly zeroes, those of served models never: what
// is listed is what makes the row shortest.
const (
	rowHeader = 16
	slotBytes = 4
	// largestNumber is the largest int8 that is used: its opposite is one too.
	largestNumber = 127
	// maxDim is the largest dimension whose row has a size that fits.
	maxDim = 1 << 15
)

// Cut returns the row that data begins with, or nil if there is none.
func Cut(data []byte) []byte {
	if len(data) < slotBytes {
		return nil
	}
	size := slotBytes * int(binary.LittleEndian.Uint16(data))
	if size == 0 || size > len(data) {
		return nil
	}
	return data[:size]
}

// Decode writes the vector of a row. It reports whether it is one.
func Decode(row []byte, vector []float32) bool {
	p, ok := openRow(row, len(vector))
	if ok {
		p.decode(vector)
	}
	return ok
}

// Sum is the checksum of a row: its CRC-32C.
func Sum(row []byte) uint32 { return crc32.Checksum(row, crc32.MakeTable(crc32.Castagnoli)) }

// packedRow is a row whose parts were found.
type packedRow struct {
	split       int
	peakAt      int
	scale, peak float32
	bitmap      []byte
	listed      []byte
	others      []byte // of the components from split on; to a multiple of 8
}

// openRow finds the parts of a row. It reports false for what is none.
func openRow(row []byte, dim int) (p packedRow, ok bool) {
	if len(row) < rowHeader {
		return p, false
	}
	listed := int(binary.LittleEndian.Uint16(row[4:]))
	p = packedRow{
		split: int(binary.LittleEndian.Uint16(row[2:])), peakAt: int(binary.LittleEndian.Uint16(row[6:])),
		scale: math.Float32frombits(binary.LittleEndian.Uint32(row[8:])), peak: math.Float32frombits(binary.LittleEndian.Uint32(row[12:])),
	}
	if p.split%64 != 0 || p.split > dim || p.peakAt >= dim || listed > p.split {
		return p, false
	}
	numbers, end := rowHeader+p.split/8, rowHeader+p.split/8+listed
	if end+padded(dim-p.split) > len(row) {
		return p, false
	}
	p.bitmap, p.listed, p.others = row[rowHeader:numbers], row[numbers:end], row[end:end+padded(dim-p.split)]
	return p, true
}

// padded is a number of components, made a multiple of 8.
func padded(n int) int { return (n + 7) &^ 7 }

// decode writes the vector, which has unit length.
func (p *packedRow) decode(vector []float32) {
	clear(vector[:p.split])
	listed := p.listed
	for at := 0; at < p.split; at += 64 {
		for word := binary.LittleEndian.Uint64(p.bitmap[at/8:]); word != 0 && len(listed) > 0; word &= word - 1 {
			vector[at+bits.TrailingZeros64(word)] = p.scale * float32(int8(listed[0]))
			listed = listed[1:]
		}
	}
	for i := range vector[p.split:] {
		vector[p.split+i] = p.scale * float32(int8(p.others[i]))
	}
	vector[p.peakAt] = p.peak
}

// appendRow appends the row of a vector of unit length.
func appendRow(rows []byte, unit []float32, numbers []int8) []byte {
	peakAt, scale, peak := quantize(unit, numbers)
	split := bestSplit(numbers)
	start := len(rows)
	rows = append(rows, make([]byte, rowHeader+split/8)...)
	rows, listed := appendListed(rows, start+rowHeader, numbers[:split])
	for _, n := range numbers[split:] {
		rows = append(rows, byte(n))
	}
	rows = append(rows, make([]byte, padded(len(unit)-split)-(len(unit)-split))...)
	for (len(rows)-start)%slotBytes != 0 {
		rows = append(rows, 0)
	}
	head := rows[start:]
	for i, x := range []int{len(head) / slotBytes, split, listed, peakAt} {
		binary.LittleEndian.PutUint16(head[2*i:], uint16(x))
	}
	binary.LittleEndian.PutUint32(head[8:], math.Float32bits(scale))
	binary.LittleEndian.PutUint32(head[12:], math.Float32bits(peak))
	return rows
}

// appendListed appends the numbers that are not 0 and marks them in the bitmap,
// which begins at a byte of rows. Every number is written, and the next one over it
// if it is 0: which are cannot be foreseen, and a processor that guesses wrong waits.
func appendListed(rows []byte, bitmap int, numbers []int8) (_ []byte, listed int) {
	from := len(rows)
	rows = slices.Grow(rows, len(numbers))
	room := rows[from : from+len(numbers)]
	for at := 0; at < len(numbers); at += 64 {
		word := uint64(0)
		for i, n := range numbers[at : at+64] {
			room[listed] = byte(n)
			there := 0
			if n != 0 {
				there = 1
			}
			word |= uint64(there) << i
			listed += there
		}
		binary.LittleEndian.PutUint64(rows[bitmap+at/8:], word)
	}
	return rows[:from+listed], listed
}

// quantize finds the whole numbers that are nearest to a vector in its
// direction. What they stand for has unit length, as the vector has.
func quantize(unit []float32, numbers []int8) (peakAt int, scale, peak float32) {
	peakAt, second := largestTwo(unit)
	clear(numbers)
	sum := 0.0
	for i, x := range unit {
		if i == peakAt || second == 0 || x == 0 { // most are 0
			continue
		}
		n := roundHalf(float64(x) / second * largestNumber)
		numbers[i] = int8(n)
		sum += float64(n * n)
	}
	top := float64(unit[peakAt])
	step := second / largestNumber
	length := math.Sqrt(step*step*sum + top*top)
	return peakAt, float32(step / length), float32(top / length)
}

// largestTwo finds the largest component, without its sign, and the size of the
// second largest. Nearly every component is smaller than both.
func largestTwo(unit []float32) (peakAt int, second float64) {
	// The bits of numbers without a sign are in the order of the numbers.
	const withoutSign = 1<<31 - 1
	top, next := math.Float32bits(unit[0])&withoutSign, uint32(0)
	for i, x := range unit[1:] {
		switch size := math.Float32bits(x) & withoutSign; {
		case size <= next:
		case size > top:
			next, top, peakAt = top, size, i+1
		default:
			next = size
		}
	}
	return peakAt, float64(math.Float32frombits(next))
}

// roundHalf is math.Round of a number of at most a few digits, faster: the addend
// is the largest number below a half, so that what is just below a half is not
// rounded up.
func roundHalf(x float64) int { return int(x + math.Copysign(belowHalf, x)) }

const belowHalf = 0.49999999999999994

// bestSplit is how many components are best listed by a bitmap: a multiple of
// 64.
func bestSplit(numbers []int8) (split int) {
	size, best := 0, 0
	for at := 64; at <= len(numbers); at += 64 {
		for _, n := range numbers[at-64 : at] {
			if n == 0 {
				size--
			}
		}
		if size += 64 / 8; size < best {
			split, best = at, size
		}
	}
	return split
}

// Packer makes rows of vectors of one dimension, one after the other.
type Packer struct {
	unit    []float32
	numbers []int8
}

// NewPacker returns a packer of vectors of a dimension. One that has no row is an
// error.
func NewPacker(dim int) (*Packer, error) {
	if dim > maxDim {
		return nil, fmt.Errorf("vectors of %d components are too long, at most %d", dim, maxDim)
	}
	return &Packer{make([]float32, 0, dim), make([]int8, dim)}, nil
}

// Append appends the row of a vector, scaled to unit length, and returns it apart,
// too. It is nil for a vector that has no direction: its length is 0 or not finite.
func (p *Packer) Append(rows []byte, vector []float32) (all, row []byte) {
	if length := norm(vector); length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return rows, nil
	}
	start := len(rows)
	p.unit = appendUnit(p.unit[:0], vector)
	rows = appendRow(rows, p.unit, p.numbers)
	return rows, rows[start:len(rows):len(rows)]
}

// Unit returns a vector scaled to unit length.
func Unit(v []float32) []float32 { return appendUnit(make([]float32, 0, len(v)), v) }

func appendUnit(unit, v []float32) []float32 {
	scale := 1 / norm(v)
	for _, x := range v {
		unit = append(unit, float32(float64(x)*scale))
	}
	return unit
}

func norm(v []float32) float64 { return math.Sqrt(Dot(v, v)) }

// Dot is the inner product of two vectors, in float64.
func Dot(x, y []float32) float64 {
	sum := 0.0
	for i := range x {
		sum += float64(x[i]) * float64(y[i])
	}
	return sum
}
