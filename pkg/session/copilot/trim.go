package copilot

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// What a resume needs was compared with the program itself (docs/dev/formats.md,
// "copilot"). A line goes only if its type is named here; every other line stays,
// wherever it stands, and so does one that cannot be read. A record of the session
// that is not known may say what becomes of lines before it: such a log is not
// changed.

// neverNeeded are the types of lines that a resume does not look at, wherever they
// stand.
var neverNeeded = map[string]bool{
	"model.turn_started": true, "model.model_call_started": true, "model.model_call_success": true, "model.message": true,
	"model.response": true, "model.turn_ended": true, "model.messages_snapshot": true, "system.message": true,
}

// onlyLast are those of which one is enough, the last: what was used in all, which
// model a resume goes on with, how large the context is.
var onlyLast = map[string]bool{"session.usage_record": true, "session.resume": true, "session.shutdown": true}

// summedUp are those that the last summary takes the place of.
var summedUp = map[string]bool{
	"assistant.turn_start": true, "assistant.turn_end": true, "assistant.message": true,
	"tool.execution_start": true, "tool.execution_complete": true, "session.compaction_start": true, "session.compaction_complete": true,
	"session.usage_checkpoint": true, "permission.requested": true, "permission.completed": true, "hook.start": true, "hook.end": true,
	"abort": true, "session.error": true,
	"subagent.started": true, "subagent.selected": true, "subagent.configured": true, "subagent.completed": true,
}

// ofAgents are those that go with them if they are of an agent that the session's
// agent has begun.
var ofAgents = map[string]bool{"user.message": true, "session.model_change": true}

// marks are the places in a log by which it is decided what stays.
type marks struct {
	cut   int64            // where the last compaction that was applied began; 0 without one
	last  map[string]int64 // the last line of each type of onlyLast
	named map[string]int64 // by the id of an image: the last line that names it, -1 for none
	held  map[string]bool  // ids of images that a line names which stays wherever it stands
	start place            // of the compaction that is not finished
	odd   int64            // a compaction that was finished and did not begin, or was finished in another way
	first bool             // the first line was seen
}

// place is where a compaction began.
type place struct {
	attempt string
	offset  int64
}

// assetMark begins the id of an image.
var assetMark = []byte("sha256:")

// assetLength is the length of such an id.
const assetLength = len("sha256:") + 64

// look finds the marks of a log. It returns an error that wraps
// [session.ErrUnsupported] for one that was not compared with the program.
func look(ctx context.Context, log io.Reader) (marks, error) {
	m := marks{last: map[string]int64{}, named: map[string]int64{}, held: map[string]bool{}}
	var d decoder
	err := jsonl.NewReader(log, jsonl.Options{}).Each(ctx, func(l jsonl.Line) error {
		if len(bytes.TrimSpace(l.Raw)) == 0 {
			return nil
		}
		err := d.decode(l.Raw)
		if !m.first {
			m.first = true
			if b := d.beginning(); err != nil || d.record.kind != header || b.version != 1 {
				return fmt.Errorf("%w: its first line is no session.start of version 1", session.ErrUnsupported)
			}
			return nil
		}
		if err != nil || !d.whole() {
			m.holds(l) // it stays
			return nil
		}
		if alwaysStays(&d) {
			m.holds(l)
		}
		return m.take(&d, l)
	})
	if err == nil && m.cut > 0 && m.odd > m.cut {
		err = fmt.Errorf("%w: two compactions at a time, and what a resume makes of such a session was not compared", session.ErrUnsupported)
	}
	return m, err
}

// take notes one line.
func (m *marks) take(d *decoder, l jsonl.Line) error {
	name := string(d.record.name)
	switch {
	case d.record.kind == foreign && strings.HasPrefix(name, "session."):
		return fmt.Errorf("%w: it has a record %s that is not known, which may be about lines before it", session.ErrUnsupported, name)
	case neverNeeded[name], d.record.agent && onlyLast[name]:
		return nil
	case d.record.agent:
		m.names(l)
		return nil
	case onlyLast[name]:
		m.last[name] = l.Offset
		return nil
	}
	switch d.record.kind {
	case asset:
		if id := assetOf(d); id != "" {
			if _, known := m.named[id]; !known {
				m.named[id] = -1
			}
		}
		return nil
	case squeezing:
		m.start = place{d.compaction().attempt, l.Offset}
	case squeezed:
		switch x := d.compaction(); {
		case x.applied && x.attempt == m.start.attempt && m.start.offset > 0:
			m.cut = m.start.offset
		case x.applied || x.succeeded:
			m.odd = l.Offset
		}
	}
	m.names(l)
	return nil
}

// names notes which images a line names.
func (m *marks) names(l jsonl.Line) {
	eachName(l.Raw, func(id []byte) {
		if _, known := m.named[string(id)]; known {
			m.named[string(id)] = l.Offset
		}
	})
}

