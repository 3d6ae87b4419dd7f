package summarize

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/speaker"
	"github.com/sessctl/sessctl/pkg/summarize/state"
)

// maxTranscript bounds the flat text that is kept of one session, in bytes.
const maxTranscript = 4 << 20

// entry is one message as flat text.
type entry struct {
	text  string
	turn  bool   // a person begins a turn with it
	state string // where the work stood behind it, "" where that was not looked at
}

// stateEvery is how many bytes of a transcript are between two looks at the state.
const stateEvery = 4 << 10

// transcript collects the flat text of what is to be summed up. Its memory is
// bounded: of a longer one the oldest messages go, and are counted.
type transcript struct {
	context  session.Context[entry]
	bytes    int
	left     int    // messages that did not fit
	previous string // the summary of an earlier compaction
	digest   *Extractive

	reader     *state.Reader
	stateRunes int // of a state as text
	unlooked   int // bytes since it was looked at
}

func newTranscript(o Options, stateRunes int) *transcript {
	return &transcript{digest: NewExtractive(o), reader: &state.Reader{}, stateRunes: stateRunes, unlooked: stateEvery}
}

// state is where the work stands.
func (t *transcript) state() string {
	if t.stateRunes < leastState {
		return ""
	}
	s := t.reader.State()
	return s.Text(t.stateRunes)
}

// add takes in a message of the active branch. The summary of a compaction
// takes the place of everything before the first message that it kept.
func (t *transcript) add(m *session.Message) {
	if m.Branch != session.Active {
		return
	}
	t.reader.Add(m)
	if m.Compaction {
		t.compacted(m)
		return
	}
	text := Flat(m)
	if m.OutOfContext || text == "" {
		t.context.Pass(m)
		return
	}
	e := entry{text: text, turn: m.Role == session.RoleUser}
	if t.unlooked += len(text); t.unlooked >= stateEvery {
		e.state, t.unlooked = t.state(), 0
	}
	t.context.Add(m, e)
	for t.bytes += len(text); t.bytes > maxTranscript; t.left++ {
		t.drop(1)
	}
}

func (t *transcript) compacted(m *session.Message) {
	t.context.Pass(m)
	text := fileLists().ReplaceAllString(flatText(m, flatTextRunes), "")
	if strings.TrimSpace(text) == "" {
		return
	}
	t.previous, _, _ = strings.Cut(text, "\n\n"+indexTitle+"\n") // a new one is made
	// Where the first kept message is not here, all of them are the kept ones.
	if first, found := t.context.Kept(m); found {
		t.drop(first)
	}
}

// drop forgets the first n entries.
func (t *transcript) drop(n int) {
	for _, e := range t.context.Entries[:n] {
		t.bytes -= len(e.text)
	}
	t.context.Drop(n)
}

// lastTurn cuts the entries before the last turn. turn is nil if there is
// nothing before it, so that nothing is summed up separately.
func (t *transcript) lastTurn() (history, turn []entry) {
	for i := len(t.context.Entries) - 1; i > 0; i-- {
		if t.context.Entries[i].turn {
			return t.context.Entries[:i], t.context.Entries[i:]
		}
	}
	return t.context.Entries, nil
}

// piece is what is summed up at once.
type piece struct {
	text     string
	state    string // where the work stood at its end, or shortly before
	messages int
}

