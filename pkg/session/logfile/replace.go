package logfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// nextMark ends the name under which a new log is made complete before it
// takes its place.
const nextMark = ".next"

// Replace puts a new log in the place of the one that the plan's snapshot
// shows, and keeps the old one's inode under the name Kept. write gets the old
// log and must write exactly the bytes that the plan's After names; anything
// else is an error and changes nothing. A [*session.BusyError] is returned
// when somebody has the log open or when it is not the snapshot any more.
func (c *Change) Replace(ctx context.Context, write func(w io.Writer, old *os.File) error) error {
	done, err := c.finish(ctx)
	if done || err != nil {
		return err
	}
	p, err := c.pin(durable.OpenRegularIn)
	if err != nil {
		return errors.Join(err, c.dropNext(ctx))
	}
	defer p.release()
	if err := c.check(p); err != nil {
		return errors.Join(err, c.dropNext(ctx))
	}
	if err := c.stage(ctx, p, write); err != nil {
		return err
	}
	// Again: staging took time.
	if err := c.check(p); err != nil {
		return errors.Join(err, c.dropNext(ctx))
	}
	return c.switchTo(ctx, p)
}

func (c *Change) nextName() string { return filepath.Base(c.Plan.Kept) + nextMark }
func (c *Change) nextPath() string { return c.Plan.Kept + nextMark }

// finish recognises how far an earlier run came: the new log is in its place
// once an inode of the snapshot has another name.
func (c *Change) finish(ctx context.Context) (done bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	next, err := c.stat(c.nextName())
	if err != nil {
		return false, err
	}
	kept, err := c.stat(filepath.Base(c.Plan.Kept))
	if err != nil {
		return false, err
	}
	live, err := c.stat(c.name())
	if err != nil {
		return false, err
	}
	switch {
	case kept != nil && live != nil && os.SameFile(kept, live):
		return false, durable.RemoveFile(c.Plan.Kept) // half moved: start over
	case kept != nil && c.isOld(kept):
		return true, c.finishMoving(ctx, live)
	case kept != nil:
		return false, c.busy("another file is at " + c.Plan.Kept)
	case next != nil && c.isOld(next):
		return true, c.moveOld()
	case next != nil:
		return false, c.giveBack(ctx)
	}
	return false, nil
}

// finishMoving ends a run in which the old log has been put aside.
func (c *Change) finishMoving(ctx context.Context, live os.FileInfo) error {
	waiting, err := c.isNew(ctx, c.nextName())
	switch {
	case err != nil:
		return err
	case waiting && live == nil:
		return c.placeNext()
	case waiting: // somebody has begun another log, and goes on with it
		return durable.RemoveFile(c.nextPath())
	}
	return durable.SyncDir(filepath.Dir(c.Plan.Live))
}

// isOld reports whether a file is the log of the snapshot: by its inode, and
// where the system has none by its length, which never shrinks.
func (c *Change) isOld(info os.FileInfo) bool {
	snap := c.Plan.Snapshot
	return snap.SameFile(session.Observe(c.Plan.Live, info)) && (snap.Inode != 0 || info.Size() >= snap.Size)
}

// stage makes the new log complete beside the live one.
func (c *Change) stage(ctx context.Context, p *pinned, write func(io.Writer, *os.File) error) error {
	if err := c.dropNext(ctx); err != nil {
		return err
	}
	like, err := p.file.Stat()
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	err = durable.CreateLike(c.nextPath(), like, func(w io.Writer) error {
		t := &tally{w: w, sum: sha256.New()}
		if err := write(t, p.file); err != nil {
			return err
		}
		if got := t.proof(); got != c.Plan.After {
			return fmt.Errorf("the new log is %d bytes (%.12s), planned were %d (%.12s)", got.Size, got.SHA256, c.Plan.After.Size, c.Plan.After.SHA256)
		}
		return ctx.Err()
	})
	if err != nil {
		return fmt.Errorf("make the new log: %w", err)
	}
	return c.step("stage")
}

// dropNext removes a new log that has not taken its place. What it does not
// recognise by its bytes it leaves: somebody's log may have been exchanged for
// the new one.
func (c *Change) dropNext(ctx context.Context) error {
	ours, err := c.isNew(ctx, c.nextName())
	if err != nil || !ours {
		return err
	}
	return durable.RemoveFile(c.nextPath())
}

