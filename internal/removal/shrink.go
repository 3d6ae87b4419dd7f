package removal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// What `shrink` takes out of a runtime's database.
const (
	ShrinkSessions = "sessions" // sessions that nobody has used for long
	ShrinkJournal  = "journal"  // superseded events of the sessions that stay
	ShrinkDeleted  = "deleted"  // what the runtime's own delete has left of sessions
	ShrinkVacuum   = "vacuum"   // pages that nothing uses, and the write-ahead log
)

// Shrinkable is all of that.
func Shrinkable() []string {
	return []string{ShrinkSessions, ShrinkJournal, ShrinkDeleted, ShrinkVacuum}
}

// ShrinkOptions are those of `shrink`.
type ShrinkOptions struct {
	What      []string // none: it says what each would free
	OlderThan string
	DryRun    bool
	Quiet     time.Duration

	MinAge time.Duration
}

// Does reports whether something is to be done.
func (o *ShrinkOptions) Does(what string) bool { return slices.Contains(o.What, what) }

// shows reports whether a way is part of what is told: all of them where none was
// chosen.
func (o *ShrinkOptions) shows(what string) bool { return o.Does(what) || len(o.What) == 0 }

// Nothing is said of a database that has nothing of what was chosen.
func (o *ShrinkOptions) Nothing() string {
	return "shrink " + strings.Join(o.What, " ") + " finds nothing to remove in it"
}

// Changes reports whether anything is to be changed.
func (o *ShrinkOptions) Changes() bool { return !o.DryRun && len(o.What) > 0 }

// Advice is what a person types after a plan: what was chosen, else what frees something
// and costs nothing that the program shows. Sessions are taken out where somebody asks for
// that. It is "" where there is nothing to free.
func (doc *ShrinkDocument) Advice(o ShrinkOptions) string {
	chosen := o.What
	if len(chosen) == 0 {
		chosen = slices.DeleteFunc(Shrinkable(), func(what string) bool {
			return !slices.ContainsFunc(doc.Databases, func(d ShrinkDatabase) bool { return d.frees(what) })
		})
	}
	if len(chosen) == 0 || len(doc.Databases) == 0 {
		return ""
	}
	return "close the program, then: sessctl shrink " + strings.Join(chosen, " ")
}

// frees reports whether a way that keeps all sessions may free something. The events of
// old sessions are not among those of the journal: they would go with the sessions.
func (d *ShrinkDatabase) frees(what string) bool {
	events := d.hasJournal() && d.Journal.Count+d.Old.Count > 0
	switch what {
	case ShrinkJournal:
		return events
	case ShrinkDeleted:
		return d.Deleted.Rows > 0
	case ShrinkVacuum:
		return events || d.Deleted.Rows > 0 || d.Before.Reclaimable > 0
	}
	return false
}

func (d *ShrinkDatabase) hasJournal() bool { return d.Found.Program == "" && !d.Found.OnlyDeleted }

// LeastAge is how long nobody must have used a session that is removed.
const LeastAge = 24 * time.Hour

// ShrinkDocument is `shrink --json`.
type ShrinkDocument struct {
	Schema    int              `json:"schema"`
	DryRun    bool             `json:"dry_run"`
	Databases []ShrinkDatabase `json:"databases"`
	Notes     []workspace.Note `json:"notes"`
}

