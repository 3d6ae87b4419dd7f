package gemini

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

const (
	// documentHead is how much of a file is looked at to tell a document from
	// lines, in bytes: what stands before the messages is short.
	documentHead = 64 << 10
	// maxMessage is the longest message of a document that is read, in bytes.
	maxMessage = 64 << 20
	// contextEvery is after how many bytes a scan looks at its context.
	contextEvery = 1 << 20
)

// splitter finds the messages of a document, byte by byte.
type splitter struct {
	depth            int
	inString, escape bool
	text             []byte // of a string at depth 1
	key              string // whose value comes next, at depth 1
	sessionID        string
	messages         bool // inside the array of messages
	found            bool // there is such an array
	closed, broken   bool
}

// step takes one byte and reports whether a message begins or ends with it.
func (p *splitter) step(b byte) (begins, ends bool) {
	switch {
	case p.inString:
		p.inText(b)
		return false, false
	case b == '"':
		p.inString = true
		p.text = p.text[:0]
	case b == ':' && p.depth == 1:
		p.key = string(p.text)
	case b == ',' && p.depth == 1:
		p.key = ""
	case b == '{' || b == '[':
		p.depth++
		if b == '[' && p.depth == 2 && p.key == "messages" {
			p.messages, p.found = true, true
		}
		return b == '{' && p.messages && p.depth == 3, false
	case b == '}' || b == ']':
		ends = b == '}' && p.messages && p.depth == 3
		if p.depth--; p.depth < 2 {
			p.messages = false
		}
		p.closed = p.closed || p.depth <= 0
		return false, ends
	case p.depth == 0 && bytes.IndexByte([]byte(" \t\r\n\xEF\xBB\xBF"), b) < 0:
		p.broken = true
	}
	return false, false
}

func (p *splitter) inText(b byte) {
	switch {
	case b < ' ':
		p.broken = true // no document: a line that ends inside a string
	case p.escape:
		p.escape = false
	case b == '\\':
		p.escape = true
	case b == '"':
		p.inString = false
		if p.depth == 1 && p.key == "sessionId" && p.sessionID == "" {
			p.sessionID = string(p.text)
		}
		return
	}
	if p.depth == 1 && len(p.text) < 256 {
		p.text = append(p.text, b)
	}
}

// isDocument reports whether a file that begins with head is one JSON object
// with messages, as chats were until 2026.
func isDocument(head []byte) bool {
	var p splitter
	for _, b := range head {
		if p.step(b); p.found || p.closed || p.broken {
			return p.found && p.sessionID != "" || p.found && bytes.Contains(head, []byte(`"projectHash"`))
		}
	}
	return false
}

// document reads a chat that is one JSON object. Lines are counted by line
// feeds, places are those in the file.
func (s *scanner) document(ctx context.Context, r *bufio.Reader) error {
	w := &documentReader{scanner: s, place: place{line: 1}}
	for {
		b, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("scan log: read at byte %d: %w", w.offset, err)
		}
		if w.offset%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := w.take(b); err != nil {
			return err
		}
	}
	return w.finish()
}

// documentReader is the state of one reading of a document.
type documentReader struct {
	*scanner
	split  splitter
	offset int64 // bytes read
	lineNo int   // line feeds read
	last   byte

	inside bool
	place  place // of the message
	raw    []byte
}

func (w *documentReader) take(b byte) error {
	begins, ends := w.split.step(b)
	if begins {
		w.inside, w.raw = true, w.raw[:0]
		w.place.line, w.place.offset = w.lineNo+1, w.offset
	}
	w.offset++
	w.last = b
	if b == '\n' {
		w.lineNo++
	}
	if w.inside && len(w.raw) <= maxMessage {
		w.raw = append(w.raw, b)
	}
	if !ends {
		return nil
	}
	w.inside = false
	w.place.length = w.offset - w.place.offset
	return w.one()
}

// one takes a message.
func (w *documentReader) one() error {
	counts := &w.lines.Result.Counts
	err := w.decode(w.raw)
	if err != nil || w.record.kind != message {
		counts.Bad++
		if len(counts.FirstBad) < 10 {
			counts.FirstBad = append(counts.FirstBad, jsonl.BadLine{Line: w.place.line, Offset: w.place.offset, Reason: "not a message"})
		}
		return nil
	}
	counts.Records++
	return w.said(w.place)
}

func (w *documentReader) finish() error {
	result := &w.lines.Result
	result.Counts.Bytes, result.Counts.Lines = w.offset, w.lineNo
	if w.last != '\n' && w.offset > 0 {
		result.Counts.Lines++
	}
	if w.inside {
		result.Counts.TornBytes = int64(len(w.raw))
	}
	if !w.split.closed {
		result.Counts.Torn = true
	}
	result.Headers, result.SessionID = 1, w.split.sessionID
	if result.Counts.Records == 0 && result.Counts.Bad > 0 {
		return fmt.Errorf("%w: none of %d messages is one of Gemini", session.ErrUnknownFormat, result.Counts.Bad)
	}
	return nil
}
