package gemini

import (
	"bufio"
	"bytes"
	"context"
	"fmt"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// documentHead is how much of a file is looked at to tell a document from
// lines, in bytes: what stands before the messages is short.
const documentHead = 64 << 10

// isDocument reports whether a file that begins with head is one JSON object
// with messages, as chats were until 2026.
func isDocument(head []byte) bool {
	h := session.ReadDocumentHead(head)
	return h.Messages && (h.SessionID != "" || bytes.Contains(head, []byte(`"projectHash"`)))
}

// A chat that a person has saved (/chat save TAG) is the list of what the model was
// sent: an array, or in later versions the member "history" of an object.
const historyName = "history"

// isSaved reports whether a file that begins with head is a saved chat.
func isSaved(head []byte) bool {
	if isList(head) {
		return true
	}
	inside, object := bytes.CutPrefix(bytes.TrimLeft(head, blank), []byte("{"))
	return object && bytes.HasPrefix(bytes.TrimLeft(inside, blank), []byte(`"`+historyName+`"`))
}

// blank is what may stand before a value.
const blank = " \t\r\n\xEF\xBB\xBF"

// isList reports whether a file that begins with head is an array.
func isList(head []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(head, blank), []byte("[")) }

// readSaved reads a saved chat.
func (s *scanner) readSaved(ctx context.Context, r *bufio.Reader, head []byte) error {
	s.saved = true
	if isList(head) {
		return s.lines.RunArray(ctx, r, nil, s.element)
	}
	return s.lines.RunList(ctx, r, []string{historyName}, nil, s.element)
}

// element takes a message of a chat that is one JSON object.
func (s *scanner) element(r *jsonl.Record) (known bool, err error) {
	if err := s.decode(r.Raw); err != nil || s.record.kind != message {
		return false, nil //nolint:nilerr // it counts as no message
	}
	if role := string(s.record.role); s.saved && role != "user" && role != "model" && role != "function" {
		return false, fmt.Errorf("%w: a saved chat has no role %q", session.ErrUnknownFormat, role)
	}
	return true, s.said(place{line: r.Line, offset: r.Offset, length: r.Length})
}
