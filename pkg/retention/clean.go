package retention

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// RecentUse is how long ago a session must have been used to be deleted,
// whatever was asked for.
const RecentUse = 24 * time.Hour

// Clean deletes old sessions, once they are safe in the archive and memory has
// what they say. Every field but Force and Needed is required; Remember and Again
// only by [Clean.Execute].
type Clean struct {
	Archives *archive.Store
	// Copy archives the file of a session, unless its bytes are there already.
	Copy func(ctx context.Context, ref session.Ref) (archive.Entry, error)
	// Remember puts what an archived log says into memory, unless it is there
	// already.
	Remember func(ctx context.Context, log Session, e archive.Entry) error
	// Again archives and remembers a file of the trash as it is now.
	Again  func(ctx context.Context, item Item, s TrashedSession) (archive.Entry, error)
	Trash  Trash // the records of deleted sessions
	Audit  Audit
	Now    func() time.Time
	MaxAge time.Duration // only what nobody has used for longer
	Grace  time.Duration // how long what goes can be brought back
	// LongestTurn is that of [session.BusyQuestion].
	LongestTurn time.Duration
	Force       bool // also more than half of an agent's sessions in this run
	// Needed returns why nothing of a session may be deleted, or "": an earlier
	// run is not finished with it.
	Needed func(ref session.Ref) string
	Rule   string // why it goes, for the audit log
}

// Session is a session, or a log that belongs to one.
type Session struct {
	session.Ref
	Adapter session.Store // the open store that it was found in
}

// CleanPlan says what becomes of every session, and of the files whose time in
// the trash is over. It is data, and what is shown is what is executed.
type CleanPlan struct {
	Sessions []SessionPlan
	Purge    []Item    // what is removed for good
	Waiting  []Waiting // the agents, with their runtime, that would lose more than half of their sessions: the rest waits for the next run
}

// SessionPlan is what becomes of one session and of what belongs to it.
type SessionPlan struct {
	Session
	Verdict Verdict
	Files   []File // what goes, with the log first
	LastUse time.Time
	Left    error     // why [Clean.Execute] left it: [session.ErrBusy], or what failed
	members []Session // the session and the logs that go or stay with it; nil of a kind that stays
}

// File is one file to be deleted, as it was when the plan was made.
type File struct {
	Path string
	Seen session.Snapshot // without a hash
	log  *Session         // nil for a companion
}

// CleanResult says what of a plan was not done.
type CleanResult struct {
	Busy, Failed int    // sessions, and of the latter also files of the trash
	Kept         []Kept // what stays in the trash although its time is over
}

// Kept is a file that stays in the trash: it was written after it was put
// there, somebody has it open, or its archive does not verify.
type Kept struct {
	Item   Item
	Err    error
	Failed bool // it could not be removed; else it waits
}

// Going are the plans of the sessions to be deleted.
func (p *CleanPlan) Going() []*SessionPlan {
	var all []*SessionPlan
	for i := range p.Sessions {
		if p.Sessions[i].Verdict.Goes {
			all = append(all, &p.Sessions[i])
		}
	}
	return all
}

// Size is that of all files of a session to be deleted, in bytes.
func (p *SessionPlan) Size() (n int64) {
	for _, f := range p.Files {
		n += f.Seen.Size
	}
	return n
}

// Plan decides what becomes of every session and of what is in the trash. It
// changes nothing. The caller has checked the clock.
func (c *Clean) Plan(ctx context.Context, all []Session) (*CleanPlan, error) {
	now := c.Now()
	p := &CleanPlan{}
	together := group(all)
	for _, s := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if s.Parent == "" && together.leads(s) {
			p.Sessions = append(p.Sessions, consider(ctx, together, s))
		}
	}
	c.byAge(p.Sessions, now)
	going := p.Going()
	belongings := companionsOf(ctx, going)
	for i, s := range going {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.Verdict.Reason = c.mayGo(ctx, s, belongings[i], now)
		s.Verdict.Goes = s.Verdict.Reason == ""
	}
	if !c.Force {
		p.holdBack()
	}
	items, err := c.Trash.List()
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		if !now.Before(item.Until) {
			p.Purge = append(p.Purge, item)
		}
	}
	return p, nil
}

