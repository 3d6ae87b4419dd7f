package jsonl

import "bytes"

// openings are the ways records of this log begin, as far as they were seen.
// They tell a record from an object inside of a record: both may begin with
// {"type":, but not with the same type.
type openings struct {
	last []byte // the one seen last, which most records have too
	all  [][]byte
}

// maxOpenings bounds what is remembered and compared.
const maxOpenings = 16

// maxOpening is how many bytes of a record are looked at.
const maxOpening = 64

// opening returns the first key of the object that text begins with, and its
// value if the key is type and the value a string: `{"type":"message"`. It is
// empty if text begins with nothing of the kind.
func opening(text []byte) []byte {
	text = text[:min(len(text), maxOpening)]
	if len(text) < 2 || text[0] != '{' || text[1] != '"' {
		return nil
	}
	key := bytes.IndexByte(text[2:], '"') + 3
	if key < 3 {
		return nil
	}
	if value := bytes.TrimPrefix(text[key:], []byte(`:"`)); string(text[:key]) == `{"type"` && len(value) < len(text)-key {
		if n := bytes.IndexByte(value, '"'); n >= 0 {
			return text[:len(text)-len(value)+n+1]
		}
	}
	return text[:key]
}

// add remembers how the record text begins.
func (o *openings) add(text []byte) {
	if len(o.last) > 0 && bytes.HasPrefix(text, o.last) {
		return
	}
	head := opening(text)
	for _, known := range o.all {
		if bytes.Equal(known, head) {
			o.last = known
			return
		}
	}
	if len(head) > 0 && len(o.all) < maxOpenings {
		o.last = bytes.Clone(head)
		o.all = append(o.all, o.last)
	}
}

// has tells whether a record that began like text was seen.
func (o *openings) has(text []byte) bool {
	head := opening(text)
	for _, known := range o.all {
		if len(head) > 0 && bytes.Equal(known, head) {
			return true
		}
	}
	return false
}
