package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What `compact --shrink` takes out of a runtime's database.
const (
	shrinkReport   = "report"   // nothing: it says what each would free
	shrinkSessions = "sessions" // sessions that nobody has used for long
	shrinkJournal  = "journal"  // superseded events of the sessions that stay
	shrinkDeleted  = "deleted"  // what the runtime's own delete has left of sessions
	shrinkVacuum   = "vacuum"   // pages that nothing uses, and the write-ahead log
)

// shrinkOptions are those of `compact --shrink`.
type shrinkOptions struct {
	What      []string
	OlderThan string
	DryRun    bool
	Quiet     time.Duration

	olderThan time.Duration
}

func (o *shrinkOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.What, "shrink", nil, "make the databases of OpenCode, Kilo, Hermes and Cline's hub smaller: `report` (what each would free), sessions, journal, deleted, vacuum")
	fs.Lookup("shrink").NoOptDefVal = shrinkReport
	fs.StringVar(&o.OlderThan, "older-than", "30d", "with --shrink sessions: sessions that nobody has used for this `age`: 30d, 8w")
}

func (o *shrinkOptions) asked(c *cobra.Command) bool {
	return c.Flags().Changed("shrink") || c.Flags().Changed("older-than")
}

func (o *shrinkOptions) does(what string) bool { return slices.Contains(o.What, what) }

// shows reports whether a way is part of what is told: all of them where none was
// chosen.
func (o *shrinkOptions) shows(what string) bool { return o.does(what) || o.does(shrinkReport) }

// nothing is said of a database that has nothing of what was chosen.
func (o *shrinkOptions) nothing() string {
	return "--shrink=" + strings.Join(o.What, ",") + " finds nothing to remove in it"
}

// changes reports whether anything is to be changed.
func (o *shrinkOptions) changes() bool { return !o.DryRun && !o.does(shrinkReport) }

// leastAge is how long nobody must have used a session that is removed.
const leastAge = 24 * time.Hour

func (o *shrinkOptions) validate(flags *pflag.FlagSet) (err error) {
	hint := "write --shrink, or --shrink=sessions,journal,deleted,vacuum"
	if len(o.What) == 0 {
		return usageError(hint, "--older-than goes with --shrink")
	}
	for _, what := range o.What {
		if !slices.Contains([]string{shrinkReport, shrinkSessions, shrinkJournal, shrinkDeleted, shrinkVacuum}, what) {
			return usageError(hint, "--shrink: nothing called %q can be taken out", what)
		}
	}
	for _, other := range []string{"agent", "session", "all", "strategy", "clear", "threshold", "undo", "resummarize", "skip-archive"} {
		if flags.Changed(other) {
			return usageError("--shrink works on whole databases; --runtime and --store choose them", "--shrink does not go with --%s", other)
		}
	}
	if o.olderThan, err = parseAgo(o.OlderThan); err != nil || o.olderThan < 0 {
		return usageError("write 30d, 8w or 720h", "--older-than: %q is not an age", o.OlderThan)
	}
	if o.olderThan < leastAge {
		return usageError("a session that was used within the last day is never deleted", "--older-than %s is less than a day", o.OlderThan)
	}
	return nil
}

// shrinkDocument is `compact --shrink --json`.
type shrinkDocument struct {
	Schema    int              `json:"schema"`
	DryRun    bool             `json:"dry_run"`
	Databases []shrinkDatabase `json:"databases"`
	Notes     []note           `json:"notes"`
}

// shrinkDatabase is one database: what it takes up, what could be taken out, and
// what was.
type shrinkDatabase struct {
	Runtime string     `json:"runtime"`
	Path    string     `json:"path"`
	Outcome string     `json:"outcome"` // planned, shrunk, archived, nothing-to-do, busy, failed
	Reason  string     `json:"reason"`
	Before  spaceRow   `json:"before"`
	After   *spaceRow  `json:"after"` // null if nothing was changed
	Old     shrinkPart `json:"old_sessions"`
	Journal shrinkPart `json:"journal"`
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

	store  session.Store
	found  session.DatabaseWeight
	pinned error // why the runtime's program may not be started, or nil
}

// shrinkPart is what one way would take out: rows, and the bytes in them.
type shrinkPart struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
	Kept  int   `json:"kept_sessions"` // that are left alone: used a moment ago, synced, or with rows that are not understood
}

