package macstats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// summaryMark begins a block that is the summary of what was before, written by
// [Store.PlanRewrite]. The program shows it as an answer of its own.
const summaryMark = "Summary of the conversation so far:"

// Scan implements [session.Store]: one message a block. A heading inside a
// message cannot be told from one that opens a block, for the program neither.
// Text before the first heading, which the program drops, is a message that
// was injected. Blocks have no times.
func (s *Store) Scan(ctx context.Context, r io.Reader, _ session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	b := &blocks{emit: emit, role: session.RoleInjected}
	err := jsonl.NewReader(r, jsonl.Options{}).Each(ctx, b.line)
	if err == nil {
		return b.finish()
	}
	if errors.Is(err, jsonl.ErrUTF16) {
		err = fmt.Errorf("%w: %w", session.ErrUnknownFormat, err)
	}
	return b.result, err
}

// blocks collects the lines of the block that is open.
type blocks struct {
	emit        func(*session.Message) error
	result      session.Scan
	role        session.Role
	text        []byte
	first       int   // line
	offset, end int64 // of the block, its heading included
	cut         int64 // bytes that the reader left out
	opened      bool  // by a heading
}

func (b *blocks) line(l jsonl.Line) error {
	b.result.Counts.Lines++
	b.result.Counts.Bytes = l.Offset + l.Length
	if role := roleOf(l.Raw); role != 0 {
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

// roleOf reads a heading: the line is exactly that but for white space around
// it.
func roleOf(line []byte) session.Role {
	switch string(bytes.TrimSpace(line)) {
	case "## User":
		return session.RoleUser
	case "## Assistant":
		return session.RoleAssistant
	}
	return 0
}

// say hands out the block that is open. A block without text is none.
func (b *blocks) say() error {
	text := bytes.TrimSpace(b.text)
	if len(text) > 0 {
		m := session.Message{
			Ordinal: b.result.Messages, Line: b.first, Offset: b.offset, Length: b.end - b.offset, Role: b.role,
			TimeInferred: true, CutBytes: b.cut, OutOfContext: b.role == session.RoleInjected, Parts: []session.Part{{Kind: session.PartText, Text: text}},
		}
		if b.opened {
			b.result.Records++
		}
		if b.result.Messages == 0 {
			asSummary(&m)
		}
		b.result.Count(&m)
		if err := b.emit(&m); err != nil {
			return err
		}
	}
	b.text, b.first, b.cut = b.text[:0], 0, 0
	return nil
}

// asSummary recognises the summary that took the place of a conversation. It is
// summed up again only with what was said since.
func asSummary(m *session.Message) {
	text, ours := bytes.CutPrefix(m.Parts[0].Text, []byte(summaryMark))
	if !ours || m.Role != session.RoleAssistant {
		return
	}
	m.Role, m.Compaction, m.Own = session.RoleSummary, true, true
	m.Parts[0].Text = bytes.TrimSpace(text)
}

func (b *blocks) finish() (session.Scan, error) {
	if err := b.say(); err != nil {
		return b.result, err
	}
	if !b.opened && b.result.Messages > 0 {
		return b.result, fmt.Errorf("%w: no line is a heading of mac-stats", session.ErrUnknownFormat)
	}
	return b.result, nil
}
