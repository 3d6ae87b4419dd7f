package omp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// PlanRotation implements [session.Rotator]: in the place of the log that `omp
// -c` continues comes one in which nothing has been said, without which omp
// would go on with the session before.
func (s *Store) PlanRotation(ctx context.Context, ref session.Ref, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	r, err := s.RotatingLogs.PlanRotation(ctx, ref, snap, now)
	if err != nil || !ref.Primary {
		return r, err
	}
	h, err := s.header(ref)
	if err != nil {
		return session.Rotation{}, err
	}
	r.NewSession = session.NewID()
	header, err := piformat.Fresh(r.NewSession, h.CWD, now)
	if err != nil {
		return session.Rotation{}, err
	}
	slot, err := titleSlot(now)
	r.Fresh = slot + header
	return r, err
}

// slotBytes is the width of the first line, with its line feed.
const slotBytes = 256

// titleSlot is the first line of a log without a title.
func titleSlot(now time.Time) (string, error) {
	slot := struct {
		Type      string `json:"type"`
		V         int    `json:"v"`
		Title     string `json:"title"`
		UpdatedAt string `json:"updatedAt"`
		Pad       string `json:"pad"`
	}{Type: "title", V: 1, UpdatedAt: now.UTC().Format("2006-01-02T15:04:05.000Z")}
	line, err := json.Marshal(slot)
	if err == nil {
		slot.Pad = strings.Repeat(" ", slotBytes-1-len(line))
		line, err = json.Marshal(slot)
	}
	if err != nil {
		return "", fmt.Errorf("write the title: %w", err)
	}
	return string(line) + "\n", nil
}

// header is the header of a log. It returns an error that wraps
// [session.ErrUnsupported] for a log without one, or of a later format.
func (s *Store) header(ref session.Ref) (piformat.Header, error) {
	log, _, err := s.OpenLog(ref)
	if err != nil {
		return piformat.Header{}, err
	}
	defer log.Close()
	h, found, err := piformat.ReadHeader(log)
	switch {
	case err != nil:
		return h, err
	case !found:
		return h, logfile.Unsupported(ref.Path, session.ReasonNoHeader.Text())
	case h.Version > maxVersion:
		return h, logfile.Unsupported(ref.Path, session.ReasonNewer.Text(h.Version, maxVersion))
	}
	return h, nil
}

// maxVersion is the newest format that is changed (docs/dev/formats.md, "omp").
const maxVersion = 3

// PlanOverlay implements [session.Overlayer]: it makes a compaction entry as omp
// writes it.
func (s *Store) PlanOverlay(ctx context.Context, request session.ShortenRequest) (session.Shortening, error) {
	plan, err := s.plan(ctx, request)
	if err != nil {
		return plan, err
	}
	log, _, err := s.OpenLog(request.Ref)
	if err != nil {
		return plan, err
	}
	defer log.Close()
	plan.Kept = "" // it is only appended to
	plan.Record, err = piformat.Overlay(log, request)
	return plan, err
}

// plan is what all changes of a log have.
func (s *Store) plan(ctx context.Context, request session.ShortenRequest) (session.Shortening, error) {
	if _, err := s.header(request.Ref); err != nil {
		return session.Shortening{}, err
	}
	rotation, err := s.RotatingLogs.PlanRotation(ctx, request.Ref, request.Snapshot, request.Now)
	return session.Shortening{Rotation: rotation, Cut: request.Cut, Summary: request.Summary}, err
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
	change := s.Change(d, plan)
	if plan.Record != "" {
		return change.Append()
	}
	change.KeepTime = true // omp -c goes on with the session that was used last
	return change.Replace(ctx, func(w io.Writer, old *os.File) error { return piformat.Trim(ctx, w, old, plan.Snapshot.Size) })
}

// PlanTrim implements [session.Trimmer].
func (s *Store) PlanTrim(ctx context.Context, request session.ShortenRequest) (session.Shortening, error) {
	plan, err := s.plan(ctx, request)
	if err != nil {
		return plan, err
	}
	log, _, err := s.OpenLog(request.Ref)
	if err != nil {
		return plan, err
	}
	defer log.Close()
	return logfile.PlanTrim(plan, request, "compact it, or /compact in the session", func(w io.Writer) error {
		return piformat.Trim(ctx, w, log, request.Snapshot.Size)
	})
}
