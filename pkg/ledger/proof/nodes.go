package proof

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// node is the hash over the leaves from from to to-1.
type node struct {
	from, to int64
	hash     tlog.Hash
}

// nodes are pieces of a tree that follow each other without a gap, from its first
// leaf on.
type nodes []node

// errUncut is returned where a tree ends, or is divided, within one piece.
var errUncut = errors.New("the file has no hash that ends there")

// end is the number of leaves that the pieces cover.
func (n nodes) end() int64 {
	if len(n) == 0 {
		return 0
	}
	return n[len(n)-1].to
}

// add appends a piece. It must begin where the last one ends.
func (n *nodes) add(p node) error {
	if p.from != n.end() || p.to <= p.from {
		return fmt.Errorf("the piece from %d to %d does not follow leaf %d", p.from, p.to, n.end())
	}
	*n = append(*n, p)
	return nil
}

// root is the root of the tree of the first size leaves, as RFC 6962 defines it.
func (n nodes) root(size int64) (tlog.Hash, error) {
	if size == 0 {
		return sha256.Sum256(nil), nil
	}
	i, found := slices.BinarySearchFunc(n, size, func(p node, size int64) int { return int(min(max(p.to-size, -1), 1)) })
	if !found {
		return tlog.Hash{}, errUncut
	}
	return n[:i+1].over(0, size)
}

// over is the hash over the leaves from from to to-1, which these pieces cover.
func (n nodes) over(from, to int64) (tlog.Hash, error) {
	if len(n) == 1 {
		if n[0].from == from && n[0].to == to {
			return n[0].hash, nil
		}
		return tlog.Hash{}, errUncut
	}
	middle := from + largestBelow(to-from)
	i, found := slices.BinarySearchFunc(n, middle, func(p node, middle int64) int { return int(min(max(p.from-middle, -1), 1)) })
	if !found || i == 0 {
		return tlog.Hash{}, errUncut
	}
	left, err := n[:i].over(from, middle)
	if err != nil {
		return left, err
	}
	right, err := n[i:].over(middle, to)
	return tlog.NodeHash(left, right), err
}

// largestBelow is the largest power of two below n, which is at least 2.
func largestBelow(n int64) int64 { return 1 << (bits.Len64(uint64(n-1)) - 1) }

// cover makes pieces of the hashes of leaves that are hidden, the first of which is
// leaf from: the largest subtrees that lie within them and across no cut.
func cover(from int64, hashes []tlog.Hash, cuts []int64) (all nodes) {
	for at := from; len(hashes) > 0; {
		width := int64(1)
		for next := 2; at%int64(next) == 0 && next <= len(hashes) && !across(at, at+int64(next), cuts); next *= 2 {
			width = int64(next)
		}
		all = append(all, node{at, at + width, complete(hashes[:width])})
		at, hashes = at+width, hashes[width:]
	}
	return all
}

func across(from, to int64, cuts []int64) bool {
	return slices.ContainsFunc(cuts, func(cut int64) bool { return from < cut && cut < to })
}

// complete is the root over a power of two of leaves.
func complete(hashes []tlog.Hash) tlog.Hash {
	if len(hashes) == 1 {
		return hashes[0]
	}
	half := len(hashes) / 2
	return tlog.NodeHash(complete(hashes[:half]), complete(hashes[half:]))
}
