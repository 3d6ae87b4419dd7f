package secrets

import "encoding/binary"

// filterBits is the size of the filter of anchors: small enough for the first
// cache, large enough that ordinary text seldom hits it by chance.
const filterBits = 15

// filter has a bit for the first bytes of every anchor, in lower case: two for
// the anchors of two and three bytes, four for the others.
type filter struct {
	two  [1 << 16 / 64]uint64
	four [1 << filterBits / 64]uint64
}

var anchors = newFilter()

func newFilter() *filter {
	f := &filter{}
	add := func(words []string) {
		for _, w := range words {
			if len(w) < 4 {
				key := uint16(w[0]|0x20) | uint16(w[1]|0x20)<<8
				f.two[key/64] |= 1 << (key % 64)
				continue
			}
			h := hash(binary.LittleEndian.Uint32([]byte(w)))
			f.four[h/64] |= 1 << (h % 64)
		}
	}
	for _, r := range rules {
		add(r.anchors)
	}
	add(assignedAnchors)
	return f
}

// hash maps four bytes, whatever their case, to a bit of the filter.
func hash(four uint32) uint32 {
	return (four | 0x20202020) * 2654435761 >> (32 - filterBits)
}

// suspicious reports whether a text may have an anchor. It is false for most
// text, and never for text that has one.
func suspicious(text []byte) bool {
	for i := 0; i+4 <= len(text); i++ {
		four := binary.LittleEndian.Uint32(text[i:])
		if h := hash(four); anchors.four[h/64]&(1<<(h%64)) != 0 {
			return true
		}
		if key := uint16(four) | 0x2020; anchors.two[key/64]&(1<<(key%64)) != 0 {
			return true
		}
	}
	if n := len(text); n >= 2 && n < 4 {
		return true // too short to be worth a thought
	}
	return len(text) >= 4 && endsSuspicious(text[len(text)-3:])
}

// endsSuspicious looks at the last bytes, where no four are left.
func endsSuspicious(end []byte) bool {
	for i := 0; i+2 <= len(end); i++ {
		key := uint16(end[i]|0x20) | uint16(end[i+1]|0x20)<<8
		if anchors.two[key/64]&(1<<(key%64)) != 0 {
			return true
		}
	}
	return false
}
