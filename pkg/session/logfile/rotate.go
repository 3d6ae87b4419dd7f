package logfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// RotatingLogs are [Logs] that sessctl may change. They are a [session.Rotator]
// and a [session.Disposer] too.
type RotatingLogs struct {
	Logs
	// Step is called after each step of a change, with its name; an error ends
	// the change there. nil but in tests, which stop it so.
	Step func(name string) error
	// Resuming is for a runtime that goes on with an older log where the newest is
	// gone; nil for others.
	Resuming *Resuming
	// System says what of the system changes do without; the zero value uses
	// all.
	System durable.System
}

// Stepped calls Step, if there is one.
func (l *RotatingLogs) Stepped(name string) error {
	if l.Step == nil {
		return nil
	}
	return l.Step(name)
}

// Live opens the directory of a log that may be changed, and returns the log's
// name in it. It returns an error that wraps [session.ErrUnsupported] for what
// is not the live log of a session, and a [*session.BusyError] for a log that
// is gone.
func (l *RotatingLogs) Live(path string) (*Dir, string, error) {
	d, name, err := l.Directory(path)
	if err != nil {
		return nil, "", err
	}
	if err := l.isLive(d, name, path); err != nil {
		d.Close()
		return nil, "", err
	}
	return d, name, nil
}

func (l *RotatingLogs) isLive(d *Dir, name, path string) error {
	if !l.locates(path) {
		return Unsupported(path, session.ReasonNotLive.Text())
	}
	info, err := d.Stat(name)
	if err != nil {
		return err
	}
	if info == nil {
		return Gone(path)
	}
	if reason := Unusable(info); reason != "" {
		return Unsupported(path, reason)
	}
	return nil
}

// locate is Locate for an absolute path.
func (l *Logs) locate(path string) (session.Ref, bool) {
	below, err := filepath.Rel(l.Base, path)
	if err != nil {
		return session.Ref{}, false
	}
	return l.Locate(filepath.ToSlash(below))
}

// locates reports whether a path is the place of a live log.
func (l *Logs) locates(path string) bool {
	_, ok := l.locate(path)
	return ok
}

// PlanRotation implements [session.Rotator]. The old log gets the first free
// name after the time.
func (l *RotatingLogs) PlanRotation(ctx context.Context, ref session.Ref, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	d, name, err := l.Live(ref.Path)
	if err != nil {
		return session.Rotation{}, err
	}
	defer d.Close()
	now = now.UTC().Truncate(time.Millisecond)
	kept, err := d.FreeRotated(name, now)
	r := session.Rotation{
		Runtime: l.Name, Agent: ref.Agent, Session: ref.ID, Store: l.Store,
		Live: ref.Path, Kept: kept, At: now, Snapshot: snap,
	}
	if err != nil || l.Resuming == nil || !ref.Primary {
		return r, err
	}
	older, err := l.older(ctx, ref)
	if older {
		r.Fresh = l.Resuming.Nothing
	}
	return r, err
}

// Rotate implements [session.Rotator]: the fresh log of the plan takes the old
// one's place. Without one the log is moved aside, for a runtime that starts
// fresh where it finds none.
func (l *RotatingLogs) Rotate(ctx context.Context, r session.Rotation) error {
	change, err := l.OpenChange(session.Shortening{Rotation: r, After: FreshProof(r)})
	if err != nil {
		return err
	}
	defer change.Dir.Close()
	return change.StartFresh(ctx)
}

// StartFresh puts the plan's Fresh, which its After names, in the place of the
// log, with the log's time; without one the log is moved aside. It returns what
// [Change.Replace] and [Change.MoveAside] return.
func (c *Change) StartFresh(ctx context.Context) error {
	if c.Plan.Fresh == "" {
		return c.MoveAside(ctx)
	}
	c.KeepTime = true
	return c.ReplaceBy(ctx, c.Plan.Fresh)
}

// ReplaceBy is [Change.Replace] with a text.
func (c *Change) ReplaceBy(ctx context.Context, text string) error {
	return c.Replace(ctx, func(w io.Writer, _ *os.File) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// FreshProof is the log that a rotation leaves at the old one's place. It is of
// no bytes where there is none then.
func FreshProof(r session.Rotation) session.LogProof { return TextProof(r.Fresh) }

// TextProof is [Proof] of a text.
func TextProof(text string) session.LogProof {
	sum := sha256.Sum256([]byte(text))
	return session.LogProof{Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
}

// Dispose implements [session.Disposer].
func (l *RotatingLogs) Dispose(ctx context.Context, r session.Rotation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	change, err := l.OpenChange(session.Shortening{Rotation: r})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer change.Dir.Close()
	return change.Dispose()
}

// OpenChange opens the directory of a plan's log for a change that moves the
// log aside or replaces it; close its Dir. The plan may come from a journal: it
// is an error if it leads out of one directory of the store.
func (l *RotatingLogs) OpenChange(plan session.Shortening) (*Change, error) {
	d, name, err := l.Directory(plan.Live)
	if err != nil {
		return nil, err
	}
	log, rotated := OriginalName(filepath.Base(plan.Kept))
	if !l.locates(plan.Live) || !rotated || log != name || plan.Kept != d.At(filepath.Base(plan.Kept)) {
		err = fmt.Errorf("change %s: the plan names files that do not belong together", plan.Live)
	} else {
		err = d.InPlace()
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return l.Change(d, plan), nil
}

// Change is a change of a log in an open directory.
func (l *RotatingLogs) Change(d *Dir, plan session.Shortening) *Change {
	return &Change{Dir: d, Plan: plan, Step: l.Step, System: l.System}
}
