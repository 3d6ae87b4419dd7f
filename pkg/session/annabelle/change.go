package annabelle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// compactionRecord is a compaction as seed 000 has it.
type compactionRecord struct {
	Type           string `json:"type"`
	Summary        string `json:"summary"`
	CompactedTurns int    `json:"compactedTurns"`
	Timestamp      string `json:"timestamp"`
	SummaryBy      string `json:"summaryBy"` // no field of the seed: it says that the summary is ours
}

// PlanRewrite implements [session.Rewriter]: the header, one compaction, and
// the turns that stay. compactedTurns counts those of earlier compactions too,
// whose summary this one takes in.
func (s *Store) PlanRewrite(ctx context.Context, request session.ShortenRequest) (session.Shortening, error) {
	d, name, err := logfile.Of(s.base, request.Ref.Path, 1)
	if err != nil {
		return session.Shortening{}, err
	}
	defer d.Close()
	if !logName().MatchString(name) {
		return session.Shortening{}, logfile.Unsupported(request.Ref.Path, "not the live log of a session")
	}
	log, _, err := d.OpenLog(name)
	if err != nil {
		return session.Shortening{}, err
	}
	defer log.Close()
	plan := session.Shortening{Cut: request.Cut, Summary: request.Summary}
	if plan.Rotation, err = s.rotation(d, name, request); err != nil {
		return session.Shortening{}, err
	}
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
	from := cutAt(plan.Cut, size)
	_, err = io.Copy(w, io.NewSectionReader(old, from, size-from))
	return err
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

func (s *Store) rotation(d *logfile.Dir, name string, request session.ShortenRequest) (session.Rotation, error) {
	now := request.Now.UTC().Truncate(time.Millisecond)
	kept, err := d.FreeRotated(name, now)
	return session.Rotation{
		Runtime: session.RuntimeAnnabelle, Agent: request.Ref.Agent, Session: request.Ref.ID, Store: s.root,
		Live: request.Ref.Path, Kept: kept, At: now, Snapshot: request.Snapshot,
	}, err
}

// Shorten implements [session.Shortener].
func (s *Store) Shorten(ctx context.Context, plan session.Shortening) error {
	d, err := s.openPlan(plan.Rotation)
	if err != nil {
		return err
	}
	defer d.Close()
	change := &logfile.Change{Dir: d, Plan: plan, Step: s.step}
	return change.Replace(ctx, func(w io.Writer, old *os.File) error { return rewrite(w, old, plan) })
}

// PlanRotation implements [session.Rotator].
func (s *Store) PlanRotation(_ context.Context, ref session.Ref, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	d, name, err := logfile.Of(s.base, ref.Path, 1)
	if err != nil {
		return session.Rotation{}, err
	}
	defer d.Close()
	if !logName().MatchString(name) {
		return session.Rotation{}, logfile.Unsupported(ref.Path, "not the live log of a session")
	}
	return s.rotation(d, name, session.ShortenRequest{Ref: ref, Snapshot: snap, Now: now})
}

// Rotate implements [session.Rotator]: the session is cleared as the runtime
// clears one (seed 000, Clear Session API): there is no log any more, and the
// next message makes one.
func (s *Store) Rotate(ctx context.Context, r session.Rotation) error {
	d, err := s.openPlan(r)
	if err != nil {
		return err
	}
	defer d.Close()
	change := &logfile.Change{Dir: d, Plan: session.Shortening{Rotation: r}, Step: s.step}
	return change.MoveAside(ctx)
}

// Dispose removes an old log for good, once it is archived and settled.
func (s *Store) Dispose(ctx context.Context, r session.Rotation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, err := s.openPlan(r)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	change := &logfile.Change{Dir: d, Plan: session.Shortening{Rotation: r}, Step: s.step}
	return change.Dispose()
}

// openPlan checks that a plan, which may come from a journal, stays in one
// directory of this store.
func (s *Store) openPlan(r session.Rotation) (*logfile.Dir, error) {
	d, name, err := logfile.Of(s.base, r.Live, 1)
	if err != nil {
		return nil, err
	}
	log, rotated := logfile.OriginalName(filepath.Base(r.Kept))
	if !logName().MatchString(name) || !rotated || log != name || r.Kept != d.At(filepath.Base(r.Kept)) {
		err = fmt.Errorf("change %s: the plan names files that do not belong together", r.Live)
	} else {
		err = d.InPlace()
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}
