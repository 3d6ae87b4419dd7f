package wordtable

import (
	"errors"
	"fmt"
	"math"
)

const (
	magic      = "WORDTAB1"
	headerSize = 24
	maxWords   = math.MaxUint16 - 1 // row + 1 has 16 bits
)

// ErrFormat is returned when data is not a whole table.
var ErrFormat = errors.New("not a word table")

// A Table is an open table. It only reads, so any number of goroutines may
// share it.
type Table struct {
	words, dim, mask      int
	slots, starts, scales string
	text, rows            string
}

// Open finds the sections of a table in data, which it keeps. It reads the
// header only and takes the same few nanoseconds for any size. It returns
// ErrFormat if the header does not describe len(data) bytes.
func Open(data string) (Table, error) {
	if len(data) < headerSize || data[:len(magic)] != magic {
		return Table{}, fmt.Errorf("%w: no %s header", ErrFormat, magic)
	}
	n, dim, slots, text := int(u32(data, 8)), int(u32(data, 12)), int(u32(data, 16)), int(u32(data, 20))
	if n > maxWords || slots <= n || slots&(slots-1) != 0 {
		return Table{}, fmt.Errorf("%w: %d words in %d slots", ErrFormat, n, slots)
	}
	want := int64(headerSize) + 4*int64(slots) + 4*int64(n+1) + 4*int64(n) + int64(text) + int64(n)*int64(dim)
	if int64(len(data)) != want {
		return Table{}, fmt.Errorf("%w: %d bytes, not %d", ErrFormat, len(data), want)
	}
	t := Table{words: n, dim: dim, mask: slots - 1}
	rest := data[headerSize:]
	t.slots, rest = rest[:4*slots], rest[4*slots:]
	t.starts, rest = rest[:4*(n+1)], rest[4*(n+1):]
	t.scales, rest = rest[:4*n], rest[4*n:]
	t.text, t.rows = rest[:text], rest[text:]
	return t, nil
}

// Len is the number of words.
func (t *Table) Len() int { return t.words }

// Dim is the number of components of a row.
func (t *Table) Dim() int { return t.dim }

// Word returns the word of a row, 0 <= row < Len.
func (t *Table) Word(row int) string {
	return t.text[u32(t.starts, 4*row):u32(t.starts, 4*row+4)]
}

// Row returns the components of a row, to be read as int8, and what they are
// multiplied by; 0 <= row < Len.
func (t *Table) Row(row int) (components string, scale float32) {
	return t.rows[row*t.dim : (row+1)*t.dim], math.Float32frombits(u32(t.scales, 4*row))
}

// Lookup returns the row of a word whose Hash is hash, or -1.
func (t *Table) Lookup(hash uint64, word []byte) int {
	for i := int(hash) & t.mask; ; i = (i + 1) & t.mask {
		slot := u32(t.slots, 4*i)
		if slot == 0 {
			return -1
		}
		row := int(slot&math.MaxUint16) - 1
		if uint64(slot>>16) == hash>>48 && t.Word(row) == string(word) {
			return row
		}
	}
}

// Hash is the 64-bit FNV-1a of a word, its bits then mixed by the 64-bit
// finalizer of MurmurHash3, so that both ends of it are fit for slots.
func Hash[T string | []byte](word T) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

func u32(s string, at int) uint32 {
	s = s[at : at+4]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}
