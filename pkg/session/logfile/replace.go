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
	held, err := c.Hold()
	if err != nil {
		return errors.Join(err, c.dropNext(ctx))
	}
	defer held.Close()
	if err := held.Check(); err != nil {
		return errors.Join(err, c.dropNext(ctx))
	}
	if err := c.stage(ctx, held, write); err != nil {
		return err
	}
	// Again: staging took time.
	if err := held.Check(); err != nil {
		return errors.Join(err, c.dropNext(ctx))
	}
	old, err := held.Exchange(ctx, c.nextPath())
	if err != nil {
		return c.yield(ctx, err)
	}
	if old == c.Plan.Kept {
		return nil
	}
	return c.moveOld(ctx)
}

func (c *Change) nextPath() string { return NextPath(c.Plan.Kept) }

// NextPath is where the new log of a [Change.Replace] is made complete, if the
// old one is kept at a path; "" without one.
func NextPath(kept string) string {
	if kept == "" {
		return ""
	}
	return kept + nextMark
}

// yield removes the new log if somebody goes on with another one.
func (c *Change) yield(ctx context.Context, err error) error {
	if !errors.Is(err, session.ErrBusy) {
		return err
	}
	return c.Begun(errors.Join(err, c.dropNext(ctx)))
}

// finish recognises how far an earlier run came: the new log is in its place
// once an inode of the snapshot has another name.
func (c *Change) finish(ctx context.Context) (done bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	next, err := c.stat(c.nextPath())
	if err != nil {
		return false, err
	}
	kept, err := c.stat(c.Plan.Kept)
	if err != nil {
		return false, err
	}
	live, err := c.Dir.Stat(c.name())
	if err != nil {
		return false, err
	}
	switch {
	case kept != nil && live != nil && os.SameFile(kept, live):
		return false, c.remove(c.Plan.Kept) // half moved: start over
	case kept != nil && c.isOld(kept):
		return true, c.finishMoving(ctx, live)
	case kept != nil:
		return false, c.revert(ctx)
	case next != nil && c.isOld(next):
		return true, c.moveOld(ctx)
	case next != nil:
		return false, errors.Join(c.giveBack(ctx, c.nextPath()), c.dropNext(ctx))
	}
	return false, nil
}

// finishMoving ends a run in which the old log has been put aside.
func (c *Change) finishMoving(ctx context.Context, live os.FileInfo) error {
	waiting, err := c.isNew(ctx, c.nextPath())
	switch {
	case err != nil:
		return err
	case waiting && live == nil:
		return c.yield(ctx, c.Place(c.nextPath()))
	case waiting: // somebody has begun another log, and goes on with it
		return c.remove(c.nextPath())
	}
	return durable.SyncDirIn(c.Dir.Root)
}

// isOld reports whether a file is the log of the snapshot: by its inode, and
// where the system has none by its length, which never shrinks.
func (c *Change) isOld(info os.FileInfo) bool {
	snap := c.Plan.Snapshot
	return snap.SameFile(session.Observe(c.Plan.Live, info)) && (snap.Inode != 0 || info.Size() >= snap.Size)
}

// stage makes the new log complete beside the live one.
func (c *Change) stage(ctx context.Context, held *Held, write func(io.Writer, *os.File) error) error {
	if err := c.dropNext(ctx); err != nil {
		return err
	}
	next := filepath.Base(c.nextPath())
	err := durable.CreateCheckedIn(c.Dir.Root, next, held.opened, func(w io.Writer) error {
		t := &tally{w: w, sum: sha256.New()}
		if err := write(t, held.file); err != nil {
			return err
		}
		if got := t.proof(); got != c.Plan.After {
			if err := held.Check(); err != nil {
				return err // somebody has changed the log while it was read
			}
			return fmt.Errorf("the new log is %d bytes (%.12s), planned were %d (%.12s)", got.Size, got.SHA256, c.Plan.After.Size, c.Plan.After.SHA256)
		}
		return ctx.Err()
	}, nil)
	if err == nil && c.KeepTime {
		err = durable.TouchIn(c.Dir.Root, next, held.opened.ModTime())
	}
	if err != nil {
		return fmt.Errorf("make the new log: %w", err)
	}
	return c.step("stage")
}

// dropNext removes a new log that has not taken its place. What it does not
// recognise by its bytes it leaves: somebody's log may have been exchanged for
// the new one.
func (c *Change) dropNext(ctx context.Context) error {
	ours, err := c.isNew(ctx, c.nextPath())
	if err != nil || !ours {
		return err
	}
	return c.remove(c.nextPath())
}

// moveOld gives the old log's inode the name under which it is kept.
func (c *Change) moveOld(ctx context.Context) error {
	err := c.rename(c.nextPath(), c.Plan.Kept)
	if errors.Is(err, durable.ErrExists) {
		return c.revert(ctx)
	}
	if err != nil {
		return fmt.Errorf("keep the old log: %w", err)
	}
	return c.step("keep")
}

// revert takes a change back whose old log cannot be kept, because another file
// has its name: nobody would look after the log then. It returns a
// [*session.BusyError], which is Begun if the old log could not go back.
func (c *Change) revert(ctx context.Context) error {
	taken := c.busy(session.ReasonFileAt.Text(c.Plan.Kept))
	next, err := c.stat(c.nextPath())
	if err != nil || next == nil {
		return errors.Join(err, taken)
	}
	return c.Begun(errors.Join(taken, c.giveBack(context.WithoutCancel(ctx), c.nextPath()), c.dropNext(ctx)))
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

// isNew reports whether the file at a path of the directory has the bytes of
// the new log.
func (c *Change) isNew(ctx context.Context, path string) (bool, error) {
	info, err := c.stat(path)
	if err != nil || info == nil || !info.Mode().IsRegular() || info.Size() != c.Plan.After.Size {
		return false, err
	}
	file, err := durable.OpenRegularIn(c.Dir.Root, filepath.Base(path))
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
