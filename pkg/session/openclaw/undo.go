package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// PlanUndo implements [session.Undoer]. With Force the session that
// the index names now may be any, so long as all entries name the same; a log
// of it that has messages, and another log at the old one's place, are a
// [*session.NewerError] all the same.
func (s *Store) PlanUndo(ctx context.Context, r session.Rotation, o session.UndoOptions) (session.Undo, error) {
	u := session.Undo{Rotation: r, At: o.Now.UTC().Truncate(time.Millisecond)}
	c, err := s.openChange(r)
	if err != nil {
		return u, err
	}
	defer c.close()
	v, err := s.lookAgain(ctx, c.directory)
	if err != nil {
		return u, err
	}
	if v.frozen != "" {
		return u, unsupported(r.Live, v.frozen)
	}
	if err := errors.Join(c.locked(c.name, o.Now), s.unserved(r.Live)); err != nil {
		return u, err
	}
	if u.From, err = c.oldLog(ctx); err != nil {
		return u, err
	}
	if err := planEntries(v, &u, o); err != nil {
		return u, err
	}
	return u, c.planFresh(ctx, v, &u, o)
}

// oldLog finds the old log's bytes: at its place, at its kept name, or neither.
func (c *change) oldLog(ctx context.Context) (from string, err error) {
	for _, name := range []string{c.name, c.kept} {
		same, err := c.begins(ctx, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", err
		case same:
			return c.at(name), nil
		case name == c.name:
			n, err := c.messages(ctx, name)
			return "", errors.Join(err, &session.NewerError{Path: c.rotation.Live, Session: c.rotation.Session, Messages: n})
		}
	}
	return "", nil
}

// begins reports whether a file begins with the bytes of the rotated log.
func (c *change) begins(ctx context.Context, name string) (bool, error) {
	info, err := c.stat(name)
	if err != nil {
		return false, err
	}
	if reason := unusable(info); reason != "" {
		return false, unsupported(c.at(name), reason)
	}
	f, err := c.open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return c.rotation.Snapshot.Begins(ctx, f)
}

