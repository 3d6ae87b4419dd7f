package qwen

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// What a resume needs was compared with the program itself (docs/dev/formats.md,
// "qwen"). A line goes only if its type is named here; every other one stays, and
// a log with a line that is not understood stays as it is.

// summedUp are the subtypes of system records that go with what a compression
// takes the place of. The last snapshot stays.
var summedUp = map[string]bool{"ui_telemetry": true, "attribution_snapshot": true, "chat_compression": true}

// takenOut stands in the place of what was on the screen.
const takenOut = "[taken out by sessctl: the archive has it]"

// leastShown is the length, in bytes, from which an output on the screen is taken
// out.
const leastShown = 512

// trimming is what is to be taken out of a log.
type trimming struct {
	lineage *session.Lineage
	kinds   []kind
	sums    []bool // of records, whether a compression takes their place
	snaps   []bool // of records, whether they are a snapshot
	goes    []bool
	screen  int  // before this record outputs on the screen go
	torn    bool // the last line is not whole
}

// look reads a log and decides what goes. It returns an error that wraps
// [session.ErrUnsupported] for a log with a line that is not understood.
func look(ctx context.Context, log io.Reader) (*trimming, error) {
	t := &trimming{lineage: session.NewLineage()}
	var d decoder
	err := jsonl.NewReader(log, jsonl.Options{}).Each(ctx, func(l jsonl.Line) error {
		if len(bytes.TrimSpace(l.Raw)) == 0 {
			return nil
		}
		err := d.decode(l.Raw)
		if err != nil && !l.Complete {
			t.torn = true
			return nil // the last line: it stays as it is
		}
		if err != nil || !l.Complete || l.NULBytes > 0 || d.record.kind == foreign || d.record.kind == unknown {
			return fmt.Errorf("%w: its line %d is no record that is known", session.ErrUnsupported, l.Number)
		}
		return t.take(&d)
	})
	if err != nil {
		return nil, err
	}
	t.decide()
	return t, nil
}

// take notes one record.
func (t *trimming) take(d *decoder) error {
	r := &d.record
	if err := t.lineage.Add(string(r.id), string(r.parent)); err != nil {
		return err
	}
	said := r.kind == user || r.kind == assistant || r.kind == toolResult
	t.kinds = append(t.kinds, r.kind)
	t.sums = append(t.sums, said && len(r.subtype) == 0 || string(r.name) == "system" && summedUp[string(r.subtype)])
	t.snaps = append(t.snaps, string(r.subtype) == "attribution_snapshot")
	if r.kind == user && string(r.provenance) == "real_user" {
		t.screen = len(t.kinds) - 1
	}
	return nil
}

// decide says what goes: on the way to the last record, what the last compression
// takes the place of. The first question stays, by which Qwen lists the session.
func (t *trimming) decide() {
	t.goes = make([]bool, t.lineage.Len())
	path := t.lineage.Path()
	last := -1
	for at, i := range path {
		if t.kinds[i] == compression {
			last = at
		}
	}
	if last < 0 {
		return
	}
	first, snap := true, -1
	for _, i := range path {
		if t.snaps[i] {
			snap = i
		}
	}
	for _, i := range path[:last] {
		if t.kinds[i] == user && first {
			first = false
			continue
		}
		t.goes[i] = t.sums[i] && i != snap
	}
}

// write writes what stays of a log: every record hangs on the nearest one that
// stays, and every other byte of it is what it was.
func (t *trimming) write(ctx context.Context, w io.Writer, log io.ReaderAt, size int64) error {
	return session.Records{Log: log, Size: size, Number: len(t.goes), Torn: t.torn}.Write(ctx, w, func(whole *io.SectionReader, record int) error {
		if t.goes[record] {
			return nil
		}
		return t.line(w, whole, record)
	})
}

// line writes one record that stays.
func (t *trimming) line(w io.Writer, whole *io.SectionReader, record int) error {
	parent, moved := t.lineage.Parent(record, func(i int) bool { return t.goes[i] })
	shown := t.kinds[record] == toolResult && record < t.screen
	if !moved && !shown {
		_, err := io.Copy(w, whole)
		return err
	}
	err := session.WriteChanged(w, whole, func(raw []byte, top []jsonl.Member) (edits []jsonl.Edit) {
		if moved {
			edits = session.HangOn(top, "parentUuid", parent)
		}
		if shown {
			edits = append(edits, screenEdits(raw, top)...)
		}
		return edits
	})
	if err != nil {
		err = fmt.Errorf("its record %d: %w", record+1, err)
	}
	return err
}

// screenEdits take out what was on the screen: a long text, or all that a command
// printed. What else is there, the change of a file say, stays.
func screenEdits(raw []byte, top []jsonl.Member) (edits []jsonl.Edit) {
	out := func(m jsonl.Member) {
		if raw[m.From] == '"' && m.To-m.From > leastShown {
			edits = append(edits, jsonl.Edit{From: m.From, To: m.To, Value: string(jsonl.AppendQuoted(nil, takenOut))})
		}
	}
	for _, m := range jsonl.Within(raw, top, "toolCallResult") {
		if m.Key != "resultDisplay" {
			continue
		}
		out(m)
		inner, err := jsonl.Members(raw, m.From, m.To)
		if err != nil || !slices.ContainsFunc(inner, func(m jsonl.Member) bool {
			return m.Key == "type" && string(raw[m.From:m.To]) == `"shell_result"`
		}) {
			continue
		}
		for _, m := range inner {
			if m.Key == "output" || m.Key == "text" {
				out(m)
			}
		}
	}
	return edits
}

// trim writes what stays of the log.
func trim(ctx context.Context, w io.Writer, log io.ReaderAt, size int64) error {
	t, err := look(ctx, io.NewSectionReader(log, 0, size))
	if err != nil {
		return err
	}
	return t.write(ctx, w, log, size)
}

// PlanTrim implements [session.Trimmer].
func (s *Store) PlanTrim(ctx context.Context, request session.ShortenRequest) (session.Shortening, error) {
	rotation, err := s.changes.PlanRotation(ctx, request.Ref, request.Snapshot, request.Now)
	if err != nil {
		return session.Shortening{}, err
	}
	log, _, err := s.OpenLog(request.Ref)
	if err != nil {
		return session.Shortening{}, err
	}
	defer log.Close()
	return logfile.PlanTrim(session.Shortening{Rotation: rotation}, request, "/compress in the session", func(w io.Writer) error {
		return trim(ctx, w, log, request.Snapshot.Size)
	})
}

// Shorten implements [session.Shortener]. The log keeps its time: `qwen -c` goes
// on with the session that was used last.
func (s *Store) Shorten(ctx context.Context, plan session.Shortening) error {
	change, err := s.changes.OpenChange(plan)
	if err != nil {
		return err
	}
	defer change.Dir.Close()
	change.KeepTime = true
	return change.Replace(ctx, func(w io.Writer, old *os.File) error { return trim(ctx, w, old, plan.Snapshot.Size) })
}

// Dispose implements [session.Disposer].
func (s *Store) Dispose(ctx context.Context, r session.Rotation) error {
	return s.changes.Dispose(ctx, r)
}

// Due implements [session.Trigger]: the log grows beyond the context.
func (s *Store) Due(_ context.Context, q session.DueQuestion) (bool, string, error) {
	due, reason := session.DueToTrim(q)
	return due, reason, nil
}
