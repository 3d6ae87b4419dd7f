package summarize

import (
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// maxTranscript bounds the flat text that is kept of one session, in bytes.
const maxTranscript = 4 << 20

// entry is one message as flat text.
type entry struct {
	text string
	id   string // of its record
	turn bool   // a person begins a turn with it
}

// transcript collects the flat text of what is to be summed up. Its memory is
// bounded: of a longer one the oldest messages go, and are counted.
type transcript struct {
	entries  []entry
	bytes    int
	left     int    // messages that did not fit
	previous string // the summary of an earlier compaction
	digest   *Extractive
}

func newTranscript(o Options) *transcript {
	return &transcript{digest: NewExtractive(o)}
}

// add takes in a message of the active branch. The summary of a compaction
// takes the place of everything before the first message that it kept.
func (t *transcript) add(m *session.Message) {
	if m.Branch != session.Active || m.OutOfContext {
		return
	}
	if m.Compaction {
		t.compacted(m)
		return
	}
	text := Flat(m)
	if text == "" {
		return
	}
	t.entries = append(t.entries, entry{text, string(m.ID), m.Role == session.RoleUser})
	for t.bytes += len(text); t.bytes > maxTranscript; t.left++ {
		t.bytes -= len(t.entries[0].text)
		t.entries = t.entries[1:]
	}
}

func (t *transcript) compacted(m *session.Message) {
	text := fileLists.ReplaceAllString(flatText(m, flatTextRunes), "")
	if strings.TrimSpace(text) == "" {
		return
	}
	t.previous, _, _ = strings.Cut(text, "\n\n"+indexTitle+"\n") // a new one is made
	if len(m.FirstKept) == 0 {
		t.keep(len(t.entries))
		return
	}
	// Where the first kept message is not here, all of them are the kept ones.
	if i := slices.IndexFunc(t.entries, func(e entry) bool { return e.id == string(m.FirstKept) }); i > 0 {
		t.keep(i)
	}
}

// keep drops what comes before the entry at first.
func (t *transcript) keep(first int) {
	for _, e := range t.entries[:first] {
		t.bytes -= len(e.text)
	}
	t.entries = slices.Clone(t.entries[first:])
}

// lastTurn cuts the entries before the last turn. turn is nil if there is
// nothing before it, so that nothing is to be said of it apart.
func (t *transcript) lastTurn() (history, turn []entry) {
	for i := len(t.entries) - 1; i > 0; i-- {
		if t.entries[i].turn {
			return t.entries[:i], t.entries[i:]
		}
	}
	return t.entries, nil
}

// stages cuts entries into pieces of at most so many tokens, between messages.
// Of more than most pieces the oldest go; it returns how many messages were in
// them.
func stages(entries []entry, tokens int64, most int) (pieces []string, left int) {
	var b strings.Builder
	var size int64
	var counts []int
	messages := 0
	flush := func() {
		if b.Len() > 0 {
			pieces, counts = append(pieces, b.String()), append(counts, messages)
		}
		b.Reset()
		size, messages = 0, 0
	}
	for _, e := range entries {
		n := session.EstimateTokens([]byte(e.text))
		if size+n > tokens {
			flush()
		}
		b.WriteString(fitting(e.text, n, tokens))
		size, messages = size+n, messages+1
	}
	flush()
	for len(pieces) > max(most, 1) {
		left += counts[0]
		pieces, counts = pieces[1:], counts[1:]
	}
	return pieces, left
}

// fitting cuts the middle out of a message that is longer than a stage alone.
func fitting(text string, size, tokens int64) string {
	if size <= tokens {
		return text
	}
	half := int(int64(len(text)) * tokens / size / 2)
	return strings.ToValidUTF8(text[:half], "") + "\n[... cut ...]\n" + strings.ToValidUTF8(text[len(text)-half:], "")
}

// newest is the end of entries, of at most so many bytes.
func newest(entries []entry, most int) string {
	first := len(entries)
	for size := 0; first > 0 && size+len(entries[first-1].text) <= most; first-- {
		size += len(entries[first-1].text)
	}
	var b strings.Builder
	for _, e := range entries[first:] {
		b.WriteString(e.text)
	}
	return b.String()
}
