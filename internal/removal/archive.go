package removal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// PutArchive archives a session and what belongs to it.
func PutArchive(ctx context.Context, run *workspace.Run, store *archive.Store, s workspace.Found) (archive.Entry, error) {
	if source := s.Adapter.Capabilities().SourceOf(s.Ref); source != nil {
		return putStored(ctx, run, store, s, source)
	}
	if err := keepAttached(ctx, run, store, s); err != nil {
		return archive.Entry{}, err
	}
	return PutFile(ctx, run, store, s)
}

// PutFile archives the file in which a session lies, or a database, as it is.
func PutFile(ctx context.Context, run *workspace.Run, store *archive.Store, s workspace.Found) (archive.Entry, error) {
	var entry archive.Entry
	err := compact.WaitOut(ctx, compact.Policy{}, func() (err error) {
		entry, err = putLog(ctx, run, store, s.Ref, "archive")
		return err
	})
	return entry, err
}

// putLog archives a log as it is. One that is shorter than it was when it was
// listed, or changes while it is copied, is busy. reason is what the copy is
// made for.
func putLog(ctx context.Context, run *workspace.Run, store *archive.Store, ref session.Ref, reason string) (archive.Entry, error) {
	log, err := run.Pins.OpenSingle(ref.Store, ref.Path)
	if errors.Is(err, durable.ErrHeld) {
		return archive.Entry{}, &session.BusyError{Path: ref.Path, Reason: session.ReasonOpenElsewhere.Text()}
	}
	if err != nil {
		return archive.Entry{}, err
	}
	defer log.Close()
	c := LogCopy{Ref: ref, Log: log, Archiver: workspace.Archiver{Store: store, Now: run.Now, Reason: reason, Name: workspace.Naming(run)}}
	entry, err := c.Once(ctx)
	if errors.Is(err, session.ErrBusy) || errors.Is(err, ErrRestless) {
		entry, err = c.Twice(ctx)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = &session.BusyError{Path: ref.Path, Reason: session.ReasonShorterArchived.Text(), Change: session.ChangeShorter}
	}
	return entry, err
}

// putStored archives a session that is not a file, exactly as it was hashed, or
// not at all.
func putStored(ctx context.Context, run *workspace.Run, store *archive.Store, s workspace.Found, source session.LogSource) (archive.Entry, error) {
	snap, err := compact.SnapshotSource(ctx, source, s.Ref)
	if err != nil {
		return archive.Entry{}, err
	}
	log, err := source.OpenLog(ctx, s.Ref)
	if err != nil {
		return archive.Entry{}, err
	}
	defer log.Close()
	entry, err := workspace.Archiver{Store: store, Now: run.Now, Reason: "archive", Name: workspace.Naming(run)}.PutEntry(ctx, s.Ref, snap, log)
	if err == nil && entry.SHA256 != snap.SHA256 {
		err = &session.BusyError{Path: s.Path, Reason: session.ReasonChangedArchived.Text()}
	}
	return entry, err
}

// LogCopy is an open log that is being archived.
type LogCopy struct {
	workspace.Archiver
	Ref session.Ref
	Log *os.File
}

// ErrRestless is returned when the times of a log cannot tell whether it
// changes while it is copied.
var ErrRestless = errors.New("its timestamps do not show whether it changes")

// Once reads the log once. That its bytes are of one moment is known by its
// times: they are settled before, and the same when the last byte was read.
// What changed meanwhile leaves no archive.
func (c LogCopy) Once(ctx context.Context) (archive.Entry, error) {
	info, err := c.Log.Stat()
	if err != nil {
		return archive.Entry{}, fmt.Errorf("look at the log: %w", err)
	}
	snap := session.Observe(c.Ref.Path, info)
	src, ok := snap.Watch(c.Log, c.Now())
	if !ok || !durable.ChangeTimeTells(c.Ref.Path) {
		return archive.Entry{}, ErrRestless
	}
	if err := c.whole(snap); err != nil {
		return archive.Entry{}, err
	}
	return c.PutEntry(ctx, c.Ref, snap, src)
}

// Twice reads the log twice, for a log that was written a moment ago, or where
// times do not tell: first its bytes are hashed, then they are copied, and the
// copy must have that hash. What is added to the log meanwhile does not matter.
func (c LogCopy) Twice(ctx context.Context) (archive.Entry, error) {
	snap, err := session.TakeSnapshot(ctx, c.Log, c.Ref.Path)
	if err != nil {
		return archive.Entry{}, err
	}
	if err := c.whole(snap); err != nil {
		return archive.Entry{}, err
	}
	entry, err := c.PutEntry(ctx, c.Ref, snap, io.NewSectionReader(c.Log, 0, snap.Size))
	if err == nil && entry.SHA256 != snap.SHA256 {
		err = &session.BusyError{Path: c.Ref.Path, Reason: session.ReasonChangedArchived.Text()}
	}
	return entry, err
}

// whole says whether the log is at least as long as when it was listed.
func (c LogCopy) whole(snap session.Snapshot) error {
	if snap.Size < c.Ref.Bytes {
		return &session.BusyError{Path: c.Ref.Path, Reason: session.ReasonHasShortened.Text(), Change: session.ChangeShorter}
	}
	return nil
}
