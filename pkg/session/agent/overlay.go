package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
	"github.com/sessctl/sessctl/pkg/session/livelog"
)

// Strategy implements [session.Shaper]: the log is never rewritten (seed 001,
// section 7.5).
func (s *Store) Strategy() string { return "overlay" }

// Keep implements [session.Shaper].
func (s *Store) Keep() session.Keep { return session.Keep{Tokens: s.options.KeepRecentTokens} }

// Due implements [session.Trigger]: a session is due when its context is
// larger than the window less what is reserved for the answer (seed 001,
// section 7.5.2).
func (s *Store) Due(_ context.Context, q session.DueQuestion) (bool, string, error) {
	limit := s.options.ContextWindow - s.options.ReserveTokens
	return q.Tail.Tokens > limit, fmt.Sprintf("%d tokens, due above %d (window %d less %d reserved)", q.Tail.Tokens, limit, s.options.ContextWindow, s.options.ReserveTokens), nil
}

// compactionRecord is a compaction as seed 001, section 7.2, has it.
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
	SummaryBy     string   `json:"summaryBy"` // no field of the seed: it says that the summary is ours
}

// PlanOverlay implements [session.Overlayer].
func (s *Store) PlanOverlay(ctx context.Context, request session.ShortenRequest) (session.Shortening, error) {
	d, name, err := s.openLive(request.Ref.Path)
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
		return session.Shortening{}, directory.Unsupported(request.Ref.Path, "the first message to keep has no seq")
	}
	record, err := line(r)
	return session.Shortening{
		Rotation: session.Rotation{
			Runtime: session.RuntimeAgent, Agent: agentName, Session: request.Ref.ID, Store: s.root,
			Live: request.Ref.Path, At: request.Now.UTC(), Snapshot: request.Snapshot,
		},
		Cut: request.Cut, Summary: request.Summary, Record: record,
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

// openLive opens the directory of a live log.
func (s *Store) openLive(path string) (*directory.Directory, string, error) {
	d, name, err := directory.Of(s.base, path, 1)
	if err != nil {
		return nil, "", err
	}
	if name != logName {
		d.Close()
		return nil, "", directory.Unsupported(path, "not the live log of a session")
	}
	info, err := d.Stat(name)
	switch {
	case err != nil:
	case info == nil:
		err = directory.Gone(path)
	default:
		if reason := directory.Unusable(info); reason != "" {
			err = directory.Unsupported(path, reason)
		}
	}
	if err != nil {
		d.Close()
		return nil, "", err
	}
	return d, name, nil
}

// Shorten implements [session.Shortener].
func (s *Store) Shorten(ctx context.Context, plan session.Shortening) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, _, err := s.openLive(plan.Live)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.InPlace(); err != nil {
		return err
	}
	change := &livelog.Change{Root: d.Root, Plan: plan, Step: s.step}
	return change.Append()
}
