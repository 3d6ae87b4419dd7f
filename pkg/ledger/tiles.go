package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/sessctl/sessctl/pkg/durable"
	"golang.org/x/mod/sumdb/tlog"
)

// Of the levels of the tree every eighth is kept, each in a file: tile-0 has the hashes
// of the leaves, tile-1 that of each 256 of these, and so on. A tile of height 8 of
// package tlog is 8192 bytes of such a file. What lies between is computed.
const (
	tileHeight = 8
	levels     = 4 // enough for four thousand million leaves
)

func tileFile(n int) string { return fmt.Sprintf("tile-%d", n) }

// hashesOn is how many hashes the file of a level has in a tree of a size.
func hashesOn(level int, size int64) int64 { return size >> (tileHeight * level) }

// complete makes the hashes again that are missing, and those of the last file of leaves
// that are not what they must be: they were not synced, and a power cut leaves anything
// in their place. More of them than leaves means that leaves are gone.
func complete(root *os.Root, at extent) error {
	have, err := hashesIn(root, 0)
	switch {
	case err != nil:
		return err
	case have > at.size:
		return fmt.Errorf("%w: there are %d leaves, and there were %d", ErrDamaged, at.size, have)
	}
	settled := at.full()
	if have, err = sound(root, at, have); err != nil {
		return err
	}
	for n := have; n < at.size; {
		hashes, err := hashesFrom(root, at, n)
		if err != nil {
			return err
		}
		if err := extendTiles(root, n, hashes); err != nil {
			return err
		}
		n += int64(len(hashes))
	}
	if have < settled {
		settled = have
	}
	return extendAbove(root, settled, at.size, false)
}

// hashesFrom computes the hashes of a leaf and of those behind it in its file.
func hashesFrom(root *os.Root, at extent, n int64) ([]tlog.Hash, error) {
	if n >= at.full() {
		return at.tail[n-at.full():], nil
	}
	lines, err := linesOf(root, n/perFile)
	if err != nil {
		return nil, err
	}
	if int64(len(lines)) <= n%perFile {
		return nil, fmt.Errorf("%w: %s has %d leaves", ErrDamaged, leavesFile(n/perFile), len(lines))
	}
	var hashes []tlog.Hash
	for _, text := range lines[n%perFile:] {
		hashes = append(hashes, HashOf(text))
	}
	return hashes, nil
}

// sound is how many of the hashes there are before the first of the last file of leaves
// that is not what it must be.
func sound(root *os.Root, at extent, have int64) (int64, error) {
	from := at.full()
	if have <= from {
		return have, nil
	}
	f, err := root.Open(tileFile(0))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	kept := make([]byte, (have-from)*tlog.HashSize)
	if _, err := f.ReadAt(kept, from*tlog.HashSize); err != nil {
		return 0, err
	}
	for i, h := range at.tail[:have-from] {
		if !bytes.Equal(h[:], kept[i*tlog.HashSize:][:tlog.HashSize]) {
			return from + int64(i), nil
		}
	}
	return have, nil
}

// hashesIn is how many whole hashes there are in the file of a level.
func hashesIn(root *os.Root, level int) (int64, error) {
	info, err := root.Lstat(tileFile(level))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s: %w", tileFile(level), durable.ErrNotRegular)
	}
	return info.Size() / tlog.HashSize, nil
}

// extendTiles adds the hashes of leaves from a number on, and those above them. They are
// synced where a file of leaves ends: what is before its beginning needs no look later.
func extendTiles(root *os.Root, from int64, hashes []tlog.Hash) error {
	size := from + int64(len(hashes))
	lasting := size%perFile == 0
	text := make([]byte, 0, len(hashes)*tlog.HashSize)
	for _, h := range hashes {
		text = append(text, h[:]...)
	}
	if err := durable.WriteTailIn(root, tileFile(0), from*tlog.HashSize, text, lasting); err != nil {
		return err
	}
	return extendAbove(root, from, size, lasting)
}

// extendAbove adds what is missing on the levels above the leaves, and makes what is
// above leaves from a number on again.
func extendAbove(root *os.Root, from, size int64, lasting bool) error {
	for level := 1; level < levels; level++ {
		have, err := hashesIn(root, level)
		if err != nil {
			return err
		}
		want := hashesOn(level, size)
		if have = min(have, hashesOn(level, from)); have >= want {
			continue
		}
		text, err := nodes(root, level, have, want)
		if err != nil {
			return err
		}
		if err := durable.WriteTailIn(root, tileFile(level), have*tlog.HashSize, text, lasting); err != nil {
			return err
		}
	}
	return nil
}