// ShrinkDatabase is one database: what it takes up, what could be taken out, and
// what was.
type ShrinkDatabase struct {
	Runtime string              `json:"runtime"`
	Path    string              `json:"path"`
	Outcome string              `json:"outcome"` // planned, shrunk, archived, nothing-to-do, busy, failed
	Reason  string              `json:"reason"`
	Before  selection.SpaceRow  `json:"before"`
	After   *selection.SpaceRow `json:"after"` // null if nothing was changed
	Old     shrinkPart          `json:"old_sessions"`
	Journal shrinkPart          `json:"journal"`
	// Deleted is what is left of sessions that are gone: Count is these sessions.
	Deleted struct {
		shrinkPart
		Rows int `json:"rows"`
	} `json:"deleted"`
	Removed struct {
		Sessions int `json:"sessions"`
		Events   int `json:"events"`
		Deleted  int `json:"deleted"` // sessions that were gone before
		Rows     int `json:"rows"`    // of these
	} `json:"removed"`

	// Commands are what a person types, where the runtime's program was not found or
	// has failed.
	Commands []string `json:"commands,omitempty"`

	Store  session.Store          `json:"-"`
	Found  session.DatabaseWeight `json:"-"`
	Pinned error                  `json:"-"` // why the runtime's program may not be started, or nil
}

// Whole are the databases whose write-ahead logs were not taken away. From the others
// nothing is taken out: the log would no longer fit when it is put back.
func Whole(found []session.DatabaseWeight) []session.DatabaseWeight {
	return slices.DeleteFunc(found, func(w session.DatabaseWeight) bool { return workspace.LacksLog(w.Path) })
}

// shrinkPart is what one way would take out: rows, and the bytes in them.
type shrinkPart struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
	Kept  int   `json:"kept_sessions"` // that are left alone: used a moment ago, synced, or with rows that are not understood
}

// SessionsOf are the sessions of the databases.
func SessionsOf(databases []ShrinkDatabase) (all []workspace.Found) {
	for _, d := range databases {
		for _, s := range d.Found.Sessions {
			all = append(all, workspace.Found{Ref: s.Ref, Adapter: d.Store})
		}
	}
	return all
}

// ShrinkOutcome decides the exit code.
func ShrinkOutcome(all []ShrinkDatabase) error {
	exit, failed := 0, 0
	for _, d := range all {
		switch d.Outcome {
		case "busy":
			exit = failure.ExitBusy
			failed++
		case "failed":
			exit = failure.ExitFailed
			failed++
		case "archived":
			exit = failure.ExitPartly
		}
	}
	if failed > 0 && failed < len(all) {
		exit = failure.ExitPartly
	}
	if exit == 0 {
		return nil
	}
	return &failure.Outcome{Exit: exit}
}

// Keep keeps the sessions that are pinned. Where the runtime's own program removes
// sessions it does not know of our pins, and so must not be started while it would
// remove one.
func (d *ShrinkDatabase) Keep(pinned PinnedSessions, now time.Time, o ShrinkOptions) {
	for i := range d.Found.Sessions {
		s := &d.Found.Sessions[i]
		pin := keepsPinned(pinned, s.Ref)
		if pin != "" && s.Kept == "" && d.Found.Program != "" && programRemoves(*s, now, o) {
			d.Pinned = errPinned(d.Found.Program, s.Ref.ID)
		}
		s.Kept = cmp.Or(s.Kept, pin)
	}
	if d.Pinned != nil && !o.Changes() {
		d.Reason = d.Pinned.Error()
	}
}

// programRemoves reports whether a runtime's program would remove a session: it is
// asked to, or does so by its own settings when it starts.
func programRemoves(s session.Weight, now time.Time, o ShrinkOptions) bool {
	expired := !s.Ref.Expires.IsZero() && !s.Ref.Expires.After(now)
	return expired || o.shows(ShrinkSessions) && now.Sub(s.Since()) >= o.MinAge
}

func errPinned(program, id string) error {
	return &failure.Error{
		Code: "pinned", Exit: failure.ExitFailed, Hint: "pin it in " + program + " too, or unpin it: sessctl pin --remove " + id,
		Err: fmt.Errorf("the session %s is pinned, and %s, which does not know that, would remove it", id, program),
	}
}

