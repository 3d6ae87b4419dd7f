package piformat

import (
	"bytes"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
)

// edit gives the message what the model is sent of it after an edit of its content,
// the JSON of a text or of a list of blocks; nil takes it out of the context. What it
// said itself stays, for memory (docs/dev/formats.md, "pi").
func (d *decoder) edit(content []byte) {
	m := &d.message
	if content == nil {
		m.OutOfContext = true
		return
	}
	before := slices.Clone(m.Parts)
	d.inner.Reset(content)
	d.replaceContent(&d.inner)
	for i := range before {
		if p := &before[i]; p.Kind == session.PartText && !d.sends(p.Text) {
			m.Parts = append(m.Parts, session.Part{Kind: session.PartUnsent, Text: p.Text})
		}
	}
}

// sends reports whether the message has the text in it.
func (d *decoder) sends(text []byte) bool {
	return slices.ContainsFunc(d.message.Parts, func(p session.Part) bool {
		return p.Kind == session.PartText && bytes.Contains(p.Text, text)
	})
}

// contextEdits are the edits that a walk from the end of a log has met whose targets
// it has not: by the id of the target, the content that is sent in its place.
type contextEdits map[string][]byte

// meet notes an edit. Of several edits of one target the last counts, which a walk
// from the end meets first.
func (c *contextEdits) meet(e *entry) {
	if _, later := (*c)[string(e.target)]; later {
		return
	}
	if *c == nil {
		*c = contextEdits{}
	}
	(*c)[string(e.target)] = bytes.Clone(e.replacement)
}

// apply gives the message of an entry what is sent of it.
func (c contextEdits) apply(d *decoder) {
	if content, edited := c[string(d.entry.id)]; edited {
		d.edit(content)
		delete(c, string(d.entry.id))
	}
}