// messages counts what is said in a log.
func (d *directory) messages(ctx context.Context, name string) (int, error) {
	f, err := d.open(name)
	if err != nil {
		return 0, fmt.Errorf("open log: %w", err)
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
			return unsupported(r.Live, "the entries of sessions.json that named it name different sessions by now")
		}
	}
	switch {
	case len(r.Keys) > 0 && len(u.Before) == 0:
		return unsupported(r.Live, "sessions.json has no entry for it any more")
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
func (c *change) planFresh(ctx context.Context, v *view, u *session.Undo, o session.UndoOptions) error {
	name := freshLog(v, u)
	if name == "" || name == c.name {
		return nil
	}
	info, err := c.stat(name)
	if err != nil {
		return fmt.Errorf("look at the fresh log: %w", err)
	}
	if reason := unusable(info); reason != "" {
		return unsupported(c.at(name), reason)
	}
	n, err := c.messages(ctx, name)
	if err != nil {
		return err
	}
	if n > 0 {
		return &session.NewerError{Path: c.at(name), Session: u.Rotation.NewSession, Messages: n}
	}
	if err := errors.Join(c.locked(name, o.Now), session.CheckQuiet(c.at(name), info, o.Now, o.Quiet)); err != nil {
		return err
	}
	u.Fresh, u.FreshSnapshot = c.at(name), session.Observe(c.at(name), info)
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
func (s *Store) Undo(ctx context.Context, u session.Undo, archived func(io.Writer) error) error {
	c, err := s.openChange(u.Rotation)
	if err != nil {
		return err
	}
	defer c.close()
	b := &back{change: c, plan: u, archived: archived}
	if err := b.belongs(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{b.read, b.put, b.switchBack} {
		if err := step(ctx); err != nil {
			return b.giveUp(ctx, err)
		}
	}
	return b.closeFresh()
}

// back is one rotation on its way back.
type back struct {
	*change
	plan     session.Undo
	archived func(io.Writer) error

	there    bool // the old log is at its place
	switched bool // the index names it
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
		u.Fresh != b.at(fresh.name), u.FreshKept != b.at(closed.name), u.Fresh == u.Rotation.Live:
		return fmt.Errorf("put %s back: the plan names files that do not belong together", u.Rotation.Live)
	}
	return nil
}

// read finds out which steps are done.
func (b *back) read(ctx context.Context) (err error) {
	if b.there, err = b.begins(ctx, b.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = b.look(ctx)
	return err
}

// look reads the index.
func (b *back) look(ctx context.Context) (*view, error) {
	v, err := b.store.lookAgain(ctx, b.directory)
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
			return false, b.refuse("an entry of sessions.json is gone")
		case e.session == oldSession(b.rotation, planned.Key):
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
	return false, b.refuse("its entry in sessions.json has changed since this was planned")
}

// holdFresh checks that the fresh session is what it was when this was planned,
// and takes the lease on its log, if it has one.
func (b *back) holdFresh(v *view) error {
	name := freshLog(v, &b.plan)
	if name == b.name {
		name = ""
	}
	if (name == "") != (b.plan.Fresh == "") || name != "" && b.at(name) != b.plan.Fresh {
		return b.refuse("the fresh session has got a log meanwhile")
	}
	if name == "" {
		return errors.Join(b.locked(b.name, b.plan.At), b.store.unserved(b.rotation.Live))
	}
	return b.pinFresh(name)
}

// pinFresh takes the lease on the fresh log. Once the index is switched it may
// have changed: its inode is kept, whatever is in it.
func (b *back) pinFresh(name string) error {
	rotation, kept := b.rotation, b.name
	defer func() { b.rotation, b.name = rotation, kept }()
	b.rotation.Live, b.rotation.Snapshot, b.name = b.plan.Fresh, b.plan.FreshSnapshot, name
	b.change.switched = b.switched
	return b.pin()
}

// put puts the old log at its place: its inode, or its bytes.
func (b *back) put(ctx context.Context) error {
	if b.there {
		return durable.SyncDir(b.path)
	}
	if b.plan.From == b.rotation.Live {
		return b.refuse("it has been moved or removed since this was planned")
	}
	err := fs.ErrNotExist
	if b.plan.From != "" {
		err = durable.MoveFile(b.plan.From, b.rotation.Live)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = b.make()
	}
	switch {
	case errors.Is(err, durable.ErrExists):
		return b.refuse("somebody has made a log at its place just now")
	case err != nil:
		return fmt.Errorf("put the log back: %w", err)
	}
	if same, err := b.begins(ctx, b.name); err != nil || !same {
		return errors.Join(fmt.Errorf("read back %s: it is not the log that was rotated", b.rotation.Live), err)
	}
	b.there = true
	return b.store.step("back")
}

// make makes the log of the archived bytes, with the index's mode and owner.
func (b *back) make() error {
	return durable.CreateLike(b.rotation.Live, b.index.info, b.archived)
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
	text, err := b.index.edited(b.keys(), b.entry)
	if err != nil {
		return fmt.Errorf("edit sessions.json: %w", err)
	}
	if b.lease != nil && !b.lease.Held() {
		return b.refuse(heldElsewhere)
	}
	if err := b.replaceIndex(text, nothingElse); err != nil {
		return err
	}
	if err := b.store.step("index back"); err != nil {
		return err
	}
	return b.confirmBack(ctx)
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
	e := oldEntry{session: oldSession(b.rotation, key), at: b.plan.At, log: b.rotation.Live}
	if i := slices.Index(b.rotation.Keys, key); i >= 0 {
		e.reset = b.rotation.Before[i].Reset
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
		err = b.refuse("the runtime has written its own sessions.json over the change")
	}
	return err
}

// closeFresh gives the log of the fresh session, which has no messages, the
// name of a closed one. An earlier run may have died before it came to this.
func (b *back) closeFresh() error {
	if b.plan.Fresh == "" {
		return durable.SyncDir(b.path)
	}
	fresh, _ := parseName(baseName(b.plan.Fresh))
	info, err := b.statIfThere(fresh.name)
	if err != nil || info == nil {
		return errors.Join(err, durable.SyncDir(b.path))
	}
	if b.log == nil && b.lease == nil { // not held yet: an earlier run has switched
		if err := b.pinFresh(fresh.name); err != nil {
			return b.begunBack(err)
		}
	}
	if err := durable.MoveFile(b.plan.Fresh, b.plan.FreshKept); err != nil {
		return fmt.Errorf("close the fresh log: %w", err)
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
	if err := b.takeBack(ctx); err != nil {
		return fmt.Errorf("%w; and the old log could not go back: %w", cause, err)
	}
	return cause
}

// takeBack undoes put. What was there before stays.
func (b *back) takeBack(ctx context.Context) error {
	if b.plan.From == b.rotation.Live {
		return nil
	}
	there, err := b.begins(ctx, b.name)
	if err != nil || !there {
		return nil // not there, or not ours
	}
	if info, err := b.statIfThere(b.kept); err != nil || info != nil {
		return err // the bytes are there, and what is at its place stays
	}
	if err := durable.MoveFile(b.rotation.Live, b.rotation.Kept); err != nil {
		return fmt.Errorf("put the old log away again: %w", err)
	}
	if b.plan.From != "" {
		return nil
	}
	return b.removeCopy()
}

// removeCopy removes a log that was made of archived bytes, if nobody has gone
// on with it in the moment in which it lay at its place, or can.
func (b *back) removeCopy() error {
	log, err := b.open(b.kept)
	if err != nil {
		return nil // somebody holds it: it is his
	}
	defer log.Close()
	lease, err := b.store.options.System.WriteLease(log)
	if err != nil && !errors.Is(err, durable.ErrUnsupported) {
		return nil
	}
	if lease != nil {
		defer lease.Release()
	}
	info, err := log.Stat()
	if err != nil || info.Size() != b.rotation.Snapshot.Size {
		return err
	}
	return durable.RemoveFile(b.rotation.Kept) // these bytes are in the archive
}
