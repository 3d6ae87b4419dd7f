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

// newLog is the log that is to take the place of another, and where it is made
// complete before that.
type newLog struct {
	dir   *Dir
	path  string
	after session.LogProof // its bytes
}

func (c *Change) next() newLog { return newLog{c.Dir, NextPath(c.Plan.Kept), c.Plan.After} }

// replacing is a change that exchanges two logs.
type replacing struct {
	change *Change
	next   newLog
}

// Replace puts a new log in the place of the one that the plan's snapshot
// shows, and keeps the old one's inode under the name Kept. write gets the old
// log and must write exactly the bytes that the plan's After names; anything
// else is an error and changes nothing. A [*session.BusyError] is returned
// when somebody has the log open or when it is not the snapshot any more.
func (c *Change) Replace(ctx context.Context, write func(w io.Writer, old *os.File) error) error {
	r := replacing{c, c.next()}
	done, err := r.finish(ctx)
	if done || err != nil {
		return err
	}
	held, err := c.Hold()
	if err != nil {
		return errors.Join(err, r.next.drop(ctx))
	}
	defer held.Close()
	if err := held.Check(); err != nil {
		return errors.Join(err, r.next.drop(ctx))
	}
	if err := r.stage(ctx, held, write); err != nil {
		return err
	}
	// Again: staging took time.
	if err := held.Check(); err != nil {
		return errors.Join(err, r.next.drop(ctx))
	}
	old, err := held.Exchange(ctx, r.next.path)
	if err != nil {
		return r.yield(ctx, err)
	}
	if old == c.Plan.Kept {
		return nil
	}
	return r.moveOld(ctx)
}

// NextPath is where the new log of a [Change.Replace] is made complete, if the
// old one is kept at a path; "" without one.
func NextPath(kept string) string {
	if kept == "" {
		return ""
	}
	return kept + nextMark
}

// yield removes the new log if somebody goes on with another one.
func (r replacing) yield(ctx context.Context, err error) error {
	if !errors.Is(err, session.ErrBusy) {
		return err
	}
	return r.change.Begun(errors.Join(err, r.next.drop(ctx)))
}

// finish recognises how far an earlier run came: the new log is in its place
// once an inode of the snapshot has another name.
func (r replacing) finish(ctx context.Context) (done bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	next, err := r.change.Dir.look(r.next.path)
	if err != nil {
		return false, err
	}
	kept, err := r.change.Dir.look(r.change.Plan.Kept)
	if err != nil {
		return false, err
	}
	live, err := r.change.Dir.Stat(r.change.name())
	if err != nil {
		return false, err
	}
	switch {
	case kept != nil && live != nil && os.SameFile(kept, live):
		return false, r.change.Dir.remove(r.change.Plan.Kept) // half moved: start over
	case kept != nil && r.change.isOld(kept):
		return true, r.finishMoving(ctx, live)
	case kept != nil:
		return false, r.revert(ctx)
	case next != nil && r.change.isOld(next):
		return true, r.moveOld(ctx)
	case next != nil:
		return false, errors.Join(r.giveBack(ctx), r.next.drop(ctx))
	}
	return false, nil
}

// finishMoving ends a run in which the old log has been put aside.
func (r replacing) finishMoving(ctx context.Context, live os.FileInfo) error {
	waiting, err := r.next.isAt(ctx, r.next.path)
	switch {
	case err != nil:
		return err
	case waiting && live == nil:
		return r.yield(ctx, r.change.Place(r.next.path))
	case waiting: // somebody has begun another log, and goes on with it
		return r.change.Dir.remove(r.next.path)
	}
	return durable.SyncDirIn(r.change.Dir.Root)
}

// isOld reports whether a file is the log of the snapshot: by its inode, and
// where the system has none by its length, which never shrinks.
func (c *Change) isOld(info os.FileInfo) bool {
	snap := c.Plan.Snapshot
	return snap.SameFile(session.Observe(c.Plan.Live, info)) && (snap.Inode != 0 || info.Size() >= snap.Size)
}