// Weigh adds up what the two ways would take out.
func (d *ShrinkDatabase) Weigh(now time.Time, o ShrinkOptions) {
	old := d.old(now, o)
	for _, s := range d.Found.Sessions {
		switch {
		case s.Deleted > 0 && leftAlone(s, now, o):
			d.Deleted.Kept++
		case s.Deleted > 0:
			d.Deleted.Count++
			d.Deleted.Rows += s.Deleted
			d.Deleted.Bytes += s.Ref.Bytes
		case old[s.Ref.ID]:
			d.Old.Count++
			d.Old.Bytes += s.Ref.Bytes
		case s.Kept != "", now.Sub(s.Ref.ModTime) < o.Quiet:
			d.Journal.Kept++
		case s.Superseded > 0:
			d.Journal.Count += s.Superseded
			d.Journal.Bytes += s.SupersededBytes
		}
	}
}

// leftAlone reports whether nothing of a session is taken out.
func leftAlone(s session.Weight, now time.Time, o ShrinkOptions) bool {
	return s.Kept != "" || now.Sub(s.Ref.ModTime) < o.Quiet
}

// deleted are the ids of what sessions have left that are gone.
func (d *ShrinkDatabase) deleted(now time.Time, o ShrinkOptions) map[string]bool {
	ids := map[string]bool{}
	for _, s := range d.Found.Sessions {
		ids[s.Ref.ID] = s.Deleted > 0 && o.Does(ShrinkDeleted) && !leftAlone(s, now, o)
	}
	return ids
}

// old are the ids of the sessions that nobody has used for long, with those of
// their sub-agents. One that must stay keeps its whole family.
func (d *ShrinkDatabase) old(now time.Time, o ShrinkOptions) map[string]bool {
	old := map[string]bool{}
	if d.Found.OnlyDeleted {
		return d.deleted(now, o)
	}
	if d.Found.Program != "" { // it judges each session by itself
		for _, s := range d.Found.Sessions {
			old[s.Ref.ID] = (o.shows(ShrinkSessions)) && s.Kept == "" && now.Sub(s.Since()) >= o.MinAge
		}
		return old
	}
	if !o.shows(ShrinkSessions) {
		return old
	}
	stays := map[string]bool{}
	top := func(s session.Weight) string {
		if s.Ref.Parent != "" {
			return s.Ref.Parent
		}
		return s.Ref.ID
	}
	for _, s := range d.Found.Sessions {
		if s.Kept != "" || now.Sub(s.Ref.ModTime) < o.MinAge {
			stays[top(s)] = true
		}
	}
	for _, s := range d.Found.Sessions {
		old[s.Ref.ID] = !stays[top(s)]
	}
	return old
}

// TypeYourself says what to type where the runtime's program could not be asked.
// All that it may remove is archived by then.
func (d *ShrinkDatabase) TypeYourself(run *workspace.Run, p *session.ProgramError) {
	d.Outcome, d.Reason, d.Commands = "archived", p.Error(), p.Commands
	for _, command := range p.Commands {
		run.Hint(command)
	}
}

