package state

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// Said is what a message says in words: its texts, one below the other, without what
// chat gateways put around a person's words and without what a memory put there, which
// was said in another session. It is empty for what is no word of anybody: a heartbeat,
// a mark for silence, the runtime's own bookkeeping.
func Said(m *session.Message) []byte {
	if !m.Embeddable() {
		return nil
	}
	var texts [][]byte
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartText && len(p.Text) > 0 {
			texts = append(texts, p.Text)
		}
	}
	text, _ := session.CutRecalled(bytes.Join(texts, []byte("\n")))
	text = bytes.TrimSpace(text)
	if m.Role == session.RoleUser {
		if text = Unwrap(text); bytes.Contains(text, []byte("HEARTBEAT_OK")) {
			return nil
		}
	}
	return text
}

// Unwrap removes what chat gateways put around a person's words
// (docs/dev/formats.md, "openclaw"): the envelope of the channel, blocks of
// metadata, and marks for replies. What it returns is a part of text.
func Unwrap(text []byte) []byte {
	for {
		head, rest, found := bytes.Cut(text, []byte("(untrusted metadata):\n```"))
		if !found || bytes.IndexByte(head, '\n') >= 0 {
			break
		}
		_, after, closed := bytes.Cut(rest, []byte("\n```"))
		if !closed {
			break
		}
		text = bytes.TrimSpace(after)
	}
	for _, prefix := range []string{"[Telegram ", "[WhatsApp ", "[Discord ", "[Slack ", "[Signal ", "[iMessage ", "[message_id:", "[[reply_to"} {
		if end := bytes.IndexByte(text, ']'); end > 0 && bytes.HasPrefix(text, []byte(prefix)) {
			text = bytes.TrimLeft(text[end:], "] ")
		}
	}
	return text
}

// Safe is a text without what looks like a secret.
func Safe(text string) string {
	clean, _ := secrets.Redact(text)
	return clean
}

// Cut is a text of at most so many code points, in one line; "…" ends one that was cut,
// between words where there are any.
func Cut(text string, runes int) string {
	text = oneLine(text)
	if utf8.RuneCountInString(text) <= runes {
		return text
	}
	if runes < 2 {
		return ""
	}
	head := firstRunes(text, runes-1)
	if at := strings.LastIndexByte(head, ' '); at > len(head)*2/3 {
		head = head[:at]
	}
	return strings.TrimRight(head, " ,;:") + "…"
}

// Both is the beginning and the end of a text, in one line of at most so many code
// points.
func Both(text string, runes int) string {
	text = oneLine(text)
	n := utf8.RuneCountInString(text)
	if n <= runes || runes < 40 {
		return Cut(text, runes)
	}
	head := Cut(text, runes*6/10)
	tail := lastRunes(text, runes-utf8.RuneCountInString(head)-2)
	if at := strings.IndexByte(tail, ' '); at >= 0 && at < len(tail)/3 {
		tail = tail[at+1:]
	}
	return head + " " + tail
}

// oneLine joins the lines of a text with a space.
func oneLine(text string) string { return strings.Join(strings.FieldsFunc(text, unicode.IsSpace), " ") }

func firstRunes(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}

func lastRunes(text string, n int) string {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return text[at:]
}
