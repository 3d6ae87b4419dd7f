package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// BlockScan reads a log of text in which lines open blocks, each of them a
// message: Markdown with a heading for each turn. Make one for each scan.
type BlockScan struct {
	// Opens returns the role of the block that a line opens, 0 for any other line.
	// A line in a message that looks like one cannot be told from it.
	Opens func(line []byte) Role
	// First, if not nil, sees the first message before it is handed out.
	First func(m *Message)

	emit        func(*Message) error
	result      Scan
	role        Role
	text        []byte
	first       int   // line
	offset, end int64 // of the block, the line that opens it included
	cut         int64 // bytes that the reader left out
	opened      bool  // by a line
}

// Run reads all of r: one message a block. Blocks without text are none. Text
// before the first block is a message that was injected. Blocks have no times.
// An error that wraps [ErrUnknownFormat] is returned if there is text and no
// block.
func (b *BlockScan) Run(ctx context.Context, r io.Reader, emit func(*Message) error) (Scan, error) {
	b.emit, b.role = emit, RoleInjected
	err := jsonl.NewReader(r, jsonl.Options{}).Each(ctx, b.line)
	if errors.Is(err, jsonl.ErrUTF16) {
		err = fmt.Errorf("%w: %w", ErrUnknownFormat, err)
	}
	if err == nil {
		err = b.say()
	}
	if err == nil && !b.opened && b.result.Messages > 0 {
		err = fmt.Errorf("%w: no line opens a message", ErrUnknownFormat)
	}
	return b.result, err
}

func (b *BlockScan) line(l jsonl.Line) error {
	b.result.Counts.Lines++
	b.result.Counts.Bytes = l.Offset + l.Length
	if role := b.Opens(l.Raw); role != 0 {
		if err := b.say(); err != nil {
			return err
		}
		b.role, b.opened = role, true
		b.result.Counts.Records++
	} else {
		b.text = append(append(b.text, l.Raw...), '\n')
	}
	if b.first == 0 {
		b.first, b.offset = l.Number, l.Offset
	}
	b.end = l.Offset + l.Length
	b.cut += l.CutBytes
	return nil
}

// say hands out the block that is open.
func (b *BlockScan) say() error {
	text := bytes.TrimSpace(b.text)
	if len(text) > 0 {
		m := Message{
			Ordinal: b.result.Messages, Line: b.first, Offset: b.offset, Length: b.end - b.offset, Role: b.role,
			TimeInferred: true, CutBytes: b.cut, OutOfContext: b.role == RoleInjected, Parts: []Part{{Kind: PartText, Text: text}},
		}
		if b.opened {
			b.result.Records++
		}
		if b.result.Messages == 0 && b.First != nil {
			b.First(&m)
		}
		b.result.Count(&m)
		if err := b.emit(&m); err != nil {
			return err
		}
	}
	b.text, b.first, b.cut = b.text[:0], 0, 0
	return nil
}

// InBlock keeps the lines of a text from opening blocks of their own: those that
// would begin with a backslash instead of white space.
func (b *BlockScan) InBlock(text string) string {
	var safe strings.Builder
	for line := range strings.Lines(text) {
		if b.Opens([]byte(line)) != 0 {
			safe.WriteByte('\\')
			line = strings.TrimLeft(line, " \t")
		}
		safe.WriteString(line)
	}
	return safe.String()
}