// SecureShrink archives every session that is to go, and every journal of which
// events are to go, checks the copies, and remembers what the sessions say.
func SecureShrink(ctx context.Context, run *workspace.Run, w *workspace.Workspace, d *ShrinkDatabase, o ShrinkOptions) (session.Shrink, ShrinkIntent, error) {
	order := session.Shrink{Database: d.Path, Vacuum: o.Does(ShrinkVacuum), Now: run.Now(), Files: map[string]string{}}
	if o.Does(ShrinkSessions) {
		order.OlderThan = o.MinAge
	}
	intent := ShrinkIntent{Schema: 1, At: run.Now().UTC(), Runtime: d.Runtime, Store: d.Store.Root(), Database: d.Path}
	old := d.old(run.Now(), o)
	for i, s := range d.Found.Sessions {
		w.Progress.Of(i+1, len(d.Found.Sessions))
		w.Progress.Show(s.Ref, StageRead, 0, 1)
		trims := o.Does(ShrinkJournal) && s.Superseded > 0 && s.Kept == "" && run.Now().Sub(s.Ref.ModTime) >= o.Quiet
		if !old[s.Ref.ID] && !trims && !s.Secure {
			continue
		}
		for _, file := range s.Files {
			entry, err := secureFile(ctx, run, w, workspace.Found{Ref: file, Adapter: d.Store})
			if err != nil {
				return order, intent, err
			}
			order.Files[file.Path] = entry.SHA256
			intent.Items = append(intent.Items, shrinkItem{Session: s.Ref.ID, Path: file.Path, Kind: "file", Archive: entry.ID, SHA256: entry.SHA256, Bytes: entry.Bytes, Whole: true})
		}
		proof := session.ShrinkProof{Session: s.Ref.ID}
		if s.Journal.Path != "" {
			journal, err := SecureRows(ctx, run, w, workspace.Found{Ref: s.Journal, Adapter: d.Store})
			if err != nil {
				return order, intent, err
			}
			proof.Journal = journal.SHA256
			intent.Items = append(intent.Items, shrinkItem{Session: s.Ref.ID, Path: s.Journal.Path, Kind: "journal", Archive: journal.ID, SHA256: journal.SHA256, Bytes: journal.Bytes, Whole: old[s.Ref.ID]})
		}
		if !old[s.Ref.ID] && !s.Secure {
			order.Journals = append(order.Journals, proof)
			continue
		}
		log, err := SecureRows(ctx, run, w, workspace.Found{Ref: s.Ref, Adapter: d.Store})
		if err == nil && s.Deleted == 0 { // the rows of a deleted session repeat what it said; somebody wanted it gone
			err = w.RememberOnce(ctx, run, retention.Session{Ref: s.Ref, Adapter: d.Store}, log, workspace.AboutToShrink)
		}
		if err != nil {
			return order, intent, err
		}
		proof.Log = log.SHA256
		kind := "session"
		if s.Deleted > 0 {
			kind = ShrunkRows
		}
		intent.Items = append(intent.Items, shrinkItem{Session: s.Ref.ID, Path: s.Ref.Path, Kind: kind, Archive: log.ID, SHA256: log.SHA256, Bytes: log.Bytes, Whole: true})
		order.Sessions = append(order.Sessions, proof)
	}
	return order, intent, nil
}

// secureFile archives a file that goes with a session, and reads the copy once
// more.
func secureFile(ctx context.Context, run *workspace.Run, w *workspace.Workspace, s workspace.Found) (archive.Entry, error) {
	entry, err := PutArchive(ctx, run, w.Archives, s)
	if err == nil {
		err = w.Archives.VerifyFile(ctx, entry)
	}
	return entry, err
}

// SecureRows archives rows and reads the copy once more: nothing is removed by
// the word of a catalogue.
func SecureRows(ctx context.Context, run *workspace.Run, w *workspace.Workspace, s workspace.Found) (archive.Entry, error) {
	entry, err := putStored(ctx, run, w.Archives, s, s.Adapter.Capabilities().Source)
	if err == nil {
		err = w.Archives.VerifyFile(ctx, entry)
	}
	return entry, err
}

// ShrinkIntent says what a run is about to take out, so that a later run can
// note what a killed one has done.
type ShrinkIntent struct {
	Schema   int          `json:"schema"`
	At       time.Time    `json:"at"`
	Runtime  string       `json:"runtime"`
	Store    string       `json:"store"`
	Database string       `json:"database"`
	Items    []shrinkItem `json:"items"`
}

// ShrunkRows is the kind of what a deleted session has left.
const ShrunkRows = "rows"

type shrinkItem struct {
	Session string `json:"session"`
	Path    string `json:"path"`
	Kind    string `json:"kind"` // session, journal, file, rows (of a deleted session)
	Archive string `json:"archive"`
	SHA256  string `json:"sha256"`
	Bytes   int64  `json:"size_bytes"`
	Whole   bool   `json:"whole"` // the session goes; else only superseded events
}