// switchTo exchanges the logs. The path is never without a log, and whatever
// was there is still reachable: a log that a program put at the name in the
// last instant, by renaming, goes back.
func (c *Change) switchTo(ctx context.Context, p *pinned) error {
	opened, err := p.file.Stat()
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	err = c.System.ExchangeFiles(c.nextPath(), c.Plan.Live)
	if errors.Is(err, durable.ErrUnsupported) {
		return c.switchByMoving(ctx, p)
	}
	if err != nil {
		return err
	}
	if err := c.step("exchange"); err != nil {
		return err
	}
	old, err := c.stat(c.nextName())
	if err != nil {
		return err
	}
	if old == nil {
		return errors.Join(c.giveBack(ctx), c.busy("another file has taken its place"))
	}
	if changed := c.replaced(p, opened, old); changed != nil {
		return errors.Join(c.giveBack(ctx), changed)
	}
	return c.moveOld()
}

// switchByMoving is for file systems that cannot exchange: the old log is moved
// aside first, so that the path is without a log for a moment. To rename the
// new log over the old one would do without that moment, but also take away
// what a program puts there by renaming.
func (c *Change) switchByMoving(ctx context.Context, p *pinned) error {
	if err := c.moveThis(p); errors.Is(err, session.ErrBusy) {
		return errors.Join(err, c.dropNext(ctx))
	} else if err != nil {
		return err
	}
	return c.placeNext()
}

// placeNext puts the new log where there is none. A log that somebody began in
// that moment stays, and the new one goes.
func (c *Change) placeNext() error {
	err := c.System.MoveFile(c.nextPath(), c.Plan.Live)
	if errors.Is(err, durable.ErrExists) {
		err = errors.Join(durable.RemoveFile(c.nextPath()), c.busy("another log was begun while it was put aside"))
		return c.Begun(err)
	}
	if err != nil {
		return fmt.Errorf("put the new log in its place: %w", err)
	}
	return c.step("place")
}

// moveOld gives the old log's inode the name under which it is kept.
func (c *Change) moveOld() error {
	if err := c.System.MoveFile(c.nextPath(), c.Plan.Kept); err != nil {
		return fmt.Errorf("keep the old log: %w", err)
	}
	return c.step("keep")
}

// Proof measures what write writes, for the After of a plan.
func Proof(write func(w io.Writer) error) (session.LogProof, error) {
	t := &tally{w: io.Discard, sum: sha256.New()}
	err := write(t)
	return t.proof(), err
}

// tally counts and hashes what goes through it.
type tally struct {
	w    io.Writer
	sum  hash.Hash
	size int64
}

// Write implements io.Writer.
func (t *tally) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	t.sum.Write(p[:n])
	t.size += int64(n)
	return n, err
}

func (t *tally) proof() session.LogProof {
	return session.LogProof{Size: t.size, SHA256: hex.EncodeToString(t.sum.Sum(nil))}
}

// giveBack sees to a file at the new log's temporary name that is not the old
// log. It is the new log itself, which has not taken its place: nothing is to
// be done. Or the new log is in its place, and this is a log that a program
// put there in the last instant, by renaming: the two are exchanged again, and
// the new log goes.
func (c *Change) giveBack(ctx context.Context) error {
	waiting, err := c.isNew(ctx, c.nextName())
	if err != nil || waiting {
		return err
	}
	switched, err := c.isNew(ctx, c.name())
	if err != nil {
		return err
	}
	if !switched {
		return c.busy("a log that is neither the old one nor the new one is at " + c.nextPath())
	}
	if err := c.System.ExchangeFiles(c.nextPath(), c.Plan.Live); err != nil {
		return fmt.Errorf("give a log its place back: %w", err)
	}
	return c.dropNext(ctx)
}

// isNew reports whether the file of that name has the bytes of the new log.
func (c *Change) isNew(ctx context.Context, name string) (bool, error) {
	info, err := c.stat(name)
	if err != nil || info == nil || !info.Mode().IsRegular() || info.Size() != c.Plan.After.Size {
		return false, err
	}
	file, err := durable.OpenRegularIn(c.Root, name)
	if err != nil {
		return false, fmt.Errorf("look at the new log: %w", err)
	}
	defer file.Close()
	t := &tally{w: io.Discard, sum: sha256.New()}
	if _, err := io.Copy(t, file); err != nil {
		return false, fmt.Errorf("look at the new log: %w", err)
	}
	return t.proof() == c.Plan.After, ctx.Err()
}
