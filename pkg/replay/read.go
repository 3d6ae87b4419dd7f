package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
)

// Scanner reads a log: a [session.Store].
type Scanner interface {
	Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error)
}

// Read rebuilds the context of a log as its runtime does: the active branch;
// if it was compacted, the last summary first, then from the first message
// that it kept, each message once (seed 001, section 7.4, whose two lists
// overlap); after a reset, only what followed. It also returns what reading the
// log has shown. open is called twice if the log has forks. An error that wraps
// [session.ErrUnknownFormat] is returned for a log of another format.
func Read(ctx context.Context, scanner Scanner, open func() (io.ReadCloser, error)) ([]Message, session.Scan, error) {
	c, scan, err := readPass(ctx, scanner, nil, open)
	if err == nil && scan.Tree != nil && scan.Tree.Forked() {
		c, scan, err = readPass(ctx, scanner, scan.Tree, open)
	}
	if err != nil {
		return nil, scan, fmt.Errorf("read the log: %w", err)
	}
	return slices.DeleteFunc(c.messages, func(m Message) bool { return m.Line < scan.ResetLine }), scan, nil
}

func readPass(ctx context.Context, scanner Scanner, tree *session.Tree, open func() (io.ReadCloser, error)) (reading, session.Scan, error) {
	var c reading
	log, err := open()
	if err != nil {
		return c, session.Scan{}, err
	}
	scan, err := scanner.Scan(ctx, log, session.ScanOptions{Tree: tree}, c.add)
	return c, scan, errors.Join(err, log.Close())
}

// reading is a context while its log is read.
type reading struct{ messages []Message }

func (c *reading) add(m *session.Message) error {
	if m.Branch != session.Active || m.OutOfContext {
		return nil
	}
	x := newMessage(m)
	if x.Role == Summary {
		c.compacted(x, string(m.FirstKept))
		return nil
	}
	if !x.empty() {
		c.messages = append(c.messages, x)
	}
	return nil
}

// compacted puts a summary in the place of everything before the first message
// that was kept; of everything if that is not there.
func (c *reading) compacted(summary Message, firstKept string) {
	kept := len(c.messages)
	if i := slices.IndexFunc(c.messages, func(m Message) bool { return m.Role != Summary && m.id != "" && m.id == firstKept }); i >= 0 {
		kept = i
	}
	summary.Reason = ReasonSummary
	tail := slices.Clone(c.messages[kept:])
	c.messages = append([]Message{summary}, tail...)
}

// turns splits a context after its summary into turns: each begins with what
// the user said, the first perhaps not. It returns the start of each turn.
func turns(messages []Message) (starts []int) {
	for i, m := range messages {
		if m.Role == Summary {
			continue
		}
		before := Summary
		if i > 0 {
			before = messages[i-1].Role
		}
		if m.Role == User && before != User || before == Summary {
			starts = append(starts, i)
		}
	}
	return starts
}
