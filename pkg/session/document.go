package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

const (
	// maxDocumentMessage is the longest message of a document that is read, in
	// bytes.
	maxDocumentMessage = 64 << 20
	// documentContextEvery is after how many bytes a scan looks at its context.
	documentContextEvery = 1 << 20
	// maxDocumentName bounds how much of a name or an id is kept, in bytes.
	maxDocumentName = 256
)

// DocumentHead is what the beginning of a log that is one JSON object tells.
type DocumentHead struct {
	SessionID string // "sessionId", else "conversation_id", or ""
	Messages  bool   // whether it has an array "messages"
	Broken    bool   // whether it cannot be one JSON object
}

// ReadDocumentHead looks at the beginning of a file, up to its messages.
func ReadDocumentHead(head []byte) DocumentHead {
	var p documentSplitter
	for _, b := range head {
		if p.step(b); p.found || p.closed || p.broken {
			break
		}
	}
	return DocumentHead{SessionID: p.sessionID, Messages: p.found, Broken: p.broken}
}

// documentSplitter finds the messages of a document, byte by byte.
type documentSplitter struct {
	depth            int
	base             int // the depth around the whole
	inString, escape bool
	text             []byte   // of a string at depth 1
	key              string   // whose value comes next, at depth 1
	lists            []string // the keys of the arrays of messages, none for "messages"
	sessionID        string
	messages         bool // inside the array of messages
	element          bool // an element of it comes next
	odd              bool // one that is no object has begun
	found            bool // there is such an array
	closed, broken   bool
}

// step takes one byte and reports whether a message begins or ends with it.
func (p *documentSplitter) step(b byte) (begins, ends bool) {
	p.odd = false
	if p.inString {
		p.inText(b)
		return false, false
	}
	p.atElement(b)
	switch {
	case b == '"':
		p.inString = true
		p.text = p.text[:0]
	case b == ':' && p.depth == 1:
		p.key = string(p.text)
	case b == ',' && p.depth == 1:
		p.key = ""
	case b == '{' || b == '[':
		return p.open(b), false
	case b == '}' || b == ']':
		return false, p.shut(b)
	case p.depth == 0 && bytes.IndexByte([]byte(" \t\r\n\xEF\xBB\xBF"), b) < 0:
		p.broken = true
	}
	return false, false
}

// atElement follows where elements of the array begin.
func (p *documentSplitter) atElement(b byte) {
	if !p.messages || p.depth != 2 {
		return
	}
	switch b {
	case ' ', '\t', '\r', '\n':
	case ',':
		p.element = true
	default:
		p.odd = p.element && b != '{' && b != ']'
		p.element = false
	}
}

func (p *documentSplitter) open(b byte) (begins bool) {
	p.depth++
	if b == '[' && p.depth == 2 && (len(p.lists) == 0 && p.key == "messages" || slices.Contains(p.lists, p.key)) {
		p.messages, p.found, p.element = true, true, true
	}
	return b == '{' && p.messages && p.depth == 3
}

func (p *documentSplitter) shut(b byte) (ends bool) {
	ends = b == '}' && p.messages && p.depth == 3
	if p.depth--; p.depth < 2 {
		p.messages = false
	}
	p.closed = p.closed || p.depth <= p.base
	return ends
}

func (p *documentSplitter) inText(b byte) {
	switch {
	case b < ' ':
		p.broken = true // no document: a line that ends inside a string
	case p.escape:
		p.escape = false
	case b == '\\':
		p.escape = true
	case b == '"':
		p.inString = false
		if p.depth == 1 && (p.key == "sessionId" || p.key == "conversation_id") && p.sessionID == "" {
			p.sessionID = string(p.text)
		}
		return
	}
	if p.depth == 1 && len(p.text) < maxDocumentName {
		p.text = append(p.text, b)
	}
}

// RunDocument is [LineScan.Run] for a log that is one JSON object with an array of
// messages: decode reads one of them. Lines are counted by line feeds, places are
// those in the file. An element that decode does not know, and one that is no
// object, counts as a bad line. Memory grows by the longest message.
func (s *LineScan) RunDocument(ctx context.Context, r *bufio.Reader, emit func(*Message) error, decode func(r *jsonl.Record) (known bool, err error)) error {
	return s.runDocument(ctx, r, emit, &documentReader{lines: s, decode: decode})
}

