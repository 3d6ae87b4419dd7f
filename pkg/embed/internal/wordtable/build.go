package wordtable

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Build makes a table of words and their rows, both by falling frequency. A
// row is rounded to int8 in steps of its largest component / 127. The same
// input gives the same bytes on every platform. It fails on an empty or double
// word, on rows of different lengths or not finite, and on more than 65,534
// words.
func Build(words []string, rows [][]float64) ([]byte, error) {
	if len(words) != len(rows) || len(words) == 0 || len(words) > maxWords {
		return nil, fmt.Errorf("build word table: %d words and %d rows", len(words), len(rows))
	}
	slots, err := fillSlots(words)
	if err != nil {
		return nil, err
	}
	starts := make([]uint32, 1, len(words)+1)
	var text []byte
	for _, w := range words {
		text = append(text, w...)
		starts = append(starts, uint32(len(text)))
	}
	dim := len(rows[0])
	scales, components, err := round(rows, dim)
	if err != nil {
		return nil, err
	}
	out := appendU32([]byte(magic), uint32(len(words)), uint32(dim), uint32(len(slots)), uint32(len(text)))
	out = appendU32(out, slots...)
	out = appendU32(out, starts...)
	out = appendU32(out, scales...)
	return append(append(out, text...), components...), nil
}

// fillSlots places the words in the smallest power of two that leaves a third
// of the slots empty.
func fillSlots(words []string) ([]uint32, error) {
	size := 2
	for 2*size < 3*len(words) {
		size *= 2
	}
	slots := make([]uint32, size)
	for row, w := range words {
		h := Hash(w)
		i := int(h) & (size - 1)
		for ; slots[i] != 0; i = (i + 1) & (size - 1) {
			if words[slots[i]&math.MaxUint16-1] == w {
				return nil, fmt.Errorf("build word table: %q twice", w)
			}
		}
		if w == "" {
			return nil, fmt.Errorf("build word table: word %d is empty", row)
		}
		slots[i] = uint32(h>>48)<<16 | uint32(row+1)
	}
	return slots, nil
}

// round returns the scale of every row as float32 bits, and the int8
// components of all.
func round(rows [][]float64, dim int) (scales []uint32, components []byte, err error) {
	for i, row := range rows {
		if len(row) != dim {
			return nil, nil, fmt.Errorf("build word table: row %d has %d components, not %d", i, len(row), dim)
		}
		top := 0.0
		for _, x := range row {
			top = max(top, math.Abs(x))
		}
		scale := float32(top / math.MaxInt8)
		if s := float64(scale); math.IsNaN(s) || math.IsInf(s, 0) {
			return nil, nil, fmt.Errorf("build word table: row %d is not finite", i)
		}
		scales = append(scales, math.Float32bits(scale))
		for _, x := range row {
			components = append(components, byte(step(x, float64(scale))))
		}
	}
	return scales, components, nil
}

func step(x, scale float64) int8 {
	if scale == 0 {
		return 0
	}
	return int8(max(-math.MaxInt8, min(math.MaxInt8, math.Round(x/scale))))
}

func appendU32(out []byte, numbers ...uint32) []byte {
	for _, n := range numbers {
		out = binary.LittleEndian.AppendUint32(out, n)
	}
	return out
}