func runShrink(ctx context.Context, a *app, o shrinkOptions) error {
	doc := shrinkDocument{Schema: 1, DryRun: !o.changes(), Databases: []shrinkDatabase{}}
	stores, err := a.openStores()
	if err != nil {
		return err
	}
	if !o.changes() {
		if doc.Databases, err = a.weighDatabases(ctx, stores, o); err != nil {
			return err
		}
		return a.renderShrink(doc, o)
	}
	a.keepSmall() // journals of tens of gigabytes pass through
	w, err := a.openWorkspace(ctx, mode{memory: true, reason: "shrink", recover: &recovery{policy: a.recoveryPolicy()}})
	if err != nil {
		return err
	}
	defer w.close()
	if err := a.settleShrinks(ctx, stores); err != nil {
		return err
	}
	if doc.Databases, err = a.weighDatabases(ctx, stores, o); err != nil {
		return err
	}
	if err := w.sweep(ctx, a.invocation, sessionsOf(doc.Databases)); err != nil {
		return err
	}
	for i := range doc.Databases {
		d := &doc.Databases[i]
		if err := a.shrinkOne(ctx, w, d, o); err != nil {
			if p := (*session.ProgramError)(nil); errors.As(err, &p) && d.Removed.Sessions == 0 && ctx.Err() == nil {
				w.progress.clear()
				d.typeYourself(a.invocation, p)
				continue
			}
			d.Outcome, d.Reason = "failed", err.Error()
			if errors.Is(err, session.ErrBusy) {
				d.Outcome = "busy"
			}
			if ctx.Err() != nil {
				return errors.Join(ctx.Err(), a.renderShrink(doc, o))
			}
			w.progress.clear()
			a.failed(d.Path, err)
		}
	}
	w.progress.clear()
	return errors.Join(w.embedWaiting(ctx, w.unchanged), a.renderShrink(doc, o), shrinkOutcome(doc.Databases))
}

// sessionsOf are the sessions of the databases.
func sessionsOf(databases []shrinkDatabase) (all []found) {
	for _, d := range databases {
		for _, s := range d.found.Sessions {
			all = append(all, found{Ref: s.Ref, store: d.store})
		}
	}
	return all
}

// shrinkOutcome decides the exit code.
func shrinkOutcome(all []shrinkDatabase) error {
	exit, failed := 0, 0
	for _, d := range all {
		switch d.Outcome {
		case "busy":
			exit = exitBusy
			failed++
		case "failed":
			exit = exitFailed
			failed++
		case "archived":
			exit = exitPartly
		}
	}
	if failed > 0 && failed < len(all) {
		exit = exitPartly
	}
	if exit == 0 {
		return nil
	}
	return &outcomeError{exit: exit}
}

// weighDatabases says of each database what could be taken out.
func (a *app) weighDatabases(ctx context.Context, stores []session.Store, o shrinkOptions) (all []shrinkDatabase, err error) {
	pinned, err := a.readPinned()
	if err != nil {
		return nil, err
	}
	all = []shrinkDatabase{}
	able := 0
	for _, store := range stores {
		shrinker := store.Capabilities().Shrinker
		if shrinker == nil {
			continue
		}
		able++
		weights, err := shrinker.Weigh(ctx)
		if err != nil {
			return nil, fmt.Errorf("weigh the databases of %s: %w", store.Root(), err)
		}
		for _, found := range weights {
			d := shrinkDatabase{Runtime: store.Runtime(), Path: found.Path, Outcome: "planned", store: store, found: found}
			d.keep(pinned, a.now(), o)
			d.weigh(a.now(), o)
			if found.Err != nil {
				d.Outcome, d.Reason = "failed", found.Err.Error()
			}
			if d.Before, err = measured(ctx, found.Path); err != nil && found.Err == nil {
				return nil, err
			}
			all = append(all, d)
		}
	}
	if able == 0 {
		return nil, &failure{code: "no_store", exit: exitFailed, path: a.home(), hint: "--store opencode=PATH names a data directory", err: errors.New("no store of OpenCode, Kilo, Hermes or Cline was found")}
	}
	return all, nil
}

// keep keeps the sessions that are pinned. Where the runtime's own program removes
// sessions it does not know of our pins, and so must not be started while it would
// remove one.
func (d *shrinkDatabase) keep(pinned pinned, now time.Time, o shrinkOptions) {
	for i := range d.found.Sessions {
		s := &d.found.Sessions[i]
		pin := pinned.keeps(s.Ref)
		if pin != "" && s.Kept == "" && d.found.Program != "" && programRemoves(*s, now, o) {
			d.pinned = errPinned(d.found.Program, s.Ref.ID)
		}
		s.Kept = cmp.Or(s.Kept, pin)
	}
	if d.pinned != nil && !o.changes() {
		d.Reason = d.pinned.Error()
	}
}

