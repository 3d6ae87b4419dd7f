package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/metrics"
	"github.com/sessctl/sessctl/pkg/operate/monitor"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
	"github.com/sessctl/sessctl/pkg/session"
)

// Observed is what one look has found: the monitor and the metrics are made of
// it. Nothing is changed and nothing is locked for it. What could not be looked at is
// nil, or its flag is not set, and stands in failures.
type Observed struct {
	At       time.Time
	limit    compact.Threshold       // at which a session is due
	Sessions []workspace.Found       // all that the stores have
	Rows     []*selection.SessionRow // of those that an agent may still be using
	stores   []monitor.Store
	Unread   []workspace.UnreadRow // what was seen and not read
	whole    bool                  // every store was listed

	AllReceipts  []compact.Receipt
	Entries      []archive.Entry
	withNewer    []archive.Entry // those that are read in a newer one of Entries
	catalogued   bool            // the entries are all there are
	Damaged      []monitor.DamagedArchive
	ArchivesSeen bool
	witnessed    []WitnessedProblem // what the ledger knows and is not so

	memory     *memory.Brief // nil also where there is none
	memoryless bool          // there is none
	byWords    []workspace.ByWords
	Runs       []operate.RunRecord
	RunsSeen   bool
	Disks      []monitor.Disk
	Events     *metrics.Events

	Failures []workspace.Note
	refused  []error
}

// Observer makes a look. It is an app of its own: what it finds out about stores
// and logs is of one moment.
type Observer struct {
	*workspace.Run
	Observed
	LookOptions
}

// LookOptions are what a look at everything needs to know.
type LookOptions struct {
	Threshold      compact.Threshold
	ThresholdAsked bool                          // as a flag: no runtime has a rule of its own then
	Earlier        map[string]monitor.KnownStore // stores of earlier looks
	Refused        []error                       // with which a command would end for its settings
}

// NewObserver makes an observer. The caller closes its stores.
func NewObserver(run *workspace.Run, options LookOptions) *Observer {
	o := &Observer{Run: run.Apart(), LookOptions: options}
	o.At, o.limit, o.refused = wording.Stamp(run.Now()), options.Threshold, options.Refused
	return o
}

// Look is observe for a caller that reads logs of the stores afterwards.
func (o *Observer) Look(ctx context.Context) error {
	storesErr := o.lookAtStores(ctx)
	if f := (*failure.Error)(nil); storesErr != nil && !(errors.As(storesErr, &f) && f.Code == "no_store") {
		return storesErr
	}
	for _, step := range []struct {
		what string
		look func(context.Context) error
	}{
		{o.CatalogueDir(), o.lookAtArchives}, {o.MemoryDir(), o.lookAtMemory}, {o.RunsDir(), o.lookAtRuns}, {o.OutboxDir(), o.lookAtEvents}, {o.DataDir(), o.lookAtDisks},
	} {
		if err := step.look(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			o.Failures = append(o.Failures, workspace.Note{Path: step.what, Message: "cannot be looked at: " + err.Error(), Hint: "sessctl doctor says more"})
		}
	}
	return storesErr
}

