package ledger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/sessctl/sessctl/pkg/durable"
	"golang.org/x/mod/sumdb/tlog"
)

// Whether a leaf is in the ledger already is looked up by its hash. The hashes of the
// last file of leaves are at hand; those of the full files before it are looked up in
// their order: a file for 1, 2, 4, ... files of leaves has the numbers of these leaves,
// sorted by their hashes, four bytes each. So a ledger of a million leaves is searched
// in eight such files, a few hundred reads of 32 bytes. As in a binary counter, two of a
// size become one of the next. What they say is compared with the hashes themselves:
// without one, or with a wrong one, a leaf may be added twice and none is lost.

// numberBytes is how long a number in a file of the order is.
const numberBytes = 4

// orderFile is the name of the order of the n-th 1<<height full files of leaves.
func orderFile(height int, n int64) string { return fmt.Sprintf("order-%d-%d", height, n) }

// unknown returns the texts that are no leaves yet, each once.
func unknown(root *os.Root, at extent, texts [][]byte) ([][]byte, error) {
	recent := make(map[tlog.Hash]bool, len(at.tail)+len(texts))
	for _, h := range at.tail {
		recent[h] = true
	}
	earlier, err := openOrders(root, at.number)
	if err != nil {
		return nil, err
	}
	defer earlier.close()
	var fresh [][]byte
	for _, text := range texts {
		h := HashOf(text)
		if recent[h] {
			continue
		}
		recent[h] = true
		known, err := earlier.have(h)
		if err != nil {
			return nil, err
		}
		if !known {
			fresh = append(fresh, text)
		}
	}
	return fresh, nil
}

// orders are the files of the order, which stand for all full files of leaves.
type orders struct {
	hashes *os.File // of the leaves; nil if there are no full files
	all    []order
}

// order is a file of the order, of the leaves from one on.
type order struct {
	file       *os.File
	from, size int64
}

// openOrders opens the files of the order for so many full files of leaves, and makes
// those that are missing.
func openOrders(root *os.Root, full int64) (o *orders, err error) {
	o = &orders{}
	if full == 0 {
		return o, nil
	}
	if o.hashes, err = root.Open(tileFile(0)); err != nil {
		return nil, err
	}
	names, made := map[string]bool{}, false
	for height, from := heightOf(full), int64(0); height >= 0; height-- {
		if full>>height&1 == 0 {
			continue
		}
		one, anew, err := openOrder(root, o.hashes, height, from>>height)
		if err != nil {
			o.close()
			return nil, err
		}
		o.all, names[orderFile(height, from>>height)], made = append(o.all, one), true, made || anew
		from += 1 << height
	}
	if made {
		dropOrders(root, names)
	}
	return o, nil
}

// dropOrders removes the files of the order whose place larger ones have taken.
func dropOrders(root *os.Root, needed map[string]bool) {
	names, _ := fs.Glob(root.FS(), "order-*") // one that stays is not read
	for _, name := range names {
		if !needed[name] {
			_ = durable.RemoveFileIn(root, name) // the same
		}
	}
}

// heightOf is the height of the largest order of so many files.
func heightOf(files int64) (height int) {
	for files>>(height+1) > 0 {
		height++
	}
	return height
}

func (o *orders) close() {
	for _, one := range o.all {
		_ = one.file.Close() // it was only read
	}
	if o.hashes != nil {
		_ = o.hashes.Close() // the same
	}
}

// have reports whether one of the leaves has such a hash.
func (o *orders) have(h tlog.Hash) (bool, error) {
	for _, one := range o.all {
		if known, err := one.has(o.hashes, h); known || err != nil {
			return known, err
		}
	}
	return false, nil
}

// has searches one file.
func (o order) has(hashes io.ReaderAt, h tlog.Hash) (bool, error) {
	var at [numberBytes]byte
	var there tlog.Hash
	for low, high := int64(0), o.size; low < high; {
		middle := (low + high) / 2
		if _, err := o.file.ReadAt(at[:], middle*numberBytes); err != nil {
			return false, err
		}
		number := int64(binary.BigEndian.Uint32(at[:]))
		if _, err := hashes.ReadAt(there[:], (o.from+number%o.size)*tlog.HashSize); err != nil {
			return false, err
		}
		switch bytes.Compare(h[:], there[:]) {
		case 0:
			return true, nil
		case 1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return false, nil
}

// openOrder opens a file of the order, which it makes if there is none of the length
// that it must have, and reports whether it did.
func openOrder(root *os.Root, hashes io.ReaderAt, height int, n int64) (o order, made bool, err error) {
	size := perFile << height
	o = order{from: n * int64(size), size: int64(size)}
	for _, made := range []bool{false, true} {
		if o.file, err = root.Open(orderFile(height, n)); err == nil {
			info, statErr := o.file.Stat()
			if statErr == nil && info.Mode().IsRegular() && info.Size() == o.size*numberBytes {
				return o, made, nil
			}
			_ = o.file.Close() // it was only looked at
			err = errors.Join(statErr, io.ErrUnexpectedEOF)
		}
		if makeErr := makeOrder(root, hashes, height, n); makeErr != nil {
			return order{}, made, makeErr
		}
	}
	return order{}, true, fmt.Errorf("open %s: %w", orderFile(height, n), err)
}

// makeOrder sorts the numbers of leaves by their hashes.
func makeOrder(root *os.Root, hashes io.ReaderAt, height int, n int64) error {
	size := perFile << height
	text := make([]byte, size*tlog.HashSize)
	if _, err := hashes.ReadAt(text, n*int64(len(text))); err != nil {
		return fmt.Errorf("%w: the hashes of its leaves are missing: %w", ErrDamaged, err)
	}
	hashAt := func(i uint32) []byte { return text[int(i)*tlog.HashSize:][:tlog.HashSize] }
	numbers := make([]uint32, size)
	for i := range numbers {
		numbers[i] = uint32(i)
	}
	slices.SortFunc(numbers, func(a, b uint32) int { return bytes.Compare(hashAt(a), hashAt(b)) })
	sorted := make([]byte, 0, size*numberBytes)
	for _, i := range numbers {
		sorted = binary.BigEndian.AppendUint32(sorted, i)
	}
	return replaceSmall(root, orderFile(height, n), sorted)
}