// nodes computes hashes of a level from those of the one below.
func nodes(root *os.Root, level int, from, to int64) ([]byte, error) {
	below, err := root.Open(tileFile(level - 1))
	if err != nil {
		return nil, err
	}
	defer below.Close()
	var out []byte
	tile := make([]byte, tlog.HashSize<<tileHeight)
	for n := from; n < to; n++ {
		if _, err := below.ReadAt(tile, n*int64(len(tile))); err != nil {
			return nil, err
		}
		h := rootOf(tile)
		out = append(out, h[:]...)
	}
	return out, nil
}

// rootOf is the root of a complete tree of the hashes in a text.
func rootOf(hashes []byte) tlog.Hash {
	if len(hashes) == tlog.HashSize {
		return tlog.Hash(hashes)
	}
	half := len(hashes) / 2
	return tlog.NodeHash(rootOf(hashes[:half]), rootOf(hashes[half:]))
}

// reader reads hashes of a ledger as it was when it was opened.
type reader struct {
	root  *os.Root
	size  int64
	tiles [levels]*os.File // nil where there is none
	// synced is how many of the first leaves have hashes that were synced. Those of the
	// others are made again: tail is of the last leaves.
	synced int64
	tail   []tlog.Hash
}

func newReader(root *os.Root) (*reader, error) {
	at, err := look(root)
	if err != nil {
		return nil, err
	}
	r := &reader{root: root, size: at.size, synced: at.full()}
	for level := range r.tiles {
		r.tiles[level], err = root.Open(tileFile(level))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.close()
			return nil, err
		}
	}
	if err := r.readTail(at); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// readTail makes the hashes again that were not synced, or not written.
func (r *reader) readTail(at extent) error {
	have, err := hashesIn(r.root, 0)
	have = min(have, r.synced)
	for n := have; err == nil && n < r.size; n = have + int64(len(r.tail)) {
		var hashes []tlog.Hash
		hashes, err = hashesFrom(r.root, at, n)
		r.tail = append(r.tail, hashes...)
	}
	return err
}

func (r *reader) close() {
	for _, f := range r.tiles {
		if f != nil {
			_ = f.Close() // it was only read
		}
	}
}

// ReadHashes implements tlog.HashReader.
func (r *reader) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, 0, len(indexes))
	for _, x := range indexes {
		h, err := r.hash(tlog.SplitStoredHashIndex(x))
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, h)
	}
	return hashes, nil
}

// hash is a node of the tree: from a file, or computed from the two below it.
func (r *reader) hash(level int, n int64) (tlog.Hash, error) {
	if level%tileHeight == 0 && level/tileHeight < levels && (n+1)<<level <= r.synced {
		if h, ok, err := r.kept(level/tileHeight, n); ok || err != nil {
			return h, err
		}
	}
	if level == 0 {
		if behind := n - (r.size - int64(len(r.tail))); behind >= 0 && behind < int64(len(r.tail)) {
			return r.tail[behind], nil
		}
		return tlog.Hash{}, fmt.Errorf("%w: the hash of leaf %d is missing", ErrDamaged, n)
	}
	left, err := r.hash(level-1, 2*n)
	if err != nil {
		return left, err
	}
	right, err := r.hash(level-1, 2*n+1)
	return tlog.NodeHash(left, right), err
}

func (r *reader) kept(level int, n int64) (h tlog.Hash, ok bool, err error) {
	if r.tiles[level] == nil {
		return h, false, nil
	}
	_, err = r.tiles[level].ReadAt(h[:], n*tlog.HashSize)
	if errors.Is(err, io.EOF) {
		return h, false, nil
	}
	return h, err == nil, err
}

// sameHashes compares the file of a level with what it must have, as far as it was
// synced: the hashes of so many leaves.
func sameHashes(root *os.Root, level int, synced int64, want []byte) error {
	want = want[:min(int64(len(want)), hashesOn(level, synced)*tlog.HashSize)]
	have, err := root.ReadFile(tileFile(level))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	have = have[:min(len(have), len(want))]
	if !bytes.Equal(have, want[:len(have)]) {
		return fmt.Errorf("%w: the hashes in %s are not those of the leaves", ErrDamaged, tileFile(level))
	}
	return nil
}
