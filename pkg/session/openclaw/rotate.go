package openclaw

import (
	"context"
	"errors"
	"fmt"
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

// stampForm is the time in the name of a closed log, in UTC.
const stampForm = "2006-01-02T15-04-05.000Z"

// rotations starts sessions of the file era fresh, shortens them, and takes a
// rotation back.
type rotations struct {
	stored   *storedSessions
	gateways *gateways
	// step is called after each step of Rotate, with its name; an error ends
	// the rotation there. Tests stop it so.
	step func(name string) error
}

// PlanRotation implements [session.Rotator]. Every entry of the index that
// means the log will name the same new session; a log that no entry means is
// only closed. The log of a format newer than the file era's, a closed log,
// and every log beside a database or an index that cannot be read are
// [session.ErrUnsupported].
func (rs *rotations) PlanRotation(ctx context.Context, ref session.Ref, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	if inDatabase(ref) {
		return session.Rotation{}, logfile.Unsupported(ref.Path, session.ReasonGatewayDatabase.Text())
	}
	d, name, err := rs.stored.state.directoryOf(ref.Path)
	if err != nil {
		return session.Rotation{}, err
	}
	defer d.Close()
	v, err := rs.stored.lookAgain(ctx, d)
	if err != nil {
		return session.Rotation{}, err
	}
	n, ok := v.all.byName[name]
	if !ok {
		return session.Rotation{}, logfile.Gone(ref.Path)
	}
	if err := v.mayRotate(n); err != nil {
		return session.Rotation{}, err
	}
	if v.kind(n) != ref.Kind {
		return session.Rotation{}, &session.BusyError{Path: ref.Path, Reason: session.ReasonIndexSince.Text()}
	}
	return rs.plan(v, n, snap, now)
}

// lookAgain looks at a directory as List does, its era included, and reads all
// of the index.
func (x *storedSessions) lookAgain(ctx context.Context, d *directory) (*view, error) {
	frozen, err := x.eraOf(d.agent)
	if err != nil {
		return nil, err
	}
	v, err := d.look(ctx, frozen)
	if err == nil && v.index != nil && !v.index.strict() {
		v.freeze(errIndex.Error())
	}
	return v, err
}

// mayRotate returns an error that wraps [session.ErrUnsupported] unless a log
// may be rotated.
func (v *view) mayRotate(n logName) error {
	if reason := v.refusal(n); reason != "" {
		return logfile.Unsupported(v.At(n.name), reason)
	}
	info, err := v.Root.Lstat(n.name)
	if errors.Is(err, fs.ErrNotExist) {
		return logfile.Gone(v.At(n.name))
	}
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	if reason := logfile.Unusable(info); reason != "" {
		return logfile.Unsupported(v.At(n.name), reason)
	}
	reason, err := v.newer(n)
	if err == nil && reason != "" {
		err = logfile.Unsupported(v.At(n.name), reason)
	}
	return err
}

func (rs *rotations) plan(v *view, n logName, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	now = now.UTC().Truncate(time.Millisecond)
	r := session.Rotation{
		Runtime: session.RuntimeOpenClaw, Agent: v.agent, Session: n.id, Store: rs.stored.state.root,
		Live: v.At(n.name), Index: v.At(indexName), At: now, Snapshot: snap,
	}
	for _, e := range v.owners[n.name] {
		r.Keys = append(r.Keys, e.key)
		r.Before = append(r.Before, v.index.beforeRotation(e))
	}
	if len(r.Keys) > 0 {
		r.NewSession = session.NewID()
	}
	var err error
	r.Kept, err = v.freeName(n, now)
	return r, err
}

// freeName returns the path under which a closed log is kept. The name has
// milliseconds; the next one that is free is taken.
func (v *view) freeName(n logName, now time.Time) (string, error) {
	name, err := v.FreeName(func(try int) string {
		return n.name + ".reset." + now.Add(time.Duration(try)*time.Millisecond).Format(stampForm)
	})
	return v.At(name), err
}

// view is what a sessions directory held at one moment: its names, its index,
// and which entries of the index mean which log.
type view struct {
	*directory
	all    *logs
	index  *index // nil if it cannot be read
	owners owners
	main   *entry // of the agent's main session, or nil
	// frozen says why no session of the directory may be changed, "" if they
	// may be.
	frozen string
	// indexErr is why there is no index.
	indexErr error
	// fileEra is false where a database has taken the place of the files, or
	// may have.
	fileEra bool
}

// look reads names and index. frozen is what is known already about why
// nothing may be changed. An index that cannot be read is no error: the
// transcripts can still be.
func (d *directory) look(ctx context.Context, frozen string) (*view, error) {
	names, err := d.Names()
	if err != nil {
		return nil, err
	}
	v := &view{directory: d, all: sortLogs(names), frozen: frozen, fileEra: frozen == ""}
	v.index, v.indexErr = d.readIndex(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(v.indexErr, fs.ErrNotExist):
		v.freeze(session.ReasonNoIndex.Text())
	case v.indexErr != nil:
		v.freeze(errIndex.Error())
	default:
		v.freeze(v.index.unchangeable)
		v.owners = ownersOf(v.index, v.all, d.agent)
		if v.fileEra {
			v.main = v.index.mainOf(d.agent)
		}
	}
	return v, nil
}

func (v *view) freeze(reason string) {
	if v.frozen == "" {
		v.frozen = reason
	}
}

// kind returns what a log is, the index considered.
func (v *view) kind(n logName) session.Kind {
	if n.open() && len(v.owners[n.name]) == 0 {
		return session.KindOrphan
	}
	return n.kind
}

// best returns the entry that stands for a log, nil if the index does not name
// it, and whether it is the agent's main session.
func (v *view) best(n logName) (best *entry, primary bool) {
	for _, e := range v.owners[n.name] {
		if e == v.main {
			return e, true
		}
		if best == nil {
			best = e
		}
	}
	return best, false
}

// refusal says why a log is never rotated, "" if it may be.
func (v *view) refusal(n logName) string {
	switch {
	case !n.open():
		return session.ReasonClosed.Text()
	case v.frozen != "":
		return v.frozen
	case n.topic != "" && len(v.owners[n.name]) == 0 && v.names(n.session):
		return session.ReasonThread.Text(n.session)
	}
	return ""
}

// names reports whether an entry of the index names a session.
func (v *view) names(id string) bool {
	for _, e := range v.index.entries {
		if e.session == id {
			return true
		}
	}
	return false
}

// newer says that a log has a format newer than those of the file era, ""
// otherwise.
func (v *view) newer(n logName) (string, error) {
	f, err := durable.OpenRegularIn(v.Root, n.name)
	if err != nil {
		return "", fmt.Errorf("open log: %w", err)
	}
	defer f.Close()
	header, ok, err := piformat.ReadHeader(f)
	if err != nil {
		return "", fmt.Errorf("read the header of %s: %w", v.At(n.name), err)
	}
	if ok && header.Version > maxVersion {
		return session.ReasonNewer.Text(header.Version, maxVersion), nil
	}
	return "", nil
}

// lockedNow says who holds the lock of a log, "" if nobody does.
func (v *view) lockedNow(n logName, now time.Time) (string, error) {
	if !v.all.locks[n.name+lockEnd] {
		return "", nil
	}
	return v.lockedBy(n.name+lockEnd, now)
}

// change is one rotation on its way: that of the log, and in the middle of it
// that of the index.
type change struct {
	*directory
	store    *rotations
	rotation session.Rotation
	name     string // of the log
	kept     string // of the closed log
	// log is the change of the log. It has switched once the index names the
	// new session.
	log *logfile.Change

	view     *view             // nil where the runtime has moved on to a database since
	replaced map[string][]byte // the entries as they were before the switch
	logThere bool              // the log is at its place
	moved    bool              // the log is at its new name
	linked   bool              // at both: an earlier run died inside the move
}

// openChange checks that a rotation, which may come from a journal, stays in
// one sessions directory of this store. The caller closes it.
func (rs *rotations) openChange(r session.Rotation) (*change, error) {
	d, name, err := rs.stored.state.directoryOf(r.Live)
	if err != nil {
		return nil, err
	}
	c := &change{directory: d, store: rs, rotation: r, name: name, kept: filepath.Base(r.Kept), log: rs.changeOf(d, r)}
	if err := errors.Join(c.belongs(), d.InPlace()); err != nil {
		d.Close()
		return nil, err
	}
	return c, nil
}

// changeOf is the change of one log of a directory.
func (rs *rotations) changeOf(d *directory, r session.Rotation) *logfile.Change {
	return &logfile.Change{Dir: d.Dir, Plan: session.Shortening{Rotation: r}, Step: rs.step, System: rs.gateways.options.System}
}

// belongs checks that the parts of the plan fit together.
func (c *change) belongs() error {
	r := c.rotation
	log, v := parseName(c.name)
	closed, w := parseName(c.kept)
	switch {
	case v != isLog || !log.open() || w != isLog || closed.kind != session.KindReset || closed.live != c.name,
		r.Kept != c.At(c.kept), r.Index != c.At(indexName):
		return fmt.Errorf("rotate %s: the plan names files that do not belong together", r.Live)
	case len(r.Before) != len(r.Keys), len(r.Keys) > 0 && !session.SafeID(r.NewSession):
		return fmt.Errorf("rotate %s: the plan is not whole", r.Live)
	}
	return nil
}

// read finds out which steps are done. The log's place is looked at first: a
// closed log beside an index that is not the runtime's any more (it has moved
// on to a database) is a rotation that is done.
func (c *change) read(ctx context.Context) error {
	if err := c.logState(); err != nil {
		return err
	}
	v, err := c.store.stored.lookAgain(ctx, c.directory)
	if err != nil {
		return err
	}
	if v.frozen != "" {
		c.log.Switched = c.moved
		if c.moved {
			return nil
		}
		return c.refuse(v.frozen)
	}
	c.view = v
	c.log.Switched, err = c.indexState(v)
	return err
}

// refuse is a [*session.BusyError]: nothing has been changed.
func (c *change) refuse(reason string) error {
	return &session.BusyError{Path: c.rotation.Live, Reason: reason}
}

// indexState reports whether the index names the new session. It is busy when
// it says neither what it said when the rotation was planned nor that.
func (c *change) indexState(v *view) (switched bool, err error) {
	fresh, old := 0, 0
	for i, key := range c.rotation.Keys {
		switch e := v.index.entry(key); {
		case e == nil:
		case e.session == c.rotation.NewSession:
			fresh++
		case e.before() == c.rotation.Before[i].Known():
			old++
		}
	}
	keys := len(c.rotation.Keys)
	switch {
	case keys > 0 && fresh == keys:
		return true, nil
	case old == keys && c.onlyOwners(v):
		return false, nil
	}
	return false, c.refuse(session.ReasonEntryRotation.Text())
}

// onlyOwners reports whether no entry but those of the plan means the log.
func (c *change) onlyOwners(v *view) bool {
	return !slices.ContainsFunc(v.owners[c.name], func(e *entry) bool { return !slices.Contains(c.rotation.Keys, e.key) })
}

// logState finds the log. Inode numbers tell which file is at the new name,
// but after a restart some file systems have others, so a file that is only
// there counts too.
func (c *change) logState() error {
	live, err := c.Stat(c.name)
	if err != nil {
		return err
	}
	kept, err := c.Stat(c.kept)
	if err != nil {
		return err
	}
	c.logThere, c.moved, c.linked = live != nil, false, false
	if kept == nil {
		return nil
	}
	c.linked = live != nil && os.SameFile(live, kept)
	c.moved = live == nil || c.rotation.Snapshot.SameFile(session.Observe(c.rotation.Kept, kept))
	if !c.moved && !c.linked {
		return c.refuse(session.ReasonFileAt.Text(c.rotation.Kept))
	}
	// A log that is at its place although it was moved is a new one: a late
	// writer has made it again. It is listed as a session of its own.
	c.logThere = false
	return nil
}

// Rotate implements [session.Rotator], as the runtime's reset was seen to do it
// and as it was seen to accept it from others (docs/dev/formats.md, "openclaw"):
// the entries of the index get a new session id, the log is renamed to
// ".reset.<time>", and no new log is made; the runtime makes it at the next
// turn.
//
// The order is what makes it safe to die anywhere. The runtime's lock of the
// index is taken. A lease proves that nobody has the log open, and the log is
// compared with the snapshot. Then the index is replaced, and then the log's
// inode gets its new name. Between the two the runtime already starts fresh,
// and the old log lies where it lay. Each step is recognised as done by what
// is on disk.
//
// Before the index is replaced every doubt is a [*session.BusyError] and
// nothing has changed. When an earlier run has replaced it and the log is open
// somewhere, the error has Begun set.
func (rs *rotations) Rotate(ctx context.Context, r session.Rotation) (err error) {
	c, err := rs.openChange(r)
	if err != nil {
		return err
	}
	defer c.Close()
	v, err := rs.stored.lookAgain(ctx, c.directory)
	if err != nil {
		return err
	}
	if v.frozen == "" {
		release, begun := c.begin(ctx)
		if begun != nil {
			return c.beganBefore(v, begun)
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	if err := c.read(ctx); err != nil {
		return err
	}
	if !c.logThere {
		return c.withoutLog(ctx)
	}
	return c.begun(c.takeAway(ctx))
}

// begin takes the lock of the index and settles what an earlier run left of it.
func (c *change) begin(ctx context.Context) (release func() error, err error) {
	lock, err := c.lockIndex(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.writing(nil).settle(ctx); err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return lock.release, nil
}

// beganBefore marks what is busy although an earlier run has done a part of the
// rotation: its intent must stay.
func (c *change) beganBefore(v *view, err error) error {
	var busy *session.BusyError
	if !errors.As(err, &busy) {
		return err
	}
	kept, statErr := c.Stat(c.kept)
	names, listErr := c.Names()
	busy.Begun = statErr != nil || listErr != nil || kept != nil || slices.ContainsFunc(names, nextIndexName().MatchString) ||
		slices.ContainsFunc(c.rotation.Keys, func(key string) bool {
			e := v.index.entry(key)
			return e != nil && e.session == c.rotation.NewSession
		})
	return err
}

// writing is a change of the index while a log is held; nil for none.
func (c *change) writing(held *logfile.Held) *indexWrite {
	return &indexWrite{directory: c.directory, system: c.store.gateways.options.System, step: c.store.step, held: held}
}

// withoutLog finishes a rotation whose log is not at its place any more.
func (c *change) withoutLog(ctx context.Context) error {
	if !c.moved && !c.log.Switched {
		return logfile.Gone(c.rotation.Live)
	}
	if err := c.switchIndex(ctx, nil); err != nil {
		return err
	}
	if c.linked {
		return c.begun(c.log.MoveAside(ctx))
	}
	return durable.SyncDirIn(c.Root)
}

// begun marks a log that is busy after the index was switched.
func (c *change) begun(err error) error {
	var busy *session.BusyError
	if c.log.Switched && errors.As(err, &busy) {
		busy.Begun = true
	}
	return err
}

// takeAway goes the way of [logfile.Held], with the switch of the index between
// the check of the log and its move.
func (c *change) takeAway(ctx context.Context) error {
	if err := c.store.gateways.letsGo(c.directory, c.rotation.Live); err != nil {
		return err
	}
	held, err := c.log.Hold()
	if err != nil {
		return err
	}
	defer held.Close()
	if err := held.Check(); err != nil {
		return err
	}
	if err := c.switchIndex(ctx, held); err != nil {
		return err
	}
	if err := held.MoveAside(); err != nil {
		return err
	}
	return c.stillSwitched(ctx)
}

// letsGo returns a [*session.BusyError] while the runtime holds a log of a
// directory, by its lock or by serving it. The lock of the index is this
// process's.
func (gs *gateways) letsGo(d *directory, path string) error {
	if err := d.logLocked(filepath.Base(path), time.Now()); err != nil {
		return err
	}
	return gs.unserved(path)
}

// switchIndex points the entries at the new session. Where that is done
// already, an earlier run may have died before it was durable. held is nil for
// a log that is not at its place any more.
func (c *change) switchIndex(ctx context.Context, held *logfile.Held) error {
	if len(c.rotation.Keys) == 0 {
		return nil
	}
	if c.log.Switched {
		return durable.SyncDirIn(c.Root)
	}
	write := c.writing(held)
	write.edit = c.switched
	if err := write.run(ctx); err != nil {
		return err
	}
	if err := c.store.step("index"); err != nil {
		return err
	}
	return c.confirm(ctx, held)
}

// switched returns the text of an index whose entries name the new session. It
// is busy if they are not what they were when the rotation was planned.
func (c *change) switched(x *index) ([]byte, error) {
	now := *c.view
	now.index, now.owners = x, ownersOf(x, now.all, now.agent)
	done, err := c.indexState(&now)
	if err != nil {
		return nil, err
	}
	if done {
		return x.raw, nil
	}
	c.replaced = map[string][]byte{}
	fresh := freshEntry{session: c.rotation.NewSession, at: c.rotation.At}
	text, err := x.edited(c.rotation.Keys, func(key string, old []byte) ([]byte, error) {
		c.replaced[key] = old
		return fresh.replace(old)
	})
	if err != nil {
		return nil, fmt.Errorf("edit sessions.json: %w", err)
	}
	return text, nil
}

func inPlace(held *logfile.Held) error {
	if held == nil {
		return nil
	}
	return held.InPlace()
}

// confirm looks again before the log is moved. A runtime that wrote its own
// index over ours in the same instant is at work: the session goes on, and
// nothing has changed. So does one that put another log in place of the one
// that was archived, and then the entries go back to what they were.
func (c *change) confirm(ctx context.Context, held *logfile.Held) error {
	x, err := c.readIndex(ctx)
	if err != nil {
		return fmt.Errorf("read sessions.json again: %w", err)
	}
	if !c.namedIn(x, func(i int) string { return c.rotation.NewSession }) {
		return c.refuse(session.ReasonIndexOverwritten.Text())
	}
	if replaced := inPlace(held); replaced != nil {
		back := c.writing(nil)
		back.edit = func(x *index) ([]byte, error) {
			return x.edited(c.rotation.Keys, func(key string, _ []byte) ([]byte, error) { return c.replaced[key], nil })
		}
		return errors.Join(replaced, back.run(ctx))
	}
	c.log.Switched = true
	return nil
}

// namedIn reports whether every entry of the rotation names a session.
func (c *change) namedIn(x *index, session func(i int) string) bool {
	for i, key := range c.rotation.Keys {
		if e := x.entry(key); e == nil || e.session != session(i) {
			return false
		}
	}
	return true
}

// stillSwitched looks at the index once more when the log is moved. A runtime
// that takes no lock may have written what it had read before the switch: the
// entries would name a log that is not there, and it would be made again.
func (c *change) stillSwitched(ctx context.Context) error {
	if len(c.rotation.Keys) == 0 {
		return nil
	}
	x, err := c.readIndex(ctx)
	if err != nil {
		return fmt.Errorf("read sessions.json again: %w", err)
	}
	if !c.namedIn(x, func(i int) string { return c.rotation.Before[i].Session }) {
		return nil
	}
	again := c.writing(nil)
	again.edit = c.switched
	return again.run(ctx)
}