// lookAtStores lists the stores and measures their sessions.
func (o *Observer) lookAtStores(ctx context.Context) error {
	o.leaveOutMissing()
	selection.OpenTailCache(o.Run, true)
	all, _, err := o.ListStores(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if workspace.IsNoStore(err) && len(o.Earlier) == 0 {
		o.Unread = workspace.UnreadRows(o.UnreadOf(all))
		return err
	}
	o.whole = err == nil && o.Incomplete == 0
	o.Sessions = all.Sessions
	o.noteStores()
	if err := o.measureUsed(ctx, &all); err != nil {
		return err
	}
	o.Unread = workspace.UnreadRows(o.UnreadOf(all))
	return nil
}

// leaveOutMissing leaves stores out that a person has named and that are not there:
// the others are looked at all the same.
func (o *Observer) leaveOutMissing() {
	o.Global.LeaveOut(func(named string) bool {
		runtime, path, ok := strings.Cut(named, "=")
		if !ok || hasNoDirectory(runtime) {
			return false
		}
		_, err := os.Stat(path)
		return errors.Is(err, fs.ErrNotExist) && o.Earlier[workspace.Absolute(path)].Runtime == runtime
	})
}

// hasNoDirectory reports a runtime whose roots are no directories. They may hold
// passwords.
func hasNoDirectory(runtime string) bool {
	return slices.ContainsFunc(workspace.Runtimes(), func(k workspace.RuntimeKind) bool { return k.Remote && k.Name == runtime })
}

// noteStores notes which stores are there, and which of earlier looks are not.
func (o *Observer) noteStores() {
	there := func(root, runtime string) bool {
		return slices.ContainsFunc(o.Opened, func(s session.Store) bool {
			return s.Root() == root || s.Runtime() == runtime && workspace.OnePlace(s.Root(), root)
		})
	}
	for _, s := range o.Opened {
		if !hasNoDirectory(s.Runtime()) {
			o.stores = append(o.stores, monitor.Store{Runtime: s.Runtime(), Root: s.Root()})
		}
	}
	narrowed := o.Global.OnlyNamed() || o.Global.Runtime != ""
	for root, known := range o.Earlier {
		if there(root, known.Runtime) {
			continue
		}
		_, err := os.Stat(root)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !narrowed {
			o.stores = append(o.stores, monitor.Store{Runtime: known.Runtime, Root: root, Missing: true})
		}
	}
}

// measureUsed measures the sessions that agents may still be using. What cannot be
// read is added to what was not.
func (o *Observer) measureUsed(ctx context.Context, all *workspace.Inventory) error {
	used := slices.DeleteFunc(all.Readable(), func(s workspace.Found) bool { return !workspace.Shown(s.Kind) })
	m := selection.NewMeasurer(o.Run, selection.InDatabase(*all), o.Threshold, o.ThresholdAsked)
	rows, err := m.Rows(ctx, used)
	if err != nil {
		return err
	}
	o.Rows = rows
	for _, row := range rows {
		if row.Unread != nil && !errors.Is(row.Unread, session.ErrUnknownFormat) && !errors.Is(row.Unread, fs.ErrNotExist) {
			all.NotRead = append(all.NotRead, session.Unread{Runtime: row.Runtime, Path: row.Path, Bytes: row.Bytes, Cause: session.CauseRefused, Message: "cannot be read: " + row.Unread.Error()})
		}
	}
	selection.SaveTailCache(o.Run)
	return nil
}

// lookAtArchives holds receipts, catalogue and files against each other; archives
// are not read. While another sessctl is at work what does not fit may be on its
// way.
func (o *Observer) lookAtArchives(ctx context.Context) error {
	before := workspace.AtWork(&o.Run.Settings)
	audit, err := NewReceiptAudit(ctx, o.Run)
	if err != nil {
		return err
	}
	o.catalogued, o.AllReceipts = true, audit.Receipts
	audit.AgainstCatalogue(ctx)
	for _, e := range audit.archives {
		if e.SupersededBy != "" {
			o.withNewer = append(o.withNewer, e)
		} else {
			o.Entries = append(o.Entries, e)
		}
		if err := audit.copies.Look(e); err != nil {
			o.Damaged = append(o.Damaged, monitor.DamagedArchive{ID: e.ID, Path: e.Path, Message: err.Error()})
		}
	}
	for _, p := range audit.Found {
		o.Damaged = append(o.Damaged, monitor.DamagedArchive{ID: p.ID, Path: p.Path, Message: p.About()})
	}
	for _, d := range audit.damaged {
		o.Damaged = append(o.Damaged, monitor.DamagedArchive{Path: d.Path, Message: d.Err.Error()})
	}
	if checks, err := RecordedChecks(o.Run); err != nil {
		o.Damaged = append(o.Damaged, monitor.DamagedArchive{Path: ChecksPath(&o.Run.Settings), Message: err.Error()})
	} else if bad, found := Unsettled(checks); found && len(audit.archives) > 0 { // nothing here reads the bytes
		o.Damaged = append(o.Damaged, monitor.DamagedArchive{Path: ChecksPath(&o.Run.Settings), Message: AboutCheck(bad)})
	}
	if o.witnessed, _, err = againstLedger(ctx, o.Run); err != nil {
		return err
	}
	if len(o.Damaged)+len(o.witnessed) > 0 && (before || workspace.AtWork(&o.Run.Settings)) {
		o.Damaged, o.witnessed = nil, nil // the next look sees what is left of it
		return nil
	}
	if len(o.Damaged) > 0 { // what is known already is told once
		o.witnessed = slices.DeleteFunc(o.witnessed, func(p WitnessedProblem) bool { return p.OfArchive })
	}
	o.ArchivesSeen = true
	return nil
}

func (o *Observer) lookAtMemory(ctx context.Context) error {
	store, err := workspace.GlimpseMemory(ctx, o.Run)
	if errors.Is(err, fs.ErrNotExist) {
		o.memoryless = true
		return o.lookAtEmbedder(ctx, nil)
	}
	if errors.Is(err, memory.ErrInUse) || errors.Is(err, memory.ErrBusy) {
		return nil // another sessctl is at work: the next look sees it
	}
	if err != nil {
		return err
	}
	defer store.Close()
	brief, err := store.Brief(ctx)
	if err != nil {
		return err
	}
	o.memory = &brief
	return o.lookAtEmbedder(ctx, store)
}

// lookAtEmbedder looks whether recall goes by meaning. A server is asked for its model
// and not for a vector, which may cost money.
func (o *Observer) lookAtEmbedder(ctx context.Context, store *memory.Store) error {
	_, o.byWords = workspace.LookByWords(ctx, o.Run, store, func(ctx context.Context, e *workspace.Embedding) (embed.Model, error) { return e.Identify(ctx) })
	return ctx.Err()
}

func (o *Observer) lookAtRuns(ctx context.Context) (err error) {
	o.Runs, err = ListedRuns(ctx, o.Run)
	o.RunsSeen = err == nil
	return err
}

func (o *Observer) lookAtEvents(context.Context) error {
	box, err := outbox.Open(o.OutboxDir())
	if err != nil {
		return err
	}
	waiting, dead, err := box.Count()
	if err == nil {
		o.Events = &metrics.Events{Waiting: waiting, Dead: dead}
	}
	return err
}

// lookAtDisks asks how much is free where stores, archives and data lie, once
// for each file system.
func (o *Observer) lookAtDisks(context.Context) error {
	dirs := []string{o.DataDir()}
	if dir := o.Config.Archive.Dir; dir != "" {
		dirs = append(dirs, workspace.Absolute(dir))
	}
	for _, s := range o.stores {
		if !s.Missing {
			dirs = append(dirs, s.Root)
		}
	}
	limit, err := o.Config.Monitor.Limit()
	if err != nil {
		return workspace.BlameKey(&o.Run.Settings, err)
	}
	var failed error
	seen := map[string]bool{}
	for _, dir := range dirs {
		device := deviceOf(dir)
		if seen[device] {
			continue
		}
		seen[device] = true
		free, err := durable.FreeSpace(dir)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		o.Disks = append(o.Disks, monitor.Disk{Path: dir, Free: int64(min(free, 1<<62)), Limit: limit})
	}
	return failed
}

// deviceOf names the file system of a directory, or of the nearest one above it
// that exists.
func deviceOf(dir string) string {
	existing, info, err := workspace.Nearest(dir)
	if err != nil {
		return dir
	}
	if id := durable.Identify(info); id.Device != 0 {
		return fmt.Sprint(id.Device)
	}
	return filepath.VolumeName(existing)
}

// MainRows are the rows of sessions that a compaction of everything means.
func (o *Observed) MainRows() []*selection.SessionRow {
	var rows []*selection.SessionRow
	meant := map[string]bool{}
	inDatabase := selection.InDatabase(workspace.Inventory{Sessions: o.Sessions})
	for i := range o.Sessions {
		if s := &o.Sessions[i]; selection.Meant(*s, inDatabase) {
			meant[s.Path+"\x00"+s.ID] = true
		}
	}
	for _, row := range o.Rows {
		if meant[row.Path+"\x00"+row.Session] && !row.Unreadable {
			rows = append(rows, row)
		}
	}
	return rows
}

// purges are what runtimes are about to delete of which there is no archive, one
// entry for each agent of a store whose runtime deletes logs.
func (o *Observed) purges() []monitor.Purge {
	if !o.catalogued {
		return nil
	}
	archived := selection.ArchivedStates(slices.Concat(o.Entries, o.withNewer))
	at := map[workspace.Owner]int{}
	var all []monitor.Purge
	for i := range o.Sessions {
		s := &o.Sessions[i]
		if s.Expires.IsZero() {
			continue
		}
		n, known := at[s.Owner()]
		if !known {
			n = len(all)
			at[s.Owner()] = n
			all = append(all, monitor.Purge{Runtime: s.Runtime, Agent: s.Agent, Store: s.Store})
		}
		if s.Bytes == 0 || s.Expires.Sub(o.At) > selection.PurgeWarning || archived[selection.State(*s)] {
			continue
		}
		p := &all[n]
		if p.Sessions++; p.Sessions == 1 || s.Expires.Before(p.Deadline) {
			p.Deadline, p.Session = s.Expires, s.ID
		}
		if s.Expires.After(p.Last) {
			p.Last = s.Expires
		}
	}
	return all
}
