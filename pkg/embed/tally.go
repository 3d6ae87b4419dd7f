package embed

// A tally numbers distinct hashes in the order they are first seen. Two words
// with the same 64-bit hash count as one; that is not seen in practice.
type tally struct {
	hashes []uint64
	slots  []int32 // number + 1, or 0; a power of two, at most half full
}

// number returns the number of hash and whether it is new.
func (t *tally) number(hash uint64) (int, bool) {
	if 2*len(t.hashes) >= len(t.slots) {
		t.grow()
	}
	at := t.find(hash)
	if n := t.slots[at]; n != 0 {
		return int(n - 1), false
	}
	t.hashes = append(t.hashes, hash)
	t.slots[at] = int32(len(t.hashes))
	return len(t.hashes) - 1, true
}

// find returns the slot of hash, or the empty one where it belongs.
func (t *tally) find(hash uint64) int {
	mask := len(t.slots) - 1
	at := int(hash) & mask
	for t.slots[at] != 0 && t.hashes[t.slots[at]-1] != hash {
		at = (at + 1) & mask
	}
	return at
}

func (t *tally) grow() {
	t.slots = make([]int32, max(1024, 2*len(t.slots)))
	for i, hash := range t.hashes {
		t.slots[t.find(hash)] = int32(i + 1)
	}
}

// reset forgets all hashes and keeps the room.
func (t *tally) reset() {
	t.hashes = t.hashes[:0]
	clear(t.slots)
}