// holdBack leaves to the next run what is more than one may take of an agent.
func (p *CleanPlan) holdBack() {
	verdicts := make([]*Verdict, 0, len(p.Sessions))
	for i := range p.Sessions {
		verdicts = append(verdicts, &p.Sessions[i].Verdict)
	}
	p.Waiting = holdBack(verdicts)
}

// consider tells whether a session is of a kind that may be deleted, and when
// it, or what belongs to it, was used last.
func consider(ctx context.Context, together *families, s Session) SessionPlan {
	p := SessionPlan{Session: s, LastUse: s.ModTime}
	if p.Verdict.Reason = stays(s); p.Verdict.Reason != "" {
		return p
	}
	p.members = together.members(s)
	for _, m := range p.members {
		p.LastUse = later(p.LastUse, lastUse(ctx, m))
	}
	return p
}

// stays returns why a session of this kind is never deleted, or "".
func stays(s Session) string {
	switch {
	case s.Kind == session.KindDatabase || s.Kind == session.KindStored:
		return session.ReasonKeepDatabase.Text()
	case s.Kind == session.KindPrompts:
		return session.ReasonKeepPrompts.Text()
	case s.Adapter.Capabilities().ReadOnly:
		return session.ReasonKeepReadOnly.Text()
	case closed(s.Kind):
		return ""
	case s.State == session.StateUnsupported:
		return session.ReasonKeepRuntime.Text(s.Reason)
	case s.Adapter.Capabilities().Indexed && s.Kind != session.KindOrphan:
		return session.ReasonKeepIndexed.Text()
	}
	return ""
}

// closed reports a log that its runtime has closed or copied.
func closed(k session.Kind) bool {
	switch k {
	case session.KindReset, session.KindDeleted, session.KindBackup, session.KindCheckpoint, session.KindArchived:
		return true
	}
	return false
}