// stages cuts entries into pieces of at most so many tokens, between messages.
// Of more than most pieces the oldest go; it returns how many messages were in
// them.
func stages(entries []entry, tokens int64, most int) (pieces []piece, left int) {
	var b strings.Builder
	var size int64
	var p piece
	flush := func() {
		if p.text = b.String(); p.text != "" {
			pieces = append(pieces, p)
		}
		b.Reset()
		size, p = 0, piece{}
	}
	for _, e := range entries {
		n := session.EstimateTokens([]byte(e.text))
		if size+n > tokens {
			flush()
		}
		b.WriteString(fitting(e.text, n, tokens))
		size, p.messages, p.state = size+n, p.messages+1, cmp.Or(e.state, p.state)
	}
	flush()
	for len(pieces) > max(most, 1) {
		left += pieces[0].messages
		pieces = pieces[1:]
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

// Bounds of the flat text, in code points.
const (
	// flatToolRunes is where a tool's result is cut (docs/dev/decisions.md D18).
	flatToolRunes = 2000
	flatTextRunes = 20_000 // of what anybody says in one message
	flatCallRunes = 2000   // of the arguments of one call
)

// Flat writes a message as flat text, so that a model sums the conversation up
// and does not go on with it:
//
//	[User]: What pods are running?
//	[Assistant]: Let me check.
//	[Assistant tool calls]: bash(command="kubectl get pods")
//	[Tool result]: nginx  1/1  Running
//
// Secrets are redacted, and what a memory put there is left out: it was said in
// another session, and is no order to anybody. A tool's result is cut at 2,000
// code points, with the number that was dropped. Nothing in the text can look
// like the next speaker or close the fence around it. Thinking, images, and
// what the runtime put in for itself are left out: the result may be "".
func Flat(m *session.Message) string {
	if m.Role == session.RoleSystem || !m.Embeddable() {
		return ""
	}
	var b strings.Builder
	label, limit := flatLabel(m)
	if text := flatText(m, limit); text != "" {
		fmt.Fprintf(&b, "[%s]: %s\n", label, text)
	}
	if calls := flatCalls(m); calls != "" {
		fmt.Fprintf(&b, "[Assistant tool calls]: %s\n", calls)
	}
	return b.String()
}

func flatLabel(m *session.Message) (label string, limit int) {
	switch m.Role {
	case session.RoleUser:
		return "User", flatTextRunes
	case session.RoleAssistant:
		return "Assistant", flatTextRunes
	case session.RoleToolResult:
		if m.IsError {
			return "Tool error", flatToolRunes
		}
		return "Tool result", flatToolRunes
	case session.RoleShell:
		return "User ran", flatToolRunes
	case session.RoleSummary:
		return "Summary", flatTextRunes
	}
	return "Context", flatTextRunes
}

// leftOut replaces a result that was nothing but recalled memories.
const leftOut = "(memories of other sessions, left out)"

// flatText is what a message says, without its calls.
func flatText(m *session.Message, limit int) string {
	var b bytes.Buffer
	runes, recalled := 0, false
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != session.PartText && p.Kind != session.PartCommand || len(p.Text) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if p.Kind == session.PartCommand {
			b.WriteString("$ ")
		}
		// Four bytes are the longest code point, and a secret may be cut behind it.
		said := session.WithoutRecalled(p.Text)
		recalled = recalled || len(said) < len(p.Text)
		b.Write(cut(said, 4*limit+4096))
		runes += utf8.RuneCount(said)
	}
	if m.Role == session.RoleShell && m.HasExit {
		fmt.Fprintf(&b, "\n[exit code %d]", m.ExitCode)
	}
	text := bytes.TrimSpace(b.Bytes())
	if m.Role == session.RoleUser {
		text = speaker.Message(text)
	}
	if len(text) == 0 && recalled && m.Role == session.RoleToolResult {
		return leftOut
	}
	return flatSafe(shortened(redact(string(text)), limit, runes))
}

// shortened is at most limit code points of a text, and how many of all were
// dropped.
func shortened(text string, limit, all int) string {
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return text
	}
	return string(cutRunes([]byte(text), limit)) + fmt.Sprintf("\n[... %d more characters truncated]", max(all, n)-limit)
}

// flatCalls are the calls of a message in a row.
func flatCalls(m *session.Message) string {
	var calls []string
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartToolCall {
			arguments := redact(flatArguments(cut(p.Text, 64<<10)))
			calls = append(calls, string(p.Name)+"("+shortened(arguments, flatCallRunes, 0)+")")
		}
	}
	return flatSafe(strings.Join(calls, "; "))
}

// flatArguments is an object as key=value, in its order; anything else as it is.
func flatArguments(raw []byte) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return string(raw)
	}
	var parts []string
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return string(raw)
		}
		var flat bytes.Buffer
		if json.Compact(&flat, value) != nil {
			return string(raw)
		}
		parts = append(parts, fmt.Sprintf("%v=%s", key, flat.String()))
	}
	return strings.Join(parts, ", ")
}

// The tags between which text is given to a model as data.
const (
	tagConversation = "conversation"
	tagPrevious     = "previous-summary"
	tagKnown        = "known-facts"
	tagState        = "where-it-stood"
)

// closing matches what would end, or begin, one of those tags; label a line
// that looks like the next one's.
var (
	closing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)<(\s*/?\s*(?:` + tagConversation + `|` + tagPrevious + `|` + tagKnown + `|` + tagState + `)\b)`)
	})
	label = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^(\s*)\[(User|Assistant|Assistant tool calls|Tool result|Tool error|User ran|Summary|Context)\]:`)
	})
)

// flatSafe keeps a text from ending the fence around it and from speaking in
// somebody else's name.
func flatSafe(text string) string {
	return label().ReplaceAllString(closing().ReplaceAllString(text, `<\${1}`), `${1}\[${2}]:`)
}

// Fence puts text between tags, as data. What would close the tag is escaped.
func Fence(tag, text string) string {
	return "<" + tag + ">\n" + strings.TrimRight(closing().ReplaceAllString(text, `<\${1}`), "\n") + "\n</" + tag + ">\n"
}

// Redacted replaces what looked like a secret.
const Redacted = secrets.Mark

// redact replaces what looks like a secret. It is for summaries; archives
// keep every byte.
func redact(text string) string {
	clean, _ := secrets.Redact(text)
	return clean
}
