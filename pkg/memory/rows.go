package memory

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"os"
	"slices"
	"unsafe"
)

// blockRows is how many rows are in memory at a time, at most. Rows that
// nobody wants are read along if they are no more than gapRows in a row:
// another call costs about as much.
const (
	blockRows = 1024
	gapRows   = 16
)

// place names one vector: the record it belongs to, its file and row.
type place struct {
	record     int64
	file       string
	slot       int64
	crc        uint32
	importance float64
}

// block is a run of rows of one file. rows[i] is the vector of places[i]; all
// rows are slices of one buffer and valid until the next block.
type block struct {
	places []place
	rows   [][]float32
}

// rowReader reads vectors in blocks: its memory does not grow with the files.
type rowReader struct {
	dim     int
	buffer  []float32
	damaged int // rows passed over because they are lost or do not verify
}

// each hands out the rows of places that verify, file by file in the order of
// slots. A row that does not verify is passed over and counted: its record is
// found by its text.
func (r *rowReader) each(ctx context.Context, places []place, fn func(b block) error) error {
	places = slices.Clone(places)
	slices.SortFunc(places, func(x, y place) int { return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.slot, y.slot)) })
	for len(places) > 0 {
		n := 1
		for n < len(places) && places[n].file == places[0].file {
			n++
		}
		if err := r.file(ctx, places[:n], fn); err != nil {
			return err
		}
		places = places[n:]
	}
	return nil
}

// file reads the rows of one file.
func (r *rowReader) file(ctx context.Context, places []place, fn func(b block) error) error {
	f, err := os.Open(places[0].file)
	if errors.Is(err, os.ErrNotExist) {
		r.damaged += len(places)
		return nil
	}
	if err != nil {
		return fmt.Errorf("open vectors: %w", err)
	}
	defer f.Close()
	for len(places) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := 1
		for n < len(places) && places[n].slot < places[0].slot+blockRows && places[n].slot <= places[n-1].slot+gapRows {
			n++
		}
		if err := fn(r.read(f, places[:n])); err != nil {
			return err
		}
		places = places[n:]
	}
	return nil
}

// read reads the span of the file that holds places, all within blockRows.
func (r *rowReader) read(f *os.File, places []place) block {
	first := places[0].slot
	size := int(rowBytes(r.dim))
	if need := int(places[len(places)-1].slot-first+1) * r.dim; len(r.buffer) < need {
		r.buffer = make([]float32, need)
	}
	raw := bytesOf(r.buffer)[:int(places[len(places)-1].slot-first+1)*size]
	got, _ := f.ReadAt(raw, first*int64(size)) // what is missing does not verify
	clear(raw[got:])
	b := block{places: make([]place, 0, len(places)), rows: make([][]float32, 0, len(places))}
	for _, p := range places {
		at := int(p.slot - first)
		if crc32.Checksum(raw[at*size:][:size], castagnoli()) != p.crc {
			r.damaged++
			continue
		}
		row := r.buffer[at*r.dim:][:r.dim]
		fromLittleEndian(row)
		b.places, b.rows = append(b.places, p), append(b.rows, row)
	}
	return b
}

// bytesOf is the memory of floats, to read a file into.
func bytesOf(floats []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(floats))), 4*len(floats))
}

// fromLittleEndian turns what a file holds into numbers, in place. On all
// machines that this is released for, they are the same.
func fromLittleEndian(row []float32) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return
	}
	words := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(row))), len(row))
	for i, w := range words {
		words[i] = bits.ReverseBytes32(w)
	}
}
