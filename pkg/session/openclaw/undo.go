package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// PlanUndo implements [session.Undoer]. With Force the session that
// the index names now may be any, so long as all entries name the same; a log
// of it that has messages, and another log at the old one's place, are a
// [*session.NewerError] all the same.
func (rs *rotations) PlanUndo(ctx context.Context, r session.Rotation, o session.UndoOptions) (session.Undo, error) {
	u := session.Undo{Rotation: r, At: o.Now.UTC().Truncate(time.Millisecond)}
	c, err := rs.openChange(r)
	if err != nil {
		return u, err
	}
	defer c.Close()
	v, err := rs.stored.lookAgain(ctx, c.directory)
	if err != nil {
		return u, err
	}
	if v.frozen != "" {
		return u, logfile.Unsupported(r.Live, v.frozen)
	}
	if err := errors.Join(c.locked(ctx, c.name, o.Now), rs.gateways.unserved(r.Live)); err != nil {
		return u, err
	}
	if u.From, err = c.oldLog(ctx); err != nil {
		return u, err
	}
	if err := planEntries(v, &u, o); err != nil {
		return u, err
	}
	return u, v.planFresh(ctx, &u, o)
}

// oldLog finds the old log's bytes: at its place, at its kept name, or neither.
func (c *change) oldLog(ctx context.Context) (string, error) {
	from, other, err := c.log.OldLog(ctx)
	if err != nil || !other {
		return from, err
	}
	n, err := c.messages(ctx, c.name)
	return "", errors.Join(err, &session.NewerError{Path: c.rotation.Live, Session: c.rotation.Session, Messages: n})
}

