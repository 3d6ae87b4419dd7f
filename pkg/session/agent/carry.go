package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// PlanCarry implements [session.Carrier]. The session that followed is at the
// same place, empty at first. Of a message only the value of seq changes: it
// goes on from the last one of the log. Compactions are left out, because
// their firstKeptSeq counts in the old log, and so are results of tools whose
// call is not in the tail.
func (s *Store) PlanCarry(ctx context.Context, q session.CarryRequest) (session.Carrying, error) {
	d, name, err := s.openLive(q.Rotation.Live)
	if err != nil {
		return session.Carrying{}, err
	}
	defer d.Close()
	log, info, err := d.OpenLog(name)
	if err != nil {
		return session.Carrying{}, err
	}
	defer log.Close()
	if err := s.idle(ctx, d, info, q); err != nil {
		return session.Carrying{}, err
	}
	snap, err := session.TakeSnapshot(ctx, log, q.Rotation.Live)
	if err != nil {
		return session.Carrying{}, err
	}
	c := session.Carrying{Shortening: session.Shortening{Rotation: session.Rotation{
		Runtime: session.RuntimeAgent, Agent: agentName, Session: q.Rotation.Session, Store: s.root,
		Live: q.Rotation.Live, At: q.Now.UTC().Truncate(time.Millisecond), Snapshot: snap,
	}}}
	return c, s.carry(ctx, log, q.Tail, &c)
}

// idle is Busy for a log that may be empty, because nothing has been said in
// it yet.
func (s *Store) idle(ctx context.Context, d *directory.Directory, info os.FileInfo, q session.CarryRequest) error {
	if info.Size() == 0 {
		return session.CheckQuiet(q.Rotation.Live, info, q.Now, q.Quiet)
	}
	ref := session.Ref{Path: q.Rotation.Live}
	return d.Busy(ctx, logName, directory.Question{Ref: ref, Now: q.Now, Quiet: q.Quiet, Tail: s.Tail})
}

// carry makes the text that is appended to a log.
func (s *Store) carry(ctx context.Context, log io.ReaderAt, tail []byte, c *session.Carrying) error {
	whole := io.NewSectionReader(log, 0, c.Snapshot.Size)
	last, err := s.lastSeq(ctx, whole)
	if err != nil {
		return err
	}
	there, err := saidIn(ctx, io.NewSectionReader(log, 0, c.Snapshot.Size))
	if err != nil {
		return err
	}
	var text bytes.Buffer
	var d decoder
	asked := map[string]bool{}
	for line := range bytes.Lines(tail) {
		whole := line[len(line)-1] == '\n'
		line = bytes.TrimSpace(line)
		key, ok := seqless(line)
		ok = ok && whole && d.decode(line) == nil && d.fits(asked)
		switch {
		case len(line) == 0:
		case !ok:
			c.LeftOut++
		case there[key] > 0:
			there[key]--
			c.Known++
		default:
			last++
			start, end, _ := memberOf(line, "seq")
			fmt.Fprintf(&text, "%s%d%s\n", line[:start], last, line[end:])
			c.Records++
		}
	}
	c.Record = text.String()
	return nil
}

// fits reports whether the decoded record is a message that can stand in
// another session, and notes the tools that it calls.
func (d *decoder) fits(asked map[string]bool) bool {
	if string(d.record.kind) != kindMessage || len(d.record.seq) == 0 {
		return false
	}
	if d.message.Role == session.RoleToolResult && !asked[string(d.message.CallID)] {
		return false
	}
	for _, p := range d.message.Parts {
		if p.Kind == session.PartToolCall {
			asked[string(p.CallID)] = true
		}
	}
	return true
}

// saidIn counts the records of a log, each without its seq.
func saidIn(ctx context.Context, log io.Reader) (map[string]int, error) {
	there := map[string]int{}
	_, err := jsonl.Scan(ctx, log, jsonl.Options{MaxLine: session.MaxCarry + 1}, func(r *jsonl.Record) error {
		if key, ok := seqless(r.Raw); ok {
			there[key]++
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	return there, nil
}

// seqless is a record without the value of its seq; false if it has none.
func seqless(line []byte) (string, bool) {
	line = bytes.TrimSpace(line)
	start, end, ok := memberOf(line, "seq")
	if !ok {
		return "", false
	}
	if _, err := strconv.ParseInt(string(line[start:end]), 10, 64); err != nil {
		return "", false
	}
	return string(line[:start]) + string(line[end:]), true
}