// stage makes the new log complete beside the live one.
func (r replacing) stage(ctx context.Context, held *Held, write func(io.Writer, *os.File) error) error {
	if err := r.next.drop(ctx); err != nil {
		return err
	}
	next := filepath.Base(r.next.path)
	err := durable.CreateCheckedIn(r.change.Dir.Root, next, held.opened, func(w io.Writer) error {
		t := &tally{w: w, sum: sha256.New()}
		if err := write(t, held.file); err != nil {
			return err
		}
		if got := t.proof(); got != r.change.Plan.After {
			if err := held.Check(); err != nil {
				return err // somebody has changed the log while it was read
			}
			return fmt.Errorf("the new log is %d bytes (%.12s), planned were %d (%.12s)", got.Size, got.SHA256, r.change.Plan.After.Size, r.change.Plan.After.SHA256)
		}
		return ctx.Err()
	}, nil)
	if err == nil && r.change.KeepTime {
		err = durable.TouchIn(r.change.Dir.Root, next, held.opened.ModTime())
	}
	if err != nil {
		return fmt.Errorf("make the new log: %w", err)
	}
	return r.change.step("stage")
}

// moveOld gives the old log's inode the name under which it is kept.
func (r replacing) moveOld(ctx context.Context) error {
	err := r.change.rename(r.next.path, r.change.Plan.Kept)
	if errors.Is(err, durable.ErrExists) {
		return r.revert(ctx)
	}
	if err != nil {
		return fmt.Errorf("keep the old log: %w", err)
	}
	return r.change.step("keep")
}

// revert takes a change back whose old log cannot be kept, because another file
// has its name: nobody would look after the log then. It returns a
// [*session.BusyError], which is Begun if the old log could not go back.
func (r replacing) revert(ctx context.Context) error {
	taken := r.change.busy(session.ReasonFileAt.Text(r.change.Plan.Kept))
	next, err := r.change.Dir.look(r.next.path)
	if err != nil || next == nil {
		return errors.Join(err, taken)
	}
	return r.change.Begun(errors.Join(taken, r.giveBack(context.WithoutCancel(ctx)), r.next.drop(ctx)))
}

// drop removes a new log that has not taken its place. What it does not
// recognise by its bytes it leaves: somebody's log may have been exchanged for
// the new one.
func (n newLog) drop(ctx context.Context) error {
	ours, err := n.isAt(ctx, n.path)
	if err != nil || !ours {
		return err
	}
	return n.dir.remove(n.path)
}

// giveBack sees to a file at a new log's own name that is not the old log. It
// is the new log itself, which has not taken its place: nothing is to be done.
// Or the new log is in its place, and this is a log that a program put there in
// the last instant, by renaming: the two are exchanged again.
func (r replacing) giveBack(ctx context.Context) error {
	waiting, err := r.next.isAt(ctx, r.next.path)
	if err != nil || waiting {
		return err
	}
	switched, err := r.next.isAt(ctx, r.change.Plan.Live)
	if err != nil {
		return err
	}
	if !switched {
		return r.change.busy(session.ReasonNeitherLog.Text(r.next.path))
	}
	if err := r.change.exchange(r.next.path, r.change.Plan.Live); err != nil {
		return fmt.Errorf("give a log its place back: %w", err)
	}
	return nil
}

// Proof measures what write writes, for the After of a plan.
func Proof(write func(w io.Writer) error) (session.LogProof, error) {
	t := &tally{w: io.Discard, sum: sha256.New()}
	err := write(t)
	return t.proof(), err
}

// PlanTrim completes the plan to replace a log by what trim writes of it. An error that
// wraps [session.ErrNothingToTrim] is returned if nearly all would stay; it names the
// command of the runtime that may help first.
func PlanTrim(plan session.Shortening, request session.ShortenRequest, command string, trim func(w io.Writer) error) (session.Shortening, error) {
	var err error
	plan.After, err = Proof(trim)
	if errors.Is(err, session.ErrUnsupported) {
		err = fmt.Errorf("%s: %w", request.Ref.Path, err)
	}
	if err == nil {
		err = session.WorthTrimming(request.Snapshot.Size, plan.After.Size, command)
	}
	return plan, err
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

// isAt reports whether the file at a path of the directory has the bytes of
// the new log.
func (n newLog) isAt(ctx context.Context, path string) (bool, error) {
	info, err := n.dir.look(path)
	if err != nil || info == nil || !info.Mode().IsRegular() || info.Size() != n.after.Size {
		return false, err
	}
	file, err := durable.OpenRegularIn(n.dir.Root, filepath.Base(path))
	if err != nil {
		return false, fmt.Errorf("look at the new log: %w", err)
	}
	defer file.Close()
	t := &tally{w: io.Discard, sum: sha256.New()}
	if _, err := io.Copy(t, file); err != nil {
		return false, fmt.Errorf("look at the new log: %w", err)
	}
	return t.proof() == n.after, ctx.Err()
}