// lastUse is the later of a log's time and its last record's: one that was
// copied or restored may have an old file's time, or a new one.
func lastUse(ctx context.Context, s Session) time.Time {
	if s.Kind == session.KindOutput {
		return s.ModTime // it has no records
	}
	tail, err := s.Adapter.Tail(ctx, s.Ref)
	if err != nil {
		return s.ModTime
	}
	return later(s.ModTime, tail.LastRecord)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// byAge applies the rules of age. The newest session of an agent stays, so
// every session counts, also those that may not be deleted.
func (c *Clean) byAge(plans []SessionPlan, now time.Time) {
	candidates := make([]Candidate, 0, len(plans))
	for _, p := range plans {
		agent, sub := p.CountsFor()
		candidates = append(candidates, Candidate{ID: p.Path, Owner: p.Runtime + " " + agent, Time: p.LastUse, Temporary: sub})
	}
	for i, v := range Choose(candidates, Policy{MaxAge: max(c.MaxAge, 0), Keep: 1}, now) {
		if reason := plans[i].Verdict.Reason; reason != "" {
			v.Goes, v.Reason = false, reason
		}
		plans[i].Verdict = v
	}
}

// mayGo looks at a session that is old enough, with its companions. It returns
// why it stays, or "".
func (c *Clean) mayGo(ctx context.Context, p *SessionPlan, companions session.Companions, now time.Time) string {
	for _, m := range p.members {
		if reason := c.needed(m.Ref); reason != "" {
			return reason
		}
		if err := untouchable(m.Adapter, m.Path); err != nil {
			return err.Error()
		}
		if liveness := m.Adapter.Capabilities().Liveness; liveness != nil && !closed(m.Kind) {
			if err := liveness.Busy(ctx, session.BusyQuestion{Ref: m.Ref, Now: now, LongestTurn: c.LongestTurn}); err != nil {
				return busyText(err)
			}
		}
		if reason := logfile.NotOwnRecords(ctx, m.Adapter, m.Ref); reason != "" {
			return reason
		}
		if reason := c.add(p, m.Path, &m); reason != "" {
			return reason
		}
	}
	if companions.Err != nil {
		return session.ReasonKeepUntold.Text(companions.Err)
	}
	logs := map[string]bool{}
	for _, f := range p.Files {
		logs[f.Path] = true
	}
	for _, path := range companions.Paths {
		if logs[path] {
			continue
		}
		if reason := c.add(p, path, nil); reason != "" {
			return reason
		}
	}
	return ""
}

func (c *Clean) needed(ref session.Ref) string {
	if c.Needed == nil {
		return ""
	}
	return c.Needed(ref)
}

func busyText(err error) string {
	var busy *session.BusyError
	if errors.As(err, &busy) {
		return session.ReasonKeepBusy.Text(busy.Reason)
	}
	return err.Error()
}

// add plans the deletion of a file. It returns why it cannot be deleted, or "".
func (c *Clean) add(p *SessionPlan, path string, log *Session) string {
	info, err := c.Trash.Pins.Lstat(path)
	if err != nil {
		return session.ReasonKeepUnlooked.Text(err)
	}
	if !info.Mode().IsRegular() {
		return session.ReasonKeepIrregular.Text(filepath.Base(path))
	}
	if c.Now().Sub(info.ModTime()) < RecentUse {
		return session.ReasonKeepUsed.Text(filepath.Base(path))
	}
	p.Files = append(p.Files, File{Path: path, Seen: session.Observe(path, info), log: log})
	return ""
}

// untouchable returns an error for a place of a store from which nothing may be
// taken and to which nothing may be brought back.
func untouchable(s session.Store, path string) error {
	if guard := s.Capabilities().Guard; guard != nil {
		return guard.Untouchable(path)
	}
	return nil
}

// TrashedSession is what a record of the trash says of its session.
type TrashedSession struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Archive string `json:"archive"` // id of the archive with its bytes
}

// SessionOf is what a record of the trash says of its session. An error is
// returned for a record of something else.
func SessionOf(item Item) (TrashedSession, error) {
	var s TrashedSession
	if err := json.Unmarshal(item.Detail, &s); err != nil {
		return s, fmt.Errorf("the record %s of the trash is not of a session", item.ID)
	}
	return s, nil
}

