package gemini

import (
	"bytes"

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

// element takes a message of a chat that is one JSON object.
func (s *scanner) element(r *jsonl.Record) (known bool, err error) {
	if err := s.decode(r.Raw); err != nil || s.record.kind != message {
		return false, nil //nolint:nilerr // it counts as no message
	}
	return true, s.said(place{line: r.Line, offset: r.Offset, length: r.Length})
}