// programRemoves reports whether a runtime's program would remove a session: it is
// asked to, or does so by its own settings when it starts.
func programRemoves(s session.Weight, now time.Time, o shrinkOptions) bool {
	expired := !s.Ref.Expires.IsZero() && !s.Ref.Expires.After(now)
	return expired || o.shows(shrinkSessions) && now.Sub(s.Since()) >= o.olderThan
}

func errPinned(program, id string) error {
	return &failure{
		code: "pinned", exit: exitFailed, hint: "pin it in " + program + " too, or unpin it: sessctl pin --remove " + id,
		err: fmt.Errorf("the session %s is pinned, and %s, which does not know that, would remove it", id, program),
	}
}

// weigh adds up what the two ways would take out.
func (d *shrinkDatabase) weigh(now time.Time, o shrinkOptions) {
	old := d.old(now, o)
	for _, s := range d.found.Sessions {
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
func leftAlone(s session.Weight, now time.Time, o shrinkOptions) bool {
	return s.Kept != "" || now.Sub(s.Ref.ModTime) < o.Quiet
}

// deleted are the ids of what sessions have left that are gone.
func (d *shrinkDatabase) deleted(now time.Time, o shrinkOptions) map[string]bool {
	ids := map[string]bool{}
	for _, s := range d.found.Sessions {
		ids[s.Ref.ID] = s.Deleted > 0 && o.does(shrinkDeleted) && !leftAlone(s, now, o)
	}
	return ids
}

// old are the ids of the sessions that nobody has used for long, with those of
// their sub-agents. One that must stay keeps its whole family.
func (d *shrinkDatabase) old(now time.Time, o shrinkOptions) map[string]bool {
	old := map[string]bool{}
	if d.found.OnlyDeleted {
		return d.deleted(now, o)
	}
	if d.found.Program != "" { // it judges each session by itself
		for _, s := range d.found.Sessions {
			old[s.Ref.ID] = (o.does(shrinkSessions) || o.does(shrinkReport)) && s.Kept == "" && now.Sub(s.Since()) >= o.olderThan
		}
		return old
	}
	if !o.does(shrinkSessions) && !o.does(shrinkReport) {
		return old
	}
	stays := map[string]bool{}
	top := func(s session.Weight) string {
		if s.Ref.Parent != "" {
			return s.Ref.Parent
		}
		return s.Ref.ID
	}
	for _, s := range d.found.Sessions {
		if s.Kept != "" || now.Sub(s.Ref.ModTime) < o.olderThan {
			stays[top(s)] = true
		}
	}
	for _, s := range d.found.Sessions {
		old[s.Ref.ID] = !stays[top(s)]
	}
	return old
}

// shrinkOne archives and remembers what is to go, and takes it out.
func (a *app) shrinkOne(ctx context.Context, w *workspace, d *shrinkDatabase, o shrinkOptions) error {
	if d.found.Err != nil {
		return d.found.Err
	}
	if d.found.Program != "" && d.Old.Count == 0 && !o.does(shrinkVacuum) {
		d.Outcome, d.Reason = "nothing-to-do", o.nothing()
		return nil
	}
	if d.pinned != nil {
		return d.pinned
	}
	order, intent, err := a.secureShrink(ctx, w, d, o)
	if err != nil {
		return err
	}
	gains := len(order.Sessions) + len(order.Journals)
	if gains == 0 && !o.does(shrinkVacuum) {
		d.Outcome, d.Reason = "nothing-to-do", o.nothing()
		return nil
	}
	path := filepath.Join(a.shrinkDir(), ulid.Make().String()+".json")
	if gains > 0 {
		if err := a.noteShrink(path, intent); err != nil {
			return err
		}
	}
	done, err := d.store.Capabilities().Shrinker.Shrink(ctx, order)
	d.Removed.Sessions, d.Removed.Events, d.Removed.Deleted, d.Removed.Rows = done.Sessions, done.Events, done.Deleted, done.Rows
	if gains > 0 {
		err = errors.Join(err, a.endShrink(ctx, path, intent, d.store))
	}
	if done.Sessions+done.Events+done.Rows > 0 || done.Vacuumed {
		after, measureErr := measured(ctx, d.Path)
		d.Outcome, d.After = "shrunk", &after
		err = errors.Join(err, measureErr)
	}
	return err
}

// typeYourself says what to type where the runtime's program could not be asked.
// All that it may remove is archived by then.
func (d *shrinkDatabase) typeYourself(a *invocation, p *session.ProgramError) {
	d.Outcome, d.Reason, d.Commands = "archived", p.Error(), p.Commands
	for _, command := range p.Commands {
		a.hint(command)
	}
}

// secureShrink archives every session that is to go, and every journal of which
// events are to go, checks the copies, and remembers what the sessions say.
func (a *invocation) secureShrink(ctx context.Context, w *workspace, d *shrinkDatabase, o shrinkOptions) (session.Shrink, shrinkIntent, error) {
	order := session.Shrink{Database: d.Path, Vacuum: o.does(shrinkVacuum), Now: a.now(), Files: map[string]string{}}
	if o.does(shrinkSessions) {
		order.OlderThan = o.olderThan
	}
	intent := shrinkIntent{Schema: 1, At: a.now().UTC(), Runtime: d.Runtime, Store: d.store.Root(), Database: d.Path}
	old := d.old(a.now(), o)
	for i, s := range d.found.Sessions {
		w.progress.of(i+1, len(d.found.Sessions))
		w.progress.show(s.Ref, stageRead, 0, 1)
		trims := o.does(shrinkJournal) && s.Superseded > 0 && s.Kept == "" && a.now().Sub(s.Ref.ModTime) >= o.Quiet
		if !old[s.Ref.ID] && !trims && !s.Secure {
			continue
		}
		for _, file := range s.Files {
			entry, err := a.secureFile(ctx, w, found{Ref: file, store: d.store})
			if err != nil {
				return order, intent, err
			}
			order.Files[file.Path] = entry.SHA256
			intent.Items = append(intent.Items, shrinkItem{Session: s.Ref.ID, Path: file.Path, Kind: "file", Archive: entry.ID, SHA256: entry.SHA256, Bytes: entry.Bytes, Whole: true})
		}
		proof := session.ShrinkProof{Session: s.Ref.ID}
		if s.Journal.Path != "" {
			journal, err := a.secureRows(ctx, w, found{Ref: s.Journal, store: d.store})
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
		log, err := a.secureRows(ctx, w, found{Ref: s.Ref, store: d.store})
		if err == nil && s.Deleted == 0 { // the rows of a deleted session repeat what it said; somebody wanted it gone
			err = w.rememberOnce(ctx, a, retention.Session{Ref: s.Ref, Adapter: d.store}, log, aboutToShrink)
		}
		if err != nil {
			return order, intent, err
		}
		proof.Log = log.SHA256
		kind := "session"
		if s.Deleted > 0 {
			kind = shrunkRows
		}
		intent.Items = append(intent.Items, shrinkItem{Session: s.Ref.ID, Path: s.Ref.Path, Kind: kind, Archive: log.ID, SHA256: log.SHA256, Bytes: log.Bytes, Whole: true})
		order.Sessions = append(order.Sessions, proof)
	}
	return order, intent, nil
}

// secureFile archives a file that goes with a session, and reads the copy once
// more.
func (a *invocation) secureFile(ctx context.Context, w *workspace, s found) (archive.Entry, error) {
	entry, err := putArchive(ctx, a, w.archives, s)
	if err == nil {
		err = w.archives.VerifyFile(ctx, entry)
	}
	return entry, err
}

// secureRows archives rows and reads the copy once more: nothing is removed by
// the word of a catalogue.
func (a *invocation) secureRows(ctx context.Context, w *workspace, s found) (archive.Entry, error) {
	entry, err := putStored(ctx, a, w.archives, s, s.store.Capabilities().Source)
	if err == nil {
		err = w.archives.VerifyFile(ctx, entry)
	}
	return entry, err
}

// shrinkIntent says what a run is about to take out, so that a later run can
// note what a killed one has done.
type shrinkIntent struct {
	Schema   int          `json:"schema"`
	At       time.Time    `json:"at"`
	Runtime  string       `json:"runtime"`
	Store    string       `json:"store"`
	Database string       `json:"database"`
	Items    []shrinkItem `json:"items"`
}

// shrunkRows is the kind of what a deleted session has left.
const shrunkRows = "rows"

type shrinkItem struct {
	Session string `json:"session"`
	Path    string `json:"path"`
	Kind    string `json:"kind"` // session, journal, file, rows (of a deleted session)
	Archive string `json:"archive"`
	SHA256  string `json:"sha256"`
	Bytes   int64  `json:"size_bytes"`
	Whole   bool   `json:"whole"` // the session goes; else only superseded events
}

func (a *settings) shrinkDir() string { return filepath.Join(a.dataDir(), "shrink") }

func (a *invocation) noteShrink(path string, intent shrinkIntent) error {
	text, err := json.MarshalIndent(intent, "", "  ")
	if err == nil {
		err = a.pins.MakeDir(a.shrinkDir(), 0o700)
	}
	if err == nil {
		err = a.pins.CreateFile(path, 0o600, func(w io.Writer) error { _, err := w.Write(append(text, '\n')); return err })
	}
	if err != nil {
		return fmt.Errorf("note what is to be removed: %w", err)
	}
	return nil
}

// endShrink writes the lines of what is gone into the audit log, and forgets the
// intent. What is gone is what the database lacks now; of one that cannot be read
// nobody knows, and the next run looks again.
func (a *app) endShrink(ctx context.Context, path string, intent shrinkIntent, store session.Store) error {
	shrinker := store.Capabilities().Shrinker
	weights, err := shrinker.Weigh(ctx)
	if err != nil {
		return err
	}
	readable := func(d session.DatabaseWeight) bool { return d.Path == intent.Database && d.Err == nil }
	if !slices.ContainsFunc(weights, readable) {
		return nil
	}
	there := map[string]session.Weight{}
	for _, d := range weights {
		for _, s := range d.Sessions {
			there[s.Ref.Path] = s
		}
	}
	lines, err := a.audit().Lines()
	if err != nil {
		return err
	}
	for _, item := range intent.Items {
		of := intent.Database + "#" + item.Session
		s, stays := there[of]
		gone := !stays && item.Whole || stays && !item.Whole && s.Superseded == 0
		switch item.Kind {
		case "file":
			_, err := os.Lstat(item.Path)
			gone = errors.Is(err, fs.ErrNotExist)
		case shrunkRows: // the session may be there again, and its rows still
			if gone, err = rowsGone(ctx, store, item); err != nil {
				return err
			}
		}
		told := slices.ContainsFunc(lines, func(l retention.Line) bool {
			return l.Action == retention.ActionShrink && l.Archive == item.Archive && l.Path == item.Path && !l.Time.Before(intent.At)
		})
		if !gone || told {
			continue
		}
		err := a.audit().Append(retention.Line{
			Time: a.now().UTC(), Action: retention.ActionShrink, Kind: item.Kind, Path: item.Path, SHA256: item.SHA256, Bytes: item.Bytes,
			Archive: item.Archive, Rule: "compact --shrink",
		})
		if err != nil {
			return err
		}
	}
	return a.pins.RemoveFile(path)
}

// rowsGone reports whether a database has nothing of a deleted session any more.
func rowsGone(ctx context.Context, store session.Store, item shrinkItem) (bool, error) {
	log, err := store.Capabilities().Source.OpenLog(ctx, session.Ref{Path: item.Path, Kind: session.KindStored})
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err == nil {
		err = log.Close()
	}
	return false, err
}

// settleShrinks ends what killed runs began: the database has done it or not, as
// a whole.
func (a *app) settleShrinks(ctx context.Context, stores []session.Store) error {
	entries, err := a.pins.ReadDir(a.shrinkDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for unfinished runs: %w", err)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(a.shrinkDir(), e.Name())
		text, err := a.pins.ReadSmall(path, 64<<20)
		var intent shrinkIntent
		if err == nil {
			err = json.Unmarshal(text, &intent)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		for _, store := range stores {
			if store.Runtime() == intent.Runtime && store.Root() == intent.Store {
				if err := a.endShrink(ctx, path, intent, store); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func measured(ctx context.Context, path string) (spaceRow, error) {
	s, err := sqlitefile.Measure(ctx, sqlitefile.File{Base: filepath.Dir(path), Name: filepath.Base(path)})
	return newSpaceRow(s), err
}

// spaceRow is what a database takes up.
type spaceRow struct {
	Disk        int64 `json:"disk_bytes"` // file and logs
	Live        int64 `json:"live_bytes"`
	Free        int64 `json:"free_bytes"` // of pages that nothing uses
	FreePages   int64 `json:"free_pages"`
	Log         int64 `json:"wal_bytes"`
	Reclaimable int64 `json:"reclaimable_bytes"` // by VACUUM and a checkpoint, at least
}

func newSpaceRow(s sqlitefile.Space) spaceRow {
	return spaceRow{Disk: s.Disk(), Live: s.Live(), Free: s.Unused(), FreePages: s.Free, Log: s.Log, Reclaimable: s.Reclaimable()}
}

// renderShrink prints what each way would free, or has freed.
func (a *app) renderShrink(doc shrinkDocument, o shrinkOptions) error {
	if len(doc.Databases) == 0 {
		a.notice(note{Message: "there is no database here that --shrink makes smaller"})
	}
	doc.Notes = a.notes
	if a.JSON {
		return a.printJSON(doc)
	}
	for _, d := range doc.Databases {
		text := fmt.Sprintf("%s %s: %s (%s in use, %s free), %s in its write-ahead log\n", d.Runtime, visible(a.tilde(d.Path)),
			formatBytes(d.Before.Disk), formatBytes(d.Before.Live), formatBytes(d.Before.Free), formatBytes(d.Before.Log))
		if d.After == nil {
			text += d.describePlan(o)
		} else {
			text += "  removed   " + d.describeRemoved() + "\n"
			text += fmt.Sprintf("  now       %s, %s less\n", formatBytes(d.After.Disk), formatBytes(max(d.Before.Disk-d.After.Disk, 0)))
			text += d.describeFree(a.invocation, o)
		}
		if d.Reason != "" {
			text += "  " + d.Outcome + ": " + visibleText(d.Reason) + "\n"
		}
		if _, err := fmt.Fprint(a.Out, text); err != nil {
			return err
		}
	}
	if doc.DryRun && len(doc.Databases) > 0 {
		chosen := o.What
		if o.does(shrinkReport) {
			chosen = []string{shrinkSessions, shrinkJournal, shrinkDeleted, shrinkVacuum}
		}
		a.hint("close the program, then: sessctl compact --shrink=" + strings.Join(chosen, ","))
	}
	return nil
}

// describeFree says what is left to be given back where no vacuum was asked for.
func (d *shrinkDatabase) describeFree(a *invocation, o shrinkOptions) string {
	if o.does(shrinkVacuum) || d.After.FreePages == 0 {
		return ""
	}
	a.hint("sessctl compact --runtime " + d.Runtime + " --shrink=vacuum gives free pages back to the disk, with what was removed from them; it needs room for what is in use")
	return fmt.Sprintf("  free      %s in %s of the file; the program uses them again\n", formatBytes(d.After.Free), plural(int(d.After.FreePages), "page"))
}

// describePlan says what each way would free that was chosen.
func (d *shrinkDatabase) describePlan(o shrinkOptions) (text string) {
	switch {
	case d.found.OnlyDeleted && o.shows(shrinkDeleted):
		text = fmt.Sprintf("  deleted   %s of %s, %s\n", plural(d.Deleted.Rows, "row"), plural(d.Deleted.Count, "deleted session"), formatBytes(d.Deleted.Bytes))
		if d.Deleted.Kept > 0 {
			text += fmt.Sprintf("  kept      %s: written within the quiet period, or with rows that are not understood\n", plural(d.Deleted.Kept, "deleted session"))
		}
	case !d.found.OnlyDeleted && o.shows(shrinkSessions):
		text = fmt.Sprintf("  sessions  %s unused for %s, %s of messages and parts\n", formatCount(int64(d.Old.Count)), o.OlderThan, formatBytes(d.Old.Bytes))
	}
	if d.found.Program == "" && !d.found.OnlyDeleted && o.shows(shrinkJournal) {
		text += fmt.Sprintf("  journal   %s superseded events of the others, %s\n", formatCount(int64(d.Journal.Count)), formatBytes(d.Journal.Bytes))
	}
	return text + fmt.Sprintf("  vacuum    at least %s\n", formatBytes(d.Before.Reclaimable))
}

// describeRemoved says what went out of a database. Each session, event and row
// was seen in an archive before.
func (d *shrinkDatabase) describeRemoved() string {
	r := d.Removed
	switch {
	case r.Rows > 0:
		return plural(r.Rows, "row") + " of " + plural(r.Deleted, "deleted session") + "; they are in the archive"
	case r.Sessions == 0 && r.Events == 0:
		return "nothing"
	}
	return plural(r.Sessions, "session") + " and " + plural(r.Events, "superseded event") + "; they are in the archive"
}