// holds notes the images of a line that stays wherever it stands.
func (m *marks) holds(l jsonl.Line) {
	eachName(l.Raw, func(id []byte) { m.held[string(id)] = true })
}

// alwaysStays reports whether a line stays before the cut too. What a person has
// typed does, and was compared: a resume asks for no image of it there.
func alwaysStays(d *decoder) bool {
	name := string(d.record.name)
	gone := neverNeeded[name] || onlyLast[name] || summedUp[name] || d.record.agent && ofAgents[name]
	return !gone && d.record.kind != asset && (d.record.agent || name != "user.message")
}

// eachName hands out what may be the id of an image in a line.
func eachName(raw []byte, take func(id []byte)) {
	for rest := raw; ; {
		at := bytes.Index(rest, assetMark)
		if at < 0 || len(rest)-at < assetLength {
			return
		}
		take(rest[at : at+assetLength])
		rest = rest[at+len(assetMark):]
	}
}

// assetOf is the id of the image of a record.
func assetOf(d *decoder) string { return string(d.said("assetId")) }

// stays reports whether a line stays.
func (m *marks) stays(d *decoder, l jsonl.Line) bool {
	if l.Offset == 0 || d.decode(l.Raw) != nil || !d.whole() {
		return true
	}
	name := d.record.name
	switch {
	case neverNeeded[string(name)]:
		return false
	case onlyLast[string(name)]:
		return !d.record.agent && l.Offset == m.last[string(name)]
	case l.Offset >= m.cut:
		return true
	case d.record.agent && ofAgents[string(name)], summedUp[string(name)]:
		return false
	case d.record.kind == asset:
		id := assetOf(d)
		at, known := m.named[id]
		return !known || at < 0 || at >= m.cut || m.held[id]
	}
	return true
}

// Trim writes what stays of a log of size bytes, byte for byte. It returns an error
// that wraps [session.ErrUnsupported] for a log that was not compared with the
// program.
func Trim(ctx context.Context, w io.Writer, log io.ReaderAt, size int64) error {
	m, err := look(ctx, io.NewSectionReader(log, 0, size))
	if err != nil {
		return err
	}
	var d decoder
	var from, to int64 // what stays and is not written yet
	flush := func() error {
		_, err := io.Copy(w, io.NewSectionReader(log, from, to-from))
		return err
	}
	err = jsonl.NewReader(io.NewSectionReader(log, 0, size), jsonl.Options{}).Each(ctx, func(l jsonl.Line) error {
		if !m.stays(&d, l) {
			return nil
		}
		if l.Offset != to {
			if err := flush(); err != nil {
				return err
			}
			from = l.Offset
		}
		to = l.Offset + l.Length
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	return flush()
}

// PlanTrim implements [session.Trimmer].
func (s *Store) PlanTrim(ctx context.Context, request session.ShortenRequest) (session.Shortening, error) {
	if ref := request.Ref; !strings.HasSuffix(ref.Path, string(os.PathSeparator)+logName) {
		return session.Shortening{}, logfile.Unsupported(ref.Path, session.ReasonOlderCopilot.Text())
	}
	rotation, err := s.Changes.PlanRotation(ctx, request.Ref, request.Snapshot, request.Now)
	if err != nil {
		return session.Shortening{}, err
	}
	log, _, err := s.OpenLog(request.Ref)
	if err != nil {
		return session.Shortening{}, err
	}
	defer log.Close()
	size := request.Snapshot.Size
	plan := session.Shortening{Rotation: rotation}
	plan.After, err = logfile.Proof(func(w io.Writer) error { return Trim(ctx, w, log, size) })
	if err == nil {
		err = session.WorthTrimming(size, plan.After.Size, "/compact in the session")
	}
	return plan, err
}

// Shorten implements [session.Shortener].
func (s *Store) Shorten(ctx context.Context, plan session.Shortening) error {
	if _, err := s.held(plan.Live, time.Now()); err != nil {
		return err
	}
	change, err := s.Changes.OpenChange(plan)
	if err != nil {
		return err
	}
	defer change.Dir.Close()
	return change.Replace(ctx, func(w io.Writer, old *os.File) error { return Trim(ctx, w, old, plan.Snapshot.Size) })
}

// Dispose implements [session.Disposer].
func (s *Store) Dispose(ctx context.Context, r session.Rotation) error {
	return s.Changes.Dispose(ctx, r)
}

// Due implements [session.Trigger]: what makes a session hard to open is the size
// of its log, not that of its context.
func (s *Store) Due(_ context.Context, q session.DueQuestion) (bool, string, error) {
	due, reason := session.DueToTrim(q)
	return due, reason, nil
}