// messages counts what is said in a log.
func (d *directory) messages(ctx context.Context, name string) (int, error) {
	f, _, err := d.OpenLog(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return piformat.CountMessages(ctx, f)
}

// planEntries finds out which session the entries name now.
func planEntries(v *view, u *session.Undo, o session.UndoOptions) error {
	r := &u.Rotation
	now := ""
	for _, key := range r.Keys {
		e := v.index.entry(key)
		if e == nil {
			continue
		}
		u.Before = append(u.Before, e.before())
		switch {
		case e.session == oldSession(*r, key):
		case now == "":
			now = e.session
		case now != e.session:
			return logfile.Unsupported(r.Live, session.ReasonEntriesDiffer.Text())
		}
	}
	switch {
	case len(r.Keys) > 0 && len(u.Before) == 0:
		return logfile.Unsupported(r.Live, session.ReasonNoEntry.Text())
	case now == "" || now == r.NewSession:
		return nil
	case !o.Force:
		return &session.NewerError{Session: now}
	}
	r.NewSession = now
	return nil
}

// planFresh decides what becomes of the log of the session that the entries
// name now.
func (v *view) planFresh(ctx context.Context, u *session.Undo, o session.UndoOptions) error {
	name := freshLog(v, u)
	if name == "" || v.At(name) == u.Rotation.Live {
		return nil
	}
	info, err := v.Root.Lstat(name)
	if err != nil {
		return fmt.Errorf("look at the fresh log: %w", err)
	}
	if reason := logfile.Unusable(info); reason != "" {
		return logfile.Unsupported(v.At(name), reason)
	}
	n, err := v.messages(ctx, name)
	if err != nil {
		return err
	}
	if n > 0 {
		return &session.NewerError{Path: v.At(name), Session: u.Rotation.NewSession, Messages: n}
	}
	if err := errors.Join(v.locked(ctx, name, o.Now), session.CheckQuiet(v.At(name), info, o.Now, o.Quiet)); err != nil {
		return err
	}
	u.Fresh, u.FreshSnapshot = v.At(name), session.Observe(v.At(name), info)
	u.FreshKept, err = v.freeName(v.all.byName[name], o.Now.UTC().Truncate(time.Millisecond))
	return err
}

// freshLog is the name of the log that the entries mean now, "" if it has none
// yet.
func freshLog(v *view, u *session.Undo) string {
	for _, key := range u.Rotation.Keys {
		if e := v.index.entry(key); e != nil && e.session == u.Rotation.NewSession {
			if name := e.log(v.all); name != "" {
				return name
			}
		}
	}
	return ""
}

// Undo implements [session.Undoer]. The order is what makes it safe to
// die anywhere: the old log is put at its place first, where nobody looks for
// it yet; then the index is replaced, and from then on the runtime continues
// it; then the log of the session that had taken its place, which has nothing
// but a header, is closed like one that was rotated. At no time does the index
// name a log that is not there.
//
// Until the index is replaced every doubt is a [*session.BusyError], and the
// old log goes back to where it lay.
func (rs *rotations) Undo(ctx context.Context, u session.Undo, archived func(io.Writer) error) (err error) {
	c, err := rs.openChange(u.Rotation)
	if err != nil {
		return err
	}
	defer c.Close()
	b := &back{directory: c.directory, store: rs, plan: u, old: c.log, archived: archived}
	if err := b.belongs(); err != nil {
		return err
	}
	if u.Fresh != "" {
		b.fresh = rs.changeOf(c.directory, session.Rotation{Live: u.Fresh, Kept: u.FreshKept, Snapshot: u.FreshSnapshot})
	}
	defer b.letGo()
	if err := b.read(ctx); err != nil {
		return b.giveUp(ctx, err)
	}
	lock, err := b.lockIndex(ctx)
	if err != nil {
		return b.giveUp(ctx, err)
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	for _, step := range []func(context.Context) error{b.writing().settle, b.read, b.put, b.switchBack} {
		if err := step(ctx); err != nil {
			return b.giveUp(ctx, err)
		}
	}
	return b.closeFresh()
}

// back is one rotation on its way back.
type back struct {
	*directory
	store    *rotations
	plan     session.Undo
	archived func(io.Writer) error

	old   *logfile.Change // of the log that comes back
	fresh *logfile.Change // of the log that has taken its place, nil for none
	held  *logfile.Held   // the fresh log, once it is held

	index    *index
	there    bool // the old log is at its place
	switched bool // the index names it
}

// letGo ends the hold of the fresh log.
func (b *back) letGo() {
	if b.held != nil {
		b.held.Close()
	}
}

// refuse is a [*session.BusyError]: nothing has been changed.
func (b *back) refuse(reason string) error {
	return &session.BusyError{Path: b.plan.Rotation.Live, Reason: reason}
}

// source says where the old log comes back from. A log that is made of its
// bytes gets the index's mode and owner.
func (b *back) source() logfile.Source {
	return logfile.Source{From: b.plan.From, Archived: b.archived, Like: func() (os.FileInfo, error) { return b.index.info, nil }}
}

// belongs checks that the parts of a plan, which may come from a journal, fit
// together.
func (b *back) belongs() error {
	u := b.plan
	fresh, v := parseName(filepath.Base(u.Fresh))
	closed, w := parseName(filepath.Base(u.FreshKept))
	switch {
	case u.From != "" && u.From != u.Rotation.Live && u.From != u.Rotation.Kept,
		(u.Fresh == "") != (u.FreshKept == ""):
		return fmt.Errorf("put %s back: the plan is not whole", u.Rotation.Live)
	case u.Fresh == "":
		return nil
	case v != isLog || w != isLog || !fresh.open() || closed.kind != session.KindReset || closed.live != fresh.name,
		u.Fresh != b.At(fresh.name), u.FreshKept != b.At(closed.name), u.Fresh == u.Rotation.Live:
		return fmt.Errorf("put %s back: the plan names files that do not belong together", u.Rotation.Live)
	}
	return nil
}

// read finds out which steps are done.
func (b *back) read(ctx context.Context) (err error) {
	if b.there, err = b.old.Begins(ctx, filepath.Base(b.plan.Rotation.Live)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = b.look(ctx)
	return err
}

// look reads the index.
func (b *back) look(ctx context.Context) (*view, error) {
	v, err := b.store.stored.lookAgain(ctx, b.directory)
	if err != nil {
		return nil, err
	}
	if v.frozen != "" {
		return nil, b.refuse(v.frozen)
	}
	b.index = v.index
	b.switched, err = b.entriesSwitched()
	return v, err
}

// entriesSwitched reports whether all entries name the old session. It is busy
// when one says neither what it said when this was planned nor that.
func (b *back) entriesSwitched() (bool, error) {
	old, before := 0, 0
	for _, planned := range b.plan.Before {
		switch e := b.index.entry(planned.Key); {
		case e == nil:
			return false, b.refuse(session.ReasonEntryGone.Text())
		case e.session == oldSession(b.plan.Rotation, planned.Key):
			old++
		case e.before() == planned:
			before++
		}
	}
	switch n := len(b.plan.Before); {
	case old == n:
		return n > 0 || b.there, nil
	case old+before == n:
		return false, nil
	}
	return false, b.refuse(session.ReasonEntryPlanned.Text())
}

// holdFresh checks that the fresh session is what it was when this was planned,
// and takes the lease on its log, if it has one.
func (b *back) holdFresh(v *view) error {
	path := ""
	if name := freshLog(v, &b.plan); name != "" && b.At(name) != b.plan.Rotation.Live {
		path = b.At(name)
	}
	if path != b.plan.Fresh {
		return b.refuse(session.ReasonFreshHasLog.Text())
	}
	if b.fresh == nil {
		live := b.plan.Rotation.Live
		return b.store.gateways.letsGo(b.directory, live)
	}
	return b.hold()
}

// hold takes the fresh log from its runtime. Once the index is switched it may
// have changed: its inode is kept, whatever is in it.
func (b *back) hold() (err error) {
	if err := b.store.gateways.letsGo(b.directory, b.plan.Fresh); err != nil {
		return err
	}
	b.fresh.Switched = b.switched
	if b.held, err = b.fresh.Hold(); err != nil {
		return err
	}
	return b.held.Check()
}

// put puts the old log at its place: its inode, or its bytes.
func (b *back) put(ctx context.Context) error {
	if !b.there && b.plan.From == b.plan.Rotation.Live {
		return b.refuse(session.ReasonGonePlanned.Text())
	}
	if err := b.old.PutBack(ctx, b.source()); err != nil {
		return err
	}
	b.there = true
	return nil
}

// switchBack points the entries at the old session, if they are what they were
// when this was planned, and while nobody has the fresh session's log open.
func (b *back) switchBack(ctx context.Context) error {
	if b.switched {
		return nil
	}
	v, err := b.look(ctx)
	if err != nil || b.switched {
		return err
	}
	if err := b.holdFresh(v); err != nil {
		return err
	}
	write := b.writing()
	write.held, write.edit = b.held, b.named
	if err := write.run(ctx); err != nil {
		return err
	}
	if err := b.store.step("index back"); err != nil {
		return err
	}
	return b.confirmBack(ctx)
}

// writing is a change of the index.
func (b *back) writing() *indexWrite {
	return &indexWrite{directory: b.directory, system: b.store.gateways.options.System, step: b.store.step}
}

// named returns the text of an index whose entries name the old session again.
// It is busy if they are not what they were when this was planned.
func (b *back) named(x *index) ([]byte, error) {
	b.index = x
	done, err := b.entriesSwitched()
	if err != nil {
		return nil, err
	}
	if done {
		return x.raw, nil
	}
	text, err := x.edited(b.keys(), b.entry)
	if err != nil {
		return nil, fmt.Errorf("edit sessions.json: %w", err)
	}
	return text, nil
}

// keys are the keys of the entries that are to name the old session.
func (b *back) keys() []string {
	var keys []string
	for _, e := range b.plan.Before {
		keys = append(keys, e.Key)
	}
	return keys
}

// entry makes the new text of an entry.
func (b *back) entry(key string, old []byte) ([]byte, error) {
	e := oldEntry{session: oldSession(b.plan.Rotation, key), at: b.plan.At, log: b.plan.Rotation.Live}
	if i := slices.Index(b.plan.Rotation.Keys, key); i >= 0 {
		e.reset, e.complete = b.plan.Rotation.Before[i].Reset, b.plan.Rotation.Before[i].Complete
	}
	return e.replace(old)
}

// oldSession is the session that an entry named before the rotation: of a
// thread's log it is not the log's own id.
func oldSession(r session.Rotation, key string) string {
	if i := slices.Index(r.Keys, key); i >= 0 && i < len(r.Before) {
		return r.Before[i].Session
	}
	return r.Session
}

// confirmBack reads the index again, as [change.confirm] does.
func (b *back) confirmBack(ctx context.Context) error {
	x, err := b.readIndex(ctx)
	if err != nil {
		return fmt.Errorf("read sessions.json again: %w", err)
	}
	b.index = x
	if b.switched, err = b.entriesSwitched(); err == nil && !b.switched {
		err = b.refuse(session.ReasonIndexOverwritten.Text())
	}
	return err
}

// closeFresh gives the log of the fresh session, which has no messages, the
// name of a closed one. An earlier run may have died before it came to this.
func (b *back) closeFresh() error {
	if b.fresh == nil {
		return durable.SyncDirIn(b.Root)
	}
	info, err := b.Stat(filepath.Base(b.plan.Fresh))
	if err != nil || info == nil {
		return errors.Join(err, durable.SyncDirIn(b.Root))
	}
	if b.held == nil { // an earlier run has switched
		if err := b.hold(); err != nil {
			return b.begunBack(err)
		}
	}
	b.fresh.Switched = true
	if err := b.held.MoveAside(); err != nil {
		return b.begunBack(err)
	}
	return b.store.step("close")
}

// begunBack marks what is busy after the index was switched.
func (b *back) begunBack(err error) error {
	var busy *session.BusyError
	if errors.As(err, &busy) {
		busy.Begun = true
	}
	return err
}

// giveUp ends an undo that is busy before it has switched the index: the old
// log goes back to where it lay. Any other error leaves it to the next run.
func (b *back) giveUp(ctx context.Context, cause error) error {
	if !errors.Is(cause, session.ErrBusy) {
		return cause
	}
	if b.switched {
		return cause // the runtime names it already, and that stays
	}
	if err := b.old.TakeBack(ctx, b.source()); err != nil {
		return fmt.Errorf("%w; and the old log could not go back: %w", cause, err)
	}
	return cause
}
