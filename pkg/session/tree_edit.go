package session

import "bytes"

// contextEdit takes an entry out of the context, or puts other content in its place.
type contextEdit struct {
	at      int32  // ordinal of the entry that is the edit
	target  int32  // ordinal of the entry that it is about
	content []byte // raw JSON; nil takes the entry out
}

// Edit tells that the entry at ordinal, the last that was added, is an edit of the
// context: from then on the model is not sent what the entry with the id target says,
// or content in its place, the JSON of it. An edit of an entry that is not there
// changes nothing. Content is copied.
func (b *TreeBuilder) Edit(ordinal int, target, content []byte) {
	if at, ok := b.find(target); ok {
		b.edits = append(b.edits, contextEdit{at: int32(ordinal), target: at, content: bytes.Clone(content)})
	}
}

// Edited returns what the model is sent in the place of the content of an entry, raw
// JSON, or nil if it is sent nothing of it; false for an entry that is sent as it is.
// Of several edits the last one of the active branch counts.
func (t *Tree) Edited(ordinal int) (content []byte, edited bool) {
	if len(t.edited) == 0 || ordinal < 0 || ordinal >= t.count || t.Branch(ordinal) != Active {
		return nil, false
	}
	content, edited = t.edited[t.node(int32(ordinal))]
	return content, edited
}

// settleEdits keeps the last edit of each entry that stands on the active branch.
func (t *Tree) settleEdits(edits []contextEdit) {
	for _, e := range edits {
		if t.Branch(int(e.at)) != Active {
			continue
		}
		if t.edited == nil {
			t.edited = make(map[int32][]byte)
		}
		t.edited[e.target] = e.content
	}
}
