package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// logCopy is an open log on its way into the archive.
type logCopy struct {
	archiver
	ref session.Ref
	log *os.File
}

// errRestless is returned when the times of a log cannot tell whether it
// changes while it is copied.
var errRestless = errors.New("its times do not tell whether it changes")

// once reads the log once. That its bytes are of one moment is known by its
// times: they are settled before, and the same when the last byte was read.
// What changed meanwhile leaves no archive.
func (c logCopy) once(ctx context.Context) (archive.Entry, error) {
	info, err := c.log.Stat()
	if err != nil {
		return archive.Entry{}, fmt.Errorf("look at the log: %w", err)
	}
	snap := session.Observe(c.ref.Path, info)
	src, ok := snap.Watch(c.log, c.now())
	if !ok || !durable.ChangeTimeTells(c.ref.Path) {
		return archive.Entry{}, errRestless
	}
	if err := c.whole(snap); err != nil {
		return archive.Entry{}, err
	}
	return c.put(ctx, c.ref, snap, src)
}

// twice reads the log twice, for a log that was written a moment ago, or where
// times do not tell: first its bytes are hashed, then they are copied, and the
// copy must have that hash. What is added to the log meanwhile does not matter.
func (c logCopy) twice(ctx context.Context) (archive.Entry, error) {
	snap, err := session.TakeSnapshot(ctx, c.log, c.ref.Path)
	if err != nil {
		return archive.Entry{}, err
	}
	if err := c.whole(snap); err != nil {
		return archive.Entry{}, err
	}
	entry, err := c.put(ctx, c.ref, snap, io.NewSectionReader(c.log, 0, snap.Size))
	if err == nil && entry.SHA256 != snap.SHA256 {
		err = &session.BusyError{Path: c.ref.Path, Reason: "it changed while it was archived"}
	}
	return entry, err
}

// whole says whether the log is at least as long as when it was listed.
func (c logCopy) whole(snap session.Snapshot) error {
	if snap.Size < c.ref.Bytes {
		return &session.BusyError{Path: c.ref.Path, Reason: "it has become shorter: it may be being rewritten", Change: session.ChangeShorter}
	}
	return nil
}