// NoteShrink writes down that a database is being shortened.
func NoteShrink(run *workspace.Run, path string, intent ShrinkIntent) error {
	text, err := json.MarshalIndent(intent, "", "  ")
	if err == nil {
		err = run.Pins.MakeDir(run.ShrinkDir(), 0o700)
	}
	if err == nil {
		err = run.Pins.CreateFile(path, 0o600, func(w io.Writer) error { _, err := w.Write(append(text, '\n')); return err })
	}
	if err != nil {
		return fmt.Errorf("note what is to be removed: %w", err)
	}
	return nil
}

// RowsGone reports whether a database has nothing of a deleted session any more.
func RowsGone(ctx context.Context, store session.Store, item shrinkItem) (bool, error) {
	log, err := store.Capabilities().Source.OpenLog(ctx, session.Ref{Path: item.Path, Kind: session.KindStored})
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err == nil {
		err = log.Close()
	}
	return false, err
}

// Measured weighs a database after it was shortened.
func Measured(ctx context.Context, path string) (selection.SpaceRow, error) {
	s, err := sqlitefile.Measure(ctx, sqlitefile.File{Base: filepath.Dir(path), Name: filepath.Base(path)})
	return selection.NewSpaceRow(s), err
}

// DescribeFree says what is left to be given back where no vacuum was asked for.
func (d *ShrinkDatabase) DescribeFree(run *workspace.Run, o ShrinkOptions) string {
	if o.Does(ShrinkVacuum) || d.After.FreePages == 0 {
		return ""
	}
	run.Hint("sessctl shrink vacuum --runtime " + d.Runtime + " gives free pages back to the disk, with what was removed from them; it needs room for what is in use")
	return fmt.Sprintf("  free      %s in %s of the file; the program uses them again\n", wording.Bytes(d.After.Free), wording.Plural(int(d.After.FreePages), "page"))
}

// DescribePlan says what each way would free that was chosen.
func (d *ShrinkDatabase) DescribePlan(o ShrinkOptions) (text string) {
	switch {
	case d.Found.OnlyDeleted && o.shows(ShrinkDeleted):
		text = fmt.Sprintf("  deleted   %s of %s, %s\n", wording.Plural(d.Deleted.Rows, "row"), wording.Plural(d.Deleted.Count, "deleted session"), wording.Bytes(d.Deleted.Bytes))
		if d.Deleted.Kept > 0 {
			text += fmt.Sprintf("  kept      %s: written within the quiet period, or with rows that are not understood\n", wording.Plural(d.Deleted.Kept, "deleted session"))
		}
	case !d.Found.OnlyDeleted && o.shows(ShrinkSessions):
		text = fmt.Sprintf("  sessions  %s unused for %s, %s of messages and parts\n", wording.Count(int64(d.Old.Count)), o.OlderThan, wording.Bytes(d.Old.Bytes))
	}
	if d.hasJournal() && o.shows(ShrinkJournal) {
		text += fmt.Sprintf("  journal   %s superseded events of the others, %s\n", wording.Count(int64(d.Journal.Count)), wording.Bytes(d.Journal.Bytes))
	}
	return text + fmt.Sprintf("  vacuum    at least %s\n", wording.Bytes(d.Before.Reclaimable))
}

// DescribeRemoved says what went out of a database. Each session, event and row
// was seen in an archive before.
func (d *ShrinkDatabase) DescribeRemoved() string {
	r := d.Removed
	switch {
	case r.Rows > 0:
		return wording.Plural(r.Rows, "row") + " of " + wording.Plural(r.Deleted, "deleted session") + "; they are in the archive"
	case r.Sessions == 0 && r.Events == 0:
		return "nothing"
	}
	return wording.Plural(r.Sessions, "session") + " and " + wording.Plural(r.Events, "superseded event") + "; they are in the archive"
}
