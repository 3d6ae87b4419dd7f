package session

import (
	"hash/maphash"
	"math/bits"
	"sync"
)

// stringSet remembers strings by their hashes: 8 bytes each, and room. It may be
// used by several goroutines at once. It is cut in shards so that they do not
// wait for each other, and so that no large table is copied when it grows.
type stringSet struct {
	seed   maphash.Seed
	shards [64]hashShard
}

// hashShard is an open table of hashes; 0 is an empty place.
type hashShard struct {
	mu    sync.Mutex
	table []uint64
	used  int
}

func newStringSet() *stringSet { return &stringSet{seed: maphash.MakeSeed()} }

// add reports whether the string was there already.
func (s *stringSet) add(text []byte) (known bool) {
	hash := maphash.Bytes(s.seed, text)
	return s.shards[hash>>58].add(max(hash, 1))
}

func (s *hashShard) add(hash uint64) (known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if 4*s.used >= 3*len(s.table) {
		s.grow()
	}
	if !place(s.table, hash) {
		return true
	}
	s.used++
	return false
}

// grow makes room for half as much again: twice would be half empty.
func (s *hashShard) grow() {
	table := make([]uint64, max(32, len(s.table)*3/2))
	for _, hash := range s.table {
		if hash != 0 {
			place(table, hash)
		}
	}
	s.table = table
}

// place puts a hash into a table that has room, and reports whether it was not
// there.
func place(table []uint64, hash uint64) (fresh bool) {
	at, _ := bits.Mul64(hash<<6, uint64(len(table))) // the first six bits chose the shard
	for {
		switch table[at] {
		case hash:
			return false
		case 0:
			table[at] = hash
			return true
		}
		if at++; at == uint64(len(table)) {
			at = 0
		}
	}
}
