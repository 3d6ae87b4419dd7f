package words

import "encoding/binary"

// gatheredPostings hold the postings of many terms, most of which have few, in
// pieces of large pages: a slice a term would be collected as garbage each time it
// grows, and would be looked at by every collection. A place is the number of a
// page and how many bytes of it are before.
type gatheredPostings struct {
	pages [][]byte
	used  int // pages, the last of which has room
	free  uint32
}

const (
	gatheredPageBits  = 16
	gatheredPageBytes = 1 << gatheredPageBits
	// A piece is twice as long as the one before it, and ends with the place of the
	// next.
	firstPiece   = 12
	longestPiece = 768
	nextPlace    = 4
)

// gatheredTerm are the postings of a term. It has no pointer.
type gatheredTerm struct {
	first   uint32 // place of the first piece
	at, end uint32 // places: of what comes next, and where the piece ends for it
	size    uint32 // of the piece; 0 for none
	last    int64  // record
	records int64
}

// gatheredTerms are terms by their numbers in a vocabulary, in pages: so many are
// not copied when there are more.
type gatheredTerms [][]gatheredTerm

const (
	termPageBits = 12
	termPage     = 1 << termPageBits
)

// room makes room for n terms.
func (g *gatheredTerms) room(n int) {
	for n > len(*g)*termPage {
		*g = append(*g, make([]gatheredTerm, termPage))
	}
}

func (g gatheredTerms) of(number int32) *gatheredTerm {
	return &g[number>>termPageBits][number&(termPage-1)]
}

// clear forgets the postings of all terms.
func (g gatheredTerms) clear() {
	for _, page := range g {
		clear(page)
	}
}

// reset forgets all postings and keeps the room.
func (g *gatheredPostings) reset() { g.used, g.free = 0, 0 }

// piece makes a piece and returns its place.
func (g *gatheredPostings) piece(size uint32) uint32 {
	if g.used == 0 || g.free+size > gatheredPageBytes {
		if g.used == len(g.pages) {
			g.pages = append(g.pages, make([]byte, gatheredPageBytes))
		}
		g.used++
		g.free = 0
	}
	place := uint32(g.used-1)<<gatheredPageBits | g.free
	g.free += size
	return place
}

// from is the page behind a place.
func (g *gatheredPostings) from(place uint32) []byte {
	return g.pages[place>>gatheredPageBits][place&(gatheredPageBytes-1):]
}

// post notes how often a record has a term, and returns how many bytes that takes.
func (g *gatheredPostings) post(t *gatheredTerm, record int64, times uint32) int {
	var room [2 * binary.MaxVarintLen64]byte
	data := appendPosting(room[:0], t.last, record, times)
	t.last = record
	t.records++
	n := len(data)
	for len(data) > 0 {
		if t.at == t.end {
			g.grow(t)
		}
		copied := copy(g.from(t.at)[:t.end-t.at], data)
		t.at, data = t.at+uint32(copied), data[copied:]
	}
	return n
}

// grow gives a term its next piece.
func (g *gatheredPostings) grow(t *gatheredTerm) {
	size := uint32(firstPiece)
	if t.size > 0 {
		size = min(2*t.size, longestPiece)
	}
	place := g.piece(size)
	if t.size == 0 {
		t.first = place
	} else {
		binary.LittleEndian.PutUint32(g.from(t.end), place)
	}
	t.at, t.end, t.size = place, place+size-nextPlace, size
}

// appendAll appends the postings of a term.
func (g *gatheredPostings) appendAll(dst []byte, t *gatheredTerm) []byte {
	if t.size == 0 {
		return dst
	}
	size, place := uint32(firstPiece), t.first
	for place+size-nextPlace != t.end {
		piece := g.from(place)
		dst = append(dst, piece[:size-nextPlace]...)
		place, size = binary.LittleEndian.Uint32(piece[size-nextPlace:]), min(2*size, longestPiece)
	}
	return append(dst, g.from(place)[:t.at-place]...)
}