// RunList is [LineScan.RunDocument] for a log whose messages are in arrays of other
// names.
func (s *LineScan) RunList(ctx context.Context, r *bufio.Reader, names []string, emit func(*Message) error, decode func(r *jsonl.Record) (known bool, err error)) error {
	return s.runDocument(ctx, r, emit, &documentReader{lines: s, decode: decode, split: documentSplitter{lists: names}})
}

// RunArray is [LineScan.RunDocument] for a log that is one JSON array of messages.
func (s *LineScan) RunArray(ctx context.Context, r *bufio.Reader, emit func(*Message) error, decode func(r *jsonl.Record) (known bool, err error)) error {
	const inside = 1 // as if the array were the member "messages" of an object
	return s.runDocument(ctx, r, emit, &documentReader{lines: s, decode: decode, split: documentSplitter{depth: inside, base: inside, key: "messages"}})
}

func (s *LineScan) runDocument(ctx context.Context, r *bufio.Reader, emit func(*Message) error, w *documentReader) error {
	s.emit = emit
	for {
		b, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("scan log: read at byte %d: %w", w.offset, err)
		}
		if w.offset%documentContextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := w.take(b); err != nil {
			if s.failed != nil {
				return s.failed
			}
			return err
		}
	}
	return w.finish()
}

// documentReader is the state of one reading of a document.
type documentReader struct {
	lines  *LineScan
	decode func(r *jsonl.Record) (known bool, err error)

	split  documentSplitter
	offset int64 // bytes read
	feeds  int   // line feeds read
	last   byte

	inside bool
	record jsonl.Record
}

func (w *documentReader) take(b byte) error {
	begins, ends := w.split.step(b)
	if begins {
		w.inside = true
		w.record = jsonl.Record{Line: w.feeds + 1, Offset: w.offset, Raw: w.record.Raw[:0]}
	}
	if w.split.odd {
		w.lines.Unread.odd = true
		w.bad(w.feeds+1, w.offset)
	}
	w.offset++
	w.last = b
	if b == '\n' {
		w.feeds++
	}
	if w.inside && len(w.record.Raw) <= maxDocumentMessage {
		w.record.Raw = append(w.record.Raw, b)
	}
	if !ends {
		return nil
	}
	w.inside = false
	w.record.Length = w.offset - w.record.Offset
	return w.one()
}

// one takes a message.
func (w *documentReader) one() error {
	known, err := w.decode(&w.record)
	switch {
	case errors.Is(err, jsonl.ErrSyntax), err == nil && !known:
		w.lines.Unread.Add(w.record.Raw)
		w.bad(w.record.Line, w.record.Offset)
		return nil
	case err != nil:
		return err
	}
	w.lines.Result.Counts.Records++
	return nil
}

// bad counts an element that is no message.
func (w *documentReader) bad(line int, offset int64) {
	counts := &w.lines.Result.Counts
	counts.Bad++
	if len(counts.FirstBad) < 10 {
		counts.FirstBad = append(counts.FirstBad, jsonl.BadLine{Line: line, Offset: offset, Reason: "not a message"})
	}
}

func (w *documentReader) finish() error {
	result := &w.lines.Result
	result.Counts.Bytes, result.Counts.Lines = w.offset, w.feeds
	if w.last != '\n' && w.offset > 0 {
		result.Counts.Lines++
	}
	if w.inside {
		result.Counts.TornBytes = int64(len(w.record.Raw))
	}
	if !w.split.closed {
		result.Counts.Torn = true
	}
	result.Headers, result.SessionID = 1, w.split.sessionID
	if result.Counts.Records == 0 && result.Counts.Bad > 0 && !w.lines.Unread.Blank() {
		return fmt.Errorf("%w: none of %d messages is one of this runtime", ErrUnknownFormat, result.Counts.Bad)
	}
	return nil
}
