package compact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Restored is the outcome of a restore, beside Planned and NothingToDo.
const Restored Outcome = "restored"

// RestoreRequest says what to put back and where.
type RestoreRequest struct {
	Archive Archived
	ModTime time.Time        // of the log when it was archived, or zero
	Place   session.Place    // where it goes
	Store   session.Restorer // that the place is in; nil outside of every store
	Force   bool             // replace a log with other bytes, once it is archived
	Quiet   time.Duration    // how long such a log must have been untouched
}

// RestorePlan says what a restore would do. It is data and keeps nothing open;
// making one changes nothing.
type RestorePlan struct {
	RestoreRequest
	Outcome Outcome // Planned or NothingToDo
	Reason  string
	// There is what is at the place now and would be archived and replaced,
	// nil if there is nothing.
	There *session.Snapshot
}

// DifferentError is returned when a log is to be put back where other bytes
// are, and they were not to be replaced.
type DifferentError struct {
	Path string
	// Reason says how they differ: which is newer and which is longer.
	Reason string
	// Owned is true where only the runtime changes its logs, so that they are
	// never replaced.
	Owned bool
}

// Error implements error.
func (e *DifferentError) Error() string { return e.Path + " is there already: " + e.Reason }

// PlanRestore reads the archive to its end, so that a damaged one is noticed
// before anything is done, and looks at what is at the place. A
// [*DifferentError] is returned for other bytes without Force, a
// [*session.BusyError] if somebody may be writing them.
func (c *Compactor) PlanRestore(ctx context.Context, r RestoreRequest) (*RestorePlan, error) {
	p := &RestorePlan{RestoreRequest: r, Outcome: Planned}
	if err := c.readBack(ctx, r.Archive); err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	log, err := durable.OpenRegular(r.Place.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case errors.Is(err, durable.ErrHeld):
		return nil, &session.BusyError{Path: r.Place.Path, Reason: "another program has it open"}
	case err != nil:
		return nil, fmt.Errorf("open what is there: %w", err)
	}
	defer log.Close()
	there, err := session.TakeSnapshot(ctx, log, r.Place.Path)
	if err != nil {
		return nil, fmt.Errorf("read what is there: %w", err)
	}
	if there.SHA256 == r.Archive.SHA256 {
		p.Outcome, p.Reason = NothingToDo, "the same bytes are there already"
		return p, nil
	}
	p.There = &there
	if p.Store != nil && there.Size == 0 && !p.Place.Owned {
		p.Force = true // nothing is in it that could be newer
	}
	return p, p.mayReplace(ctx, log, c.Now())
}

// mayReplace returns an error unless what is there may be replaced.
func (p *RestorePlan) mayReplace(ctx context.Context, log *os.File, now time.Time) error {
	if info, err := log.Stat(); err != nil {
		return fmt.Errorf("look at what is there: %w", err)
	} else if durable.Identify(info).Links > 1 {
		return fmt.Errorf("%w: %s: a file with several names (hard links)", session.ErrUnsupported, p.Place.Path)
	}
	if !p.Force || p.Place.Owned {
		grown, err := session.Snapshot{Size: p.Archive.Bytes, SHA256: p.Archive.SHA256}.Begins(ctx, log)
		if err != nil {
			return err
		}
		return &DifferentError{Path: p.Place.Path, Reason: p.difference(grown), Owned: p.Place.Owned}
	}
	if p.Store == nil {
		return nil
	}
	return p.Store.Unused(ctx, p.Place.Path, now, p.Quiet)
}

// difference says which of the two is newer and which is longer.
func (p *RestorePlan) difference(grown bool) string {
	there, length := p.There, "as long as the archive"
	switch n := there.Size - p.Archive.Bytes; {
	case grown:
		length = fmt.Sprintf("it has the archived bytes and %d more", n)
	case n > 0:
		length = fmt.Sprintf("%d bytes longer than the archive", n)
	case n < 0:
		length = fmt.Sprintf("%d bytes shorter than the archive", -n)
	}
	stamp := there.ModTime.Format(time.RFC3339)
	switch {
	case p.ModTime.IsZero():
		return fmt.Sprintf("changed %s, with other bytes, %s", stamp, length)
	case there.ModTime.After(p.ModTime):
		return fmt.Sprintf("it is newer (changed %s, archived as of %s) and %s", stamp, p.ModTime.UTC().Format(time.RFC3339), length)
	}
	return fmt.Sprintf("it is not newer (changed %s, archived as of %s), but has other bytes, %s", stamp, p.ModTime.UTC().Format(time.RFC3339), length)
}
