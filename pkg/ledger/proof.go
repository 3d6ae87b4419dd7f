package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/mod/sumdb/tlog"
)

// TreeAt is the tree of the first size leaves.
func (l *Log) TreeAt(size int64) (tree tlog.Tree, err error) {
	err = l.reading(func(r *reader) error {
		if size < 0 || size > r.size {
			return fmt.Errorf("%w: there are %d leaves, and %d were there", ErrDamaged, r.size, size)
		}
		tree.N = size
		tree.Hash, err = tlog.TreeHash(size, r)
		return err
	})
	return tree, err
}

// Verify reads every leaf and computes all hashes again. What it finds wrong with the
// ledger itself is [ErrDamaged]. It returns the tree that it computed.
func (l *Log) Verify(ctx context.Context) (tlog.Tree, error) {
	head, err := l.Sealed() // before the leaves: somebody may be appending
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tlog.Tree{}, err
	}
	var tree tlog.Tree
	err = l.reading(func(r *reader) error {
		if r.size < head.N {
			return fmt.Errorf("%w: there are %d leaves, and its head says %d", ErrDamaged, r.size, head.N)
		}
		if r.root == nil {
			return nil
		}
		hashes, err := leafHashes(ctx, r)
		if err != nil {
			return err
		}
		if err := r.noneLost(); err != nil {
			return err
		}
		all := levelsOf(hashes)
		for level, want := range all {
			if err := sameHashes(r.root, level, r.synced, want); err != nil {
				return err
			}
		}
		tree, err = treeOf(all, r.size, head.Tree)
		return err
	})
	return tree, err
}

// noneLost checks that there are not more hashes than leaves.
func (r *reader) noneLost() error {
	have, err := hashesIn(r.root, 0)
	if err != nil || have <= r.size {
		return err
	}
	now, err := look(r.root)
	if err == nil && have > now.size {
		err = fmt.Errorf("%w: there are %d leaves, and there were %d", ErrDamaged, now.size, have)
	}
	return err
}

// treeOf computes the tree of all leaves, which must begin with that of a head. A head
// of no leaves says nothing.
func treeOf(all [][]byte, size int64, head tlog.Tree) (tlog.Tree, error) {
	hashes := &computed{levels: all}
	hash, err := tlog.TreeHash(size, hashes)
	if err != nil {
		return tlog.Tree{}, err
	}
	begins, err := tlog.TreeHash(min(head.N, size), hashes)
	if err == nil && head.N > 0 && (begins != head.Hash || head.N > size) {
		err = fmt.Errorf("%w: its first %d leaves are not those of its head", ErrDamaged, head.N)
	}
	return tlog.Tree{N: size, Hash: hash}, err
}

func leafHashes(ctx context.Context, r *reader) ([]byte, error) {
	hashes := make([]byte, 0, r.size*tlog.HashSize)
	for n := int64(0); n < r.size; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		lines, err := linesOf(r.root, n/perFile)
		if err != nil {
			return nil, err
		}
		if len(lines) == 0 {
			return nil, fmt.Errorf("%w: %s is empty", ErrDamaged, leavesFile(n/perFile))
		}
		for _, text := range lines[:min(int64(len(lines)), r.size-n)] {
			h := HashOf(text)
			hashes = append(hashes, h[:]...)
			n++
		}
	}
	return hashes, nil
}

// levelsOf are the hashes of every level that is kept.
func levelsOf(hashes []byte) [][]byte {
	all := [][]byte{hashes}
	const tile = tlog.HashSize << tileHeight
	for len(all) < levels {
		below := all[len(all)-1]
		above := make([]byte, 0, len(below)/tile*tlog.HashSize)
		for ; len(below) >= tile; below = below[tile:] {
			h := rootOf(below[:tile])
			above = append(above, h[:]...)
		}
		all = append(all, above)
	}
	return all
}

// computed reads hashes that were just made.
type computed struct{ levels [][]byte }

// ReadHashes implements tlog.HashReader.
func (c *computed) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, 0, len(indexes))
	for _, x := range indexes {
		level, n := tlog.SplitStoredHashIndex(x)
		kept := min(level/tileHeight, levels-1)
		width := int64(tlog.HashSize) << (level - kept*tileHeight)
		if (n+1)*width > int64(len(c.levels[kept])) {
			return nil, fs.ErrNotExist
		}
		hashes = append(hashes, rootOf(c.levels[kept][n*width:(n+1)*width]))
	}
	return hashes, nil
}

// Remake writes the hashes again from the leaves, for where [Log.Verify] says that they
// are damaged and the leaves are those of the head. Nothing is changed otherwise.
func (l *Log) Remake(ctx context.Context) error {
	return l.exclusively(ctx, lockWait, func(root *os.Root) error {
		at, err := look(root)
		if err != nil {
			return err
		}
		hashes, err := leafHashes(ctx, &reader{root: root, size: at.size})
		if err != nil {
			return err
		}
		all := levelsOf(hashes)
		head, err := l.Sealed()
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			_, err = treeOf(all, at.size, head.Tree)
		}
		if err != nil {
			return err
		}
		for level, text := range all {
			if err := replaceSmall(root, tileFile(level), text); err != nil {
				return err
			}
		}
		return nil
	})
}
