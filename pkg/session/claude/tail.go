package claude

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

const (
	// tailBlock is the size up to which a log's messages are counted exactly.
	tailBlock = 64 << 10
	// tailSample is how much of the end of a larger log is looked at to
	// estimate them: less than two of the blocks of 16 KiB that are read at
	// once, so that the line at their edge is not read.
	tailSample = 28 << 10
	// A file of which so many lines and bytes at the end are no records of
	// this format is not a session.
	strangeLines = 16
	strangeBytes = 1 << 20
)

// Tail implements [session.Store]. It reads backwards, follows the parents
// from the last message as the runtime does, and stops early; 32 KiB are
// normal.
//
// The context is what the last model call counted plus an estimate of what
// follows, if that call lies after the last compaction. Else it is an estimate
// of the compaction's summary, the messages that it kept and what follows, or
// of everything; the runtime's own prompt and tools are not in it.
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	if ref.Kind == session.KindOutput {
		return session.Tail{}, fmt.Errorf("%w: the output of a tool", session.ErrUnknownFormat)
	}
	d, name, err := directory.Of(s.projects, ref.Path, depth)
	if err != nil {
		return session.Tail{}, err
	}
	defer d.Close()
	log, info, err := d.OpenLog(name)
	if err != nil {
		return session.Tail{}, err
	}
	defer log.Close()
	t := &tailReader{log: log, size: info.Size(), offset: info.Size()}
	t.walk.side = strings.HasPrefix(filepath.Base(ref.Path), agentStart)
	return t.tail(ctx, info.ModTime())
}

// tailReader is the state of one walk from the end of a log to its root.
type tailReader struct {
	decoder
	counter counter
	log     io.ReaderAt
	size    int64
	offset  int64 // of the line that is read

	walk     walk
	context  contextSize
	turn     turn
	result   session.Tail
	lastTime int64 // epoch milliseconds, 0 before it is known
	messages int   // records that count
	known    int   // records of this format
	lines    int   // with text
	pending  bool  // the last line looks like a record that is still being written
}

func (t *tailReader) tail(ctx context.Context, modTime time.Time) (session.Tail, error) {
	t.thinking, t.walk.any = true, true
	err := t.read(ctx)
	if errors.Is(err, jsonl.ErrUTF16) {
		return session.Tail{}, fmt.Errorf("%w: %w", session.ErrUnknownFormat, err)
	}
	if err != nil {
		return session.Tail{}, fmt.Errorf("read the end of the log: %w", err)
	}
	if onlyPending := t.lines == 1 && t.pending; t.known == 0 && t.lines > 0 && !onlyPending {
		return session.Tail{}, fmt.Errorf("%w: none of the last %d lines is a record of Claude Code", session.ErrUnknownFormat, t.lines)
	}
	return t.finish(modTime), nil
}

func (t *tailReader) read(ctx context.Context) error {
	lines := jsonl.NewBackwardReader(t.log, t.size, jsonl.Options{})
	for !t.enough() {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := lines.Prev()
		if errors.Is(err, io.EOF) {
			t.offset = 0
			return nil
		}
		if err != nil {
			return err
		}
		t.offset = line.Offset
		if err := t.line(ctx, line); err != nil {
			return err
		}
	}
	return nil
}

// enough reports whether nothing further back matters.
func (t *tailReader) enough() bool {
	seen := t.size - t.offset
	return t.settled() && t.size > tailBlock && seen >= tailSample ||
		t.known == 0 && t.lines >= strangeLines && seen >= strangeBytes
}

// settled reports whether nothing further back changes the context or the
// turn.
func (t *tailReader) settled() bool {
	return t.known > 0 && (t.walk.ended || t.context.sized && t.turn.decided)
}

// line reads one line. Of a line that is not one record, what a scan would
// save counts.
func (t *tailReader) line(ctx context.Context, line jsonl.Line) error {
	if len(bytes.TrimSpace(line.Raw)) == 0 {
		return nil
	}
	t.lines++
	if t.read1(line.Raw) == nil {
		return nil
	}
	var records [][]byte
	counts, err := jsonl.Scan(ctx, bytes.NewReader(line.Raw), jsonl.Options{}, func(r *jsonl.Record) error {
		err := t.decode(r.Raw)
		if err == nil {
			records = append(records, bytes.Clone(r.Raw))
		}
		return err
	})
	if err != nil && !errors.Is(err, jsonl.ErrUTF16) {
		return err
	}
	if t.lines == 1 && !line.Complete && counts.Torn {
		t.result.Torn = true
		t.pending = bytes.HasPrefix(bytes.TrimLeft(line.Raw, "\x00\t\r "), []byte("{"))
	}
	for i := len(records) - 1; i >= 0; i-- {
		if err := t.read1(records[i]); err != nil {
			return err
		}
	}
	return nil
}

// read1 reads one record, and only its type once nothing else matters.
func (t *tailReader) read1(raw []byte) error {
	if t.settled() && t.lastTime != 0 {
		is, err := t.counter.isMessage(raw)
		if is {
			t.messages++
		}
		return err
	}
	if err := t.decode(raw); err != nil {
		return err
	}
	r, m := &t.record, &t.message
	if r.ours() {
		t.known++
	}
	if r.counts() {
		t.messages++
	}
	if t.lastTime == 0 {
		t.lastTime, _, _ = session.ParseTime(r.time)
	}
	switch t.walk.step(r, m) {
	case onPath:
		t.visit()
	case beside:
		t.context.aside(r, m)
	}
	return nil
}

// visit takes in one record of the active branch.
func (t *tailReader) visit() {
	r, m := &t.record, &t.message
	t.context.add(r, m)
	if r.kind.says() && t.result.LastRole == 0 {
		t.result.LastRole = m.Role
	}
	t.turn.add(r, m)
}

func (t *tailReader) finish(modTime time.Time) session.Tail {
	tail := t.result
	tail.Answered = !t.turn.decided || t.turn.answered
	tail.Tokens, tail.TokenSource = t.context.sum, session.TokensFromEstimate
	if t.context.counted {
		tail.TokenSource = session.TokensFromUsage
	}
	tail.Messages, tail.MessagesExact = t.messages, t.offset == 0
	if seen := t.size - t.offset; !tail.MessagesExact && seen > 0 {
		tail.Messages = int(float64(t.messages) * float64(t.size) / float64(seen))
	}
	tail.SetLast(t.lastTime, modTime)
	return tail
}
