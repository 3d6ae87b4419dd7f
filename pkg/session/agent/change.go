package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// PlanRotation implements [session.Rotator].
func (s *Store) PlanRotation(ctx context.Context, ref session.Ref, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	r, err := s.RotatingLogs.PlanRotation(ctx, ref, snap, now)
	if err != nil {
		return session.Rotation{}, err
	}
	d, _, err := s.Live(ref.Path)
	if err != nil {
		return session.Rotation{}, err
	}
	defer d.Close()
	r.Before, err = recorded(d)
	return r, err
}

// Rotate implements [session.Rotator]: an empty log, as a new session has one,
// takes the place of the old one, and metadata.json counts from 0 again.
func (s *Store) Rotate(ctx context.Context, r session.Rotation) error {
	change, err := s.OpenChange(session.Shortening{Rotation: r, After: logfile.TextProof("")})
	if err != nil {
		return err
	}
	defer change.Dir.Close()
	if err := change.ReplaceBy(ctx, ""); err != nil {
		return err
	}
	return setCount(change.Dir, "0")
}

// isRotated reports whether a name is that of a log that was moved aside.
func isRotated(name string) bool {
	log, rotated := logfile.OriginalName(name)
	return rotated && log == logName
}

// Due implements [session.Trigger]: a session is due when its context is larger
// than the window less what is reserved for the answer (docs/dev/decisions.md D17).
func (s *Store) Due(_ context.Context, q session.DueQuestion) (bool, string, error) {
	if s.own.Off {
		return false, session.ReasonTurnedOff.Text(s.own.path), nil
	}
	if q.Asked {
		return true, "", nil
	}
	limit := s.options.ContextWindow - s.options.ReserveTokens
	return q.Tail.Tokens > limit, session.ReasonBelowWindow.Text(q.Tail.Tokens, limit, s.options.ContextWindow, s.options.ReserveTokens), nil
}

// compactionRecord is a compaction as the runtime writes it (docs/dev/formats.md,
// "agent").
type compactionRecord struct {
	RecordType    string   `json:"recordType"`
	SchemaVersion int      `json:"schemaVersion"`
	Seq           int64    `json:"seq"`
	FirstKeptSeq  int64    `json:"firstKeptSeq"`
	Summary       string   `json:"summary"`
	TokensBefore  int64    `json:"tokensBefore"`
	ReadFiles     []string `json:"readFiles"`
	ModifiedFiles []string `json:"modifiedFiles"`
	Timestamp     string   `json:"timestamp"`
	SummaryBy     string   `json:"summaryBy"` // not a field of the runtime's: it says that the summary is ours
}

// PlanOverlay implements [session.Overlayer].
func (s *Store) PlanOverlay(ctx context.Context, request session.ShortenRequest) (session.Shortening, error) {
	d, name, err := s.Live(request.Ref.Path)
	if err != nil {
		return session.Shortening{}, err
	}
	defer d.Close()
	log, _, err := d.OpenLog(name)
	if err != nil {
		return session.Shortening{}, err
	}
	defer log.Close()
	last, err := s.lastSeq(ctx, io.NewSectionReader(log, 0, request.Snapshot.Size))
	if err != nil {
		return session.Shortening{}, err
	}
	r := compactionRecord{
		RecordType: kindCompaction, SchemaVersion: schemaVersion, Seq: last + 1, FirstKeptSeq: last + 1,
		Summary: request.Summary.Text, TokensBefore: request.Cut.SummarizedTokens,
		ReadFiles: notNull(request.Summary.ReadFiles), ModifiedFiles: notNull(request.Summary.ModifiedFiles),
		Timestamp: request.Now.UTC().Format("2006-01-02T15:04:05.000Z"), SummaryBy: session.SummaryBy,
	}
	if kept, err := strconv.ParseInt(request.Cut.KeptID, 10, 64); err == nil {
		r.FirstKeptSeq = kept
	} else if request.Cut.Kept > 0 {
		return session.Shortening{}, logfile.Unsupported(request.Ref.Path, session.ReasonNoSeq.Text())
	}
	before, err := session.LineBreak(log, request.Snapshot.Size)
	if err != nil {
		return session.Shortening{}, err
	}
	record, err := line(r)
	return session.Shortening{
		Rotation: session.Rotation{
			Runtime: session.RuntimeAgent, Agent: agentName, Session: request.Ref.ID, Store: s.Root(),
			Live: request.Ref.Path, At: request.Now.UTC(), Snapshot: request.Snapshot,
		},
		Cut: request.Cut, Summary: request.Summary, Record: before + record,
	}, err
}

func notNull(list []string) []string { return append([]string{}, list...) }

// line is one record as text, without the escapes for HTML.
func line(record any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(record); err != nil {
		return "", fmt.Errorf("write the compaction record: %w", err)
	}
	return b.String(), nil
}

// lastSeq returns the highest seq of a log, 0 for an empty one.
func (s *Store) lastSeq(ctx context.Context, log io.Reader) (int64, error) {
	var highest int64
	_, err := s.Scan(ctx, log, session.ScanOptions{}, func(m *session.Message) error {
		if seq, err := strconv.ParseInt(string(m.ID), 10, 64); err == nil {
			highest = max(highest, seq)
		}
		return nil
	})
	return highest, err
}

// Shorten implements [session.Shortener].
func (s *Store) Shorten(ctx context.Context, plan session.Shortening) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, _, err := s.Live(plan.Live)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.InPlace(); err != nil {
		return err
	}
	return s.Change(d, plan).Append()
}

// PlanCarry implements [session.Carrier]. The session that followed is at the
// same place, empty at first. Of a message only the value of seq changes: it
// goes on from the last one of the log. Compactions are left out, because
// their firstKeptSeq counts in the old log, and so are results of tools whose
// call is not in the tail.
func (s *Store) PlanCarry(ctx context.Context, q session.CarryRequest) (session.Carrying, error) {
	d, name, err := s.Live(q.Rotation.Live)
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
		Runtime: session.RuntimeAgent, Agent: agentName, Session: q.Rotation.Session, Store: s.Root(),
		Live: q.Rotation.Live, At: q.Now.UTC().Truncate(time.Millisecond), Snapshot: snap,
	}}}
	return c, s.carry(ctx, log, q.Tail, &c)
}

// idle is Busy for a log that may be empty, because nothing has been said in
// it yet.
func (s *Store) idle(ctx context.Context, d *logfile.Dir, info os.FileInfo, q session.CarryRequest) error {
	if info.Size() == 0 {
		return session.CheckQuiet(q.Rotation.Live, info, q.Now, q.Quiet)
	}
	ref := session.Ref{Path: q.Rotation.Live}
	return d.Busy(ctx, logName, logfile.Question{BusyQuestion: q.IsBusy(ref), Tail: s.Tail})
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
	if c.Record = text.String(); c.Record == "" {
		return nil
	}
	before, err := session.LineBreak(log, c.Snapshot.Size)
	c.Record = before + c.Record
	return err
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
