package annabelle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// compactionRecord is a compaction as the runtime writes it (docs/dev/formats.md,
// "annabelle").
type compactionRecord struct {
	Type           string `json:"type"`
	Summary        string `json:"summary"`
	CompactedTurns int    `json:"compactedTurns"`
	Timestamp      string `json:"timestamp"`
	SummaryBy      string `json:"summaryBy"` // not a field of the runtime's: it says that the summary is ours
}

// PlanRewrite implements [session.Rewriter]: the header, one compaction, and
// the turns that stay. compactedTurns counts those of earlier compactions too,
// whose summary this one takes in.
func (s *Store) PlanRewrite(ctx context.Context, request session.ShortenRequest) (session.Shortening, error) {
	rotation, err := s.PlanRotation(ctx, request.Ref, request.Snapshot, request.Now)
	if err != nil {
		return session.Shortening{}, err
	}
	log, _, err := s.OpenLog(request.Ref)
	if err != nil {
		return session.Shortening{}, err
	}
	defer log.Close()
	plan := session.Shortening{Rotation: rotation, Cut: request.Cut, Summary: request.Summary}
	gone, err := measure(ctx, io.NewSectionReader(log, 0, cutAt(request.Cut, request.Snapshot.Size)))
	if err != nil {
		return session.Shortening{}, err
	}
	record, err := json.Marshal(compactionRecord{
		Type: kindCompaction, Summary: request.Summary.Text, CompactedTurns: gone.turns + gone.replaced,
		Timestamp: request.Now.UTC().Format("2006-01-02T15:04:05.000Z"), SummaryBy: session.SummaryBy,
	})
	if err != nil {
		return session.Shortening{}, fmt.Errorf("write the compaction record: %w", err)
	}
	plan.Record = string(record) + "\n"
	plan.After, err = logfile.Proof(func(w io.Writer) error { return rewrite(w, log, plan) })
	return plan, err
}

// cutAt is where the turns that stay begin.
func cutAt(cut session.Cut, size int64) int64 {
	if cut.Kept == 0 {
		return size
	}
	return cut.KeptByte
}

// rewrite writes the new log.
func rewrite(w io.Writer, old io.ReaderAt, plan session.Shortening) error {
	size := plan.Snapshot.Size
	header, err := headerLine(io.NewSectionReader(old, 0, size))
	if err != nil {
		return err
	}
	if _, err := w.Write(append(header, plan.Record...)); err != nil {
		return err
	}
	end, err := wholeEnd(old, size)
	if err != nil {
		return err
	}
	from := min(cutAt(plan.Cut, size), end)
	_, err = io.Copy(w, io.NewSectionReader(old, from, end-from))
	return err
}

// wholeEnd is where the last line of a log ends that is no torn one: what is written
// next would stand on the same line.
func wholeEnd(log io.ReaderAt, size int64) (int64, error) {
	last, err := jsonl.NewBackwardReader(log, size, jsonl.Options{}).Prev()
	if errors.Is(err, io.EOF) {
		return size, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the end of the log: %w", err)
	}
	var d decoder
	if last.Complete || d.decode(last.Raw) == nil {
		return size, nil
	}
	return last.Offset, nil
}

// headerLine returns the first line byte for byte. A log without a header is
// not one of this runtime's.
func headerLine(log *io.SectionReader) ([]byte, error) {
	line, err := jsonl.NewReader(log, jsonl.Options{}).Next()
	if err != nil {
		return nil, headerError(err)
	}
	var d decoder
	if d.decode(line.Raw) != nil || string(d.record.kind) != kindHeader || !line.Complete {
		return nil, fmt.Errorf("%w: its first line is not a header", session.ErrUnsupported)
	}
	whole := make([]byte, line.Length)
	if _, err := log.ReadAt(whole, line.Offset); err != nil {
		return nil, headerError(err)
	}
	return whole, nil
}

// headerError says that the log became shorter, if it ends where there was a
// header when it was looked at.
func headerError(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read the header: %w", err)
}

// Shorten implements [session.Shortener].
func (s *Store) Shorten(ctx context.Context, plan session.Shortening) error {
	change, err := s.OpenChange(plan)
	if err != nil {
		return err
	}
	defer change.Dir.Close()
	return change.Replace(ctx, func(w io.Writer, old *os.File) error { return rewrite(w, old, plan) })
}