// Recover finishes what a killed run began: a file that is still, or again, at
// its place was not deleted.
func (c *Clean) Recover() error {
	if !exists(c.Trash.Dir) {
		return nil
	}
	return c.Trash.recoverEach("clean", func(item Item, ended *movesEnded) error {
		moved, err := c.Trash.recover(item, ended)
		if err == nil && !moved && c.Trash.isAt(item.From) { // else it is lost, which --undelete tells
			err = c.dropUnused(item)
		}
		return err
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil || !os.IsNotExist(err)
}

// Execute does what the plan says, one session after the other. What changed
// since the plan was made stays, and its verdict says why. An error is returned
// when the run cannot go on: the context has ended, or the trash cannot be
// emptied.
func (c *Clean) Execute(ctx context.Context, p *CleanPlan) (result CleanResult, err error) {
	for _, s := range p.Going() {
		if err := ctx.Err(); err != nil {
			return result, err
		}
		err := c.discard(ctx, s)
		switch {
		case err == nil:
			continue
		case errors.Is(err, session.ErrBusy):
			result.Busy++
		default:
			result.Failed++
		}
		s.Left = err
		s.Verdict.Goes, s.Verdict.Reason = false, busyText(err)
	}
	purge := p.Purge
	p.Purge = nil
	for _, item := range purge {
		kept, err := c.remove(ctx, item)
		if kept != nil {
			result.keep(item, kept)
		}
		if err != nil {
			return result, fmt.Errorf("empty the trash: %w", err)
		}
		if kept == nil {
			p.Purge = append(p.Purge, item)
		}
	}
	return result, nil
}

// keep counts a file that stays in the trash.
func (r *CleanResult) keep(item Item, why error) {
	kept := Kept{Item: item, Err: why}
	switch {
	case errors.Is(why, session.ErrBusy):
		r.Busy++
	case !waits(why):
		r.Failed++
		kept.Failed = true
	}
	r.Kept = append(r.Kept, kept)
}

// discard archives a session and what belongs to it, reads the copies back,
// remembers what the logs say, and only then moves the files into the trash, the
// log last: what is left of a family after a kill goes with it in the next run.
func (c *Clean) discard(ctx context.Context, p *SessionPlan) error {
	entries := make([]archive.Entry, len(p.Files))
	for i, f := range p.Files {
		e, err := c.secured(ctx, p, f)
		if err != nil {
			return err
		}
		entries[i] = e
	}
	for i := len(p.Files) - 1; i >= 0; i-- {
		if err := c.put(p, p.Files[i], entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// secured archives a file, unless its bytes are there already, reads the copy
// back, and remembers what it says if it is a log.
func (c *Clean) secured(ctx context.Context, p *SessionPlan, f File) (archive.Entry, error) {
	ref := p.Ref
	if f.log != nil {
		ref = f.log.Ref
	} else {
		ref.Path, ref.Kind, ref.Bytes = f.Path, session.KindOutput, f.Seen.Size
	}
	if f.Seen.Size == 0 {
		return archive.Entry{}, nil // nothing could be lost
	}
	e, err := c.Copy(ctx, ref)
	if err == nil {
		err = c.Archives.Verify(ctx, e)
	}
	if err != nil || f.log == nil || ref.Kind == session.KindOutput {
		return e, err
	}
	if err := c.Remember(ctx, *f.log, e); err != nil {
		return e, fmt.Errorf("it cannot be remembered: %w", err)
	}
	return e, nil
}

// put moves a file into the trash: first the record, then the line that says so,
// then the file, which nobody else has open meanwhile and which must still be what
// the plan saw. So whatever the log says is in the trash has a record.
func (c *Clean) put(p *SessionPlan, f File, e archive.Entry) error {
	item, err := c.item(p, f, e)
	if err != nil {
		return err
	}
	change, err := logfile.ChangeOf(c.Trash.Pins, f.Seen, item.To)
	if err != nil {
		return err
	}
	defer change.Dir.Close()
	change.Linked = true
	held, err := change.Hold()
	if err != nil {
		return err
	}
	defer held.Close()
	if err := held.Check(); err != nil {
		return err
	}
	if err := c.Trash.Record(item); err != nil {
		return err
	}
	if err := c.Audit.Append(item.line(ActionTrash, item.At, e.ID)); err != nil {
		return errors.Join(err, c.dropUnlessMoved(item))
	}
	err = held.MoveAside()
	if errors.Is(err, session.ErrBusy) {
		return errors.Join(err, c.dropUnlessMoved(item))
	}
	return err
}

// dropUnlessMoved drops the record of a file that could not be moved: it is at
// its place again. One that is in the trash after all keeps its record, for
// nobody else knows where it is.
func (c *Clean) dropUnlessMoved(item Item) error {
	moved, err := c.Trash.Recover(item)
	if err != nil || moved {
		return err
	}
	return c.dropUnused(item)
}

func (c *Clean) dropUnused(item Item) error {
	s, _ := SessionOf(item) // of another record the path says enough
	return c.Trash.dropUnused(c.Audit, item, s.Archive, c.Now())
}

// item is the record of a file to be deleted.
func (c *Clean) item(p *SessionPlan, f File, e archive.Entry) (Item, error) {
	detail, err := json.Marshal(TrashedSession{p.Runtime, p.Agent, p.ID, e.ID})
	if err != nil {
		return Item{}, err
	}
	now := c.Now().UTC()
	id := fmt.Sprintf("%s-%s", fileID(f.Path), now.Format(trashTime))
	return Item{
		ID: id, Kind: KindSession, From: f.Path, To: Place(f.Path, id), SHA256: e.SHA256, Bytes: f.Seen.Size,
		At: now, Until: now.Add(c.Grace), Rule: c.Rule, Detail: detail,
	}, nil
}

// fileID is a safe id for a file, different for different paths.
func fileID(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:6])
}

// remove removes a file from the trash for good, if it still is what was put
// there, nobody has it open and its archive still verifies. If not, it stays,
// and kept says why.
func (c *Clean) remove(ctx context.Context, item Item) (kept, err error) {
	s, err := SessionOf(item)
	if err != nil {
		return nil, err
	}
	if reason := c.needed(session.Ref{Runtime: s.Runtime, Agent: s.Agent, ID: s.Session, Path: item.From}); reason != "" {
		return fmt.Errorf("%w: %s", errNeeded, reason), nil
	}
	change, err := c.lastLook(ctx, item)
	gone := errors.Is(err, fs.ErrNotExist)
	switch {
	case gone && !exists(filepath.Dir(item.From)):
		return fmt.Errorf("%w: %s", errAway, filepath.Dir(item.From)), nil
	case err != nil && !gone:
		return err, ctx.Err()
	case !gone:
		defer change.Dir.Close()
		if now := change.Plan.Snapshot; now.Size != item.Bytes || now.Size > 0 && now.SHA256 != item.SHA256 {
			return c.keepAgain(ctx, item, s, now)
		}
	}
	if item.Bytes > 0 {
		e, err := c.Archives.Get(ctx, s.Archive)
		if err == nil {
			err = c.Archives.Verify(ctx, e)
		}
		if err != nil {
			return fmt.Errorf("its archive does not verify: %w", err), ctx.Err()
		}
	}
	if gone {
		return nil, c.forget(item, s) // somebody else has emptied the trash
	}
	return c.removeHeld(ctx, change, item, s)
}

// removeHeld removes a file of the trash while nobody has it open. Where the
// system cannot tell, a day must have gone by since it was put there.
func (c *Clean) removeHeld(ctx context.Context, change *logfile.Change, item Item, s TrashedSession) (kept, err error) {
	held, err := change.Hold()
	if err != nil {
		return err, ctx.Err()
	}
	defer held.Close()
	if err := held.Check(); err != nil {
		return err, ctx.Err()
	}
	if !held.Leased() && c.Now().Sub(item.At) < lateWriters {
		return errUnproven, nil
	}
	return nil, c.forget(item, s)
}

// lateWriters is how long a file of the trash is watched for programs that
// still have it open, where the system has no file leases.
const lateWriters = 24 * time.Hour

// waits reports whether nothing is wrong with a file that stays: a later run
// will remove it.
func waits(kept error) bool {
	return errors.Is(kept, errWrittenLate) || errors.Is(kept, errAway) || errors.Is(kept, errUnproven) || errors.Is(kept, errNeeded)
}

// errNeeded is why a file stays whose session an earlier run has not finished.
var errNeeded = errors.New("it may be needed")

// errUnproven is why a file stays on a system without leases.
var errUnproven = errors.New("this system does not tell whether a program still has it open, so it waits for a day")

// errAway is why the record of a file stays that cannot be looked at: the
// directory of its session is not there, as when a disk is not mounted.
var errAway = errors.New("the directory of its session is not there")

// forget removes a file from the trash and its record, and says so in the audit
// log first.
func (c *Clean) forget(item Item, s TrashedSession) error {
	if err := c.Audit.Append(item.line(ActionPurge, c.Now().UTC(), s.Archive)); err != nil {
		return err
	}
	return c.Trash.Remove(item)
}

// lastLook reads a file of the trash once more: a program that waited for the
// lease under which it was moved may have written to it since.
func (c *Clean) lastLook(ctx context.Context, item Item) (*logfile.Change, error) {
	file, err := c.Trash.Pins.OpenRegular(item.To)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	snap, err := session.TakeSnapshot(ctx, file, item.To)
	if err != nil {
		return nil, err
	}
	change, err := logfile.ChangeOf(c.Trash.Pins, snap, "")
	if err == nil {
		change.Linked = true // as when it was put there
	}
	return change, err
}

// errWrittenLate is why a file stays in the trash that was written after it was
// put there. What it holds now is archived.
var errWrittenLate = errors.New("it was written after it was deleted")

// keepAgain archives a file of the trash that was written after it was put
// there, and lets it wait once more: what was added is as safe as the rest then.
func (c *Clean) keepAgain(ctx context.Context, item Item, s TrashedSession, now session.Snapshot) (kept, err error) {
	e, err := c.Again(ctx, item, s)
	if err == nil {
		err = c.Archives.Verify(ctx, e)
	}
	if err == nil && e.SHA256 != now.SHA256 {
		err = &session.BusyError{Path: item.To, Reason: session.ReasonChangedArchived.Text()}
	}
	if err != nil {
		return fmt.Errorf("it was written after it was deleted, and could not be archived again: %w", err), ctx.Err()
	}
	s.Archive = e.ID
	item.SHA256, item.Bytes, item.Until = now.SHA256, now.Size, c.Now().UTC().Add(c.Grace)
	if item.Detail, err = json.Marshal(s); err != nil {
		return nil, err
	}
	if err := c.Trash.RecordAgain(item); err != nil {
		return nil, err
	}
	return fmt.Errorf("%w: archived again as %s", errWrittenLate, e.ID), nil
}

// Trashed are the records of all files of the session that an id names: its own
// id, the start of one with at least four characters, the start of a record's id,
// or "all". [ErrNotInTrash] is returned when there is none.
func (c *Clean) Trashed(id string) ([]Item, error) {
	items, err := c.Trash.List()
	if err != nil {
		return nil, err
	}
	var mine []Item
	for _, item := range items {
		s, err := SessionOf(item)
		if err == nil && (id == "all" || s.Session == id || len(id) >= 4 && strings.HasPrefix(s.Session, id) || id != "" && strings.HasPrefix(item.ID, id)) {
			mine = append(mine, item)
		}
	}
	if len(mine) == 0 {
		return nil, fmt.Errorf("%q: %w", id, ErrNotInTrash)
	}
	return mine, nil
}

// MayReturn returns an error for a file whose place is one to which a store lets
// nothing be brought back any more.
func MayReturn(stores []session.Store, item Item) error {
	for _, s := range stores {
		if err := untouchable(s, item.From); err != nil {
			return err
		}
	}
	return nil
}

// PlaceFree returns an error that wraps fs.ErrExist if another file is where one
// in the trash was.
func PlaceFree(item Item) error {
	_, err := os.Lstat(item.From)
	switch {
	case err == nil:
		return &fs.PathError{Op: "bring back", Path: item.From, Err: fs.ErrExist}
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// Undelete brings a file back to where it was. An error that wraps fs.ErrExist
// is returned when another file is there by now.
func (c *Clean) Undelete(item Item) error {
	s, err := SessionOf(item)
	if err != nil {
		return err
	}
	if err := c.Trash.TakeBack(item); err != nil {
		return fmt.Errorf("bring %s back: %w", item.From, err)
	}
	line := item.line(ActionUndelete, c.Now().UTC(), s.Archive)
	line.Rule = "clean --undelete"
	return errors.Join(c.Audit.Append(line), c.Trash.drop(item.ID))
}
