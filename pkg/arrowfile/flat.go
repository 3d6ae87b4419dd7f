package arrowfile

import "encoding/binary"

// flat builds a FlatBuffer from its end to its beginning, so that whatever is
// pointed to is there before the pointer. Positions count bytes from the end.
// These buffers have some hundred bytes: every piece is copied in front.
type flat struct{ bytes []byte }

// slot is a field of a table. The zero value is a field that is not there.
type slot struct {
	value  []byte // little-endian; as long as it is aligned
	target int    // position of what it points to, if value is nil
	points bool
}

func short(x int16) slot { return slot{value: binary.LittleEndian.AppendUint16(nil, uint16(x))} }

func octet(x uint8) slot { return slot{value: []byte{x}} }

func word(x int32) slot { return slot{value: binary.LittleEndian.AppendUint32(nil, uint32(x))} }

func long(x int64) slot { return slot{value: binary.LittleEndian.AppendUint64(nil, uint64(x))} }

func pointer(position int) slot { return slot{target: position, points: true} }

func (s slot) size() int {
	if s.points {
		return 4
	}
	return len(s.value)
}

// prepend puts a piece in front, so that it begins at a multiple of align
// bytes from the end, and returns its position.
func (f *flat) prepend(piece []byte, align int) int {
	padding := -(len(piece) + len(f.bytes)) & (align - 1)
	front := make([]byte, len(piece)+padding, len(piece)+padding+len(f.bytes))
	copy(front, piece)
	f.bytes = append(front, f.bytes...)
	return len(f.bytes)
}

// text adds a string.
func (f *flat) text(s string) int {
	piece := binary.LittleEndian.AppendUint32(nil, uint32(len(s)))
	return f.prepend(append(append(piece, s...), 0), 4)
}

// structs adds a vector of count structures that are aligned to eight bytes.
func (f *flat) structs(content []byte, count int) int {
	f.prepend(content, 8)
	return f.prepend(binary.LittleEndian.AppendUint32(nil, uint32(count)), 4)
}

// pointers adds a vector of pointers.
func (f *flat) pointers(targets []int) int {
	end := (len(f.bytes) + 3) &^ 3
	piece := binary.LittleEndian.AppendUint32(nil, uint32(len(targets)))
	for i, target := range targets {
		position := end + 4*(len(targets)-i)
		piece = binary.LittleEndian.AppendUint32(piece, uint32(position-target))
	}
	return f.prepend(piece, 4)
}

// table adds a table with these fields, and before it the list of where they
// are in it.
func (f *flat) table(fields ...slot) int {
	offsets := make([]int, len(fields))
	size := 4 // how far back the list is
	for i, s := range fields {
		if n := s.size(); n > 0 {
			size = (size + n - 1) / n * n
			offsets[i], size = size, size+n
		}
	}
	list := binary.LittleEndian.AppendUint16(nil, uint16(4+2*len(fields)))
	list = binary.LittleEndian.AppendUint16(list, uint16(size))
	for _, offset := range offsets {
		list = binary.LittleEndian.AppendUint16(list, uint16(offset))
	}
	piece := make([]byte, (size+7)&^7)
	binary.LittleEndian.PutUint32(piece, uint32(len(list)))
	start := (len(f.bytes) + len(piece) + 7) &^ 7
	for i, s := range fields {
		if s.points {
			s.value = binary.LittleEndian.AppendUint32(nil, uint32(start-offsets[i]-s.target))
		}
		copy(piece[offsets[i]:], s.value)
	}
	f.prepend(piece, 8)
	f.prepend(list, 2)
	return start
}

// finish returns the buffer, a multiple of eight bytes, with a pointer to its
// root in front.
func (f *flat) finish(root int) []byte {
	size := (len(f.bytes) + 4 + 7) &^ 7
	f.prepend(binary.LittleEndian.AppendUint32(nil, uint32(size-root)), 8)
	return f.bytes
}
