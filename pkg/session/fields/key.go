package fields

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// key is the name of a member, as it is looked for.
type key struct {
	first, last uint64 // see ends
	name        string
}

// bothEnds is the length up to which a name is nothing but its ends.
const bothEnds = 16

// ends are the first and the last eight bytes of a name, which tell names of the same
// length apart faster than a comparison of all bytes. A name of less than eight bytes
// has no last ones.
func ends(name []byte) (first, last uint64) {
	n := len(name)
	switch {
	case n >= 8:
		return binary.LittleEndian.Uint64(name), binary.LittleEndian.Uint64(name[n-8:])
	case cap(name) >= 8: // there mostly is more text behind a name
		return binary.LittleEndian.Uint64(name[:8]) & (1<<(8*n&63) - 1), 0
	}
	return short(name), 0
}

func short(name []byte) (first uint64) {
	for i, b := range name {
		first |= uint64(b) << (8 * i)
	}
	return first
}

// place is where among 1<<(64-shift) places a name is.
func place(first, last uint64, length int, seed uint64, shift uint8) uint64 {
	return (first ^ bits.RotateLeft64(last, 29) + uint64(length)) * seed >> (shift & 63)
}

// find is the member of a name, nil for one that does not matter.
func (o *object) find(name []byte) *member {
	first, last := ends(name)
	i := place(first, last, len(name), o.seed, o.shift)
	if i >= uint64(len(o.places)) {
		return nil
	}
	m := &o.places[i]
	if m.first != first || m.last != last || len(m.name) != len(name) || (len(name) > bothEnds && m.name != string(name)) {
		return nil
	}
	return m
}

// member is the member of a name, which is added if it is new.
func (o *object) member(name string) *member {
	for i := range o.members {
		if o.members[i].name == name {
			return &o.members[i]
		}
	}
	first, last := ends([]byte(name))
	for _, m := range o.members {
		if m.first == first && m.last == last && len(m.name) == len(name) {
			panic(fmt.Sprintf("%q and %q have the same ends", m.name, name))
		}
	}
	o.members = append(o.members, member{key: key{first: first, last: last, name: name}, more: &more{}})
	return &o.members[len(o.members)-1]
}

// place looks for a seed with which no two names have one place, for the object and
// those inside it. A place without a name has a kind that takes nothing.
func (o *object) place() {
	const tries = 64 // before there are twice as many places
	size := tries * bits.Len(uint(len(o.members)))
	for seed := uint64(0x9e3779b97f4a7c15); !o.fits(seed, size/tries); seed = seed*0x5851f42d4c957f2d + 0x14057b7ef767814e {
		size++
	}
	for i := range o.members {
		if inside := o.members[i].more.inside; inside != nil {
			inside.place()
		}
	}
	o.members = nil
}

// fits places the names, false if two have one place.
func (o *object) fits(seed uint64, size int) bool {
	o.seed, o.shift, o.places = seed, uint8(64-size), make([]member, 1<<size)
	for _, m := range o.members {
		at := &o.places[place(m.first, m.last, len(m.name), o.seed, o.shift)]
		if at.kind != nothing {
			return false
		}
		*at = m
	}
	return true
}
