package cmd

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

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/metrics"
	"github.com/sessctl/sessctl/pkg/operate/monitor"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
	"github.com/sessctl/sessctl/pkg/session"
)

// observed is what one look has found: the monitor and the metrics are made of
// it. Nothing is changed and nothing is locked for it. What could not be looked at is
// nil, or its flag is not set, and stands in failures.
type observed struct {
	at       time.Time
	limit    int64         // tokens, at which a session is due
	sessions []found       // all that the stores have
	rows     []*sessionRow // of those that an agent may still be using
	stores   []monitor.Store
	unread   []monitor.Unreadable
	whole    bool // every store was listed

	allReceipts  []compact.Receipt
	entries      []archive.Entry
	catalogued   bool // the entries are all there are
	damaged      []monitor.DamagedArchive
	archivesSeen bool

	memory     *memory.Brief // nil also where there is none
	memoryless bool          // there is none
	runs       []operate.RunRecord
	runsSeen   bool
	disks      []monitor.Disk
	events     *metrics.Events

	failures []note
}

// observer makes a look. It is an app of its own: what it finds out about stores
// and logs is of one moment.
type observer struct {
	*invocation
	observed
	lookOptions
}

type lookOptions struct {
	threshold      int64
	thresholdAsked bool                          // as a flag: no runtime has a rule of its own then
	earlier        map[string]monitor.KnownStore // stores of earlier looks
}

// observe looks at everything. Only a context that ended is an error, and that
// there is no store, after the rest was looked at.
func (a *app) observe(ctx context.Context, options lookOptions) (observed, error) {
	o := a.newObserver(options)
	defer o.closeStores()
	err := o.look(ctx)
	return o.observed, err
}

// newObserver makes an observer. The caller closes its stores.
func (a *invocation) newObserver(options lookOptions) *observer {
	o := &observer{invocation: a.apart(), lookOptions: options}
	o.at, o.limit = stamp(a.now()), options.threshold
	return o
}

// look is observe for a caller that reads logs of the stores afterwards.
func (o *observer) look(ctx context.Context) error {
	storesErr := o.lookAtStores(ctx)
	if f := (*failure)(nil); storesErr != nil && !(errors.As(storesErr, &f) && f.code == "no_store") {
		return storesErr
	}
	for _, step := range []struct {
		what string
		look func(context.Context) error
	}{
		{o.catalogueDir(), o.lookAtArchives}, {o.memoryDir(), o.lookAtMemory}, {o.runsDir(), o.lookAtRuns}, {o.outboxDir(), o.lookAtEvents}, {o.dataDir(), o.lookAtDisks},
	} {
		if err := step.look(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			o.failures = append(o.failures, note{Path: step.what, Message: "cannot be looked at: " + err.Error(), Hint: "sessctl doctor says more"})
		}
	}
	return storesErr
}

// lookAtStores lists the stores and measures their sessions.
func (o *observer) lookAtStores(ctx context.Context) error {
	o.leaveOutMissing()
	o.openTailCache(true)
	all, notices, err := o.listStores(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var f *failure
	switch {
	case err == nil:
	case errors.As(err, &f) && f.code == "no_store":
		if len(o.earlier) == 0 {
			return err
		}
	default: // there is one store, and it cannot be listed
		o.unread = append(o.unread, monitor.Unreadable{Path: o.opened[0].Root(), Message: err.Error()})
	}
	o.whole = err == nil && o.incomplete == 0
	o.sessions = all.sessions
	o.noteStores()
	for _, n := range notices {
		if n.Unread {
			o.unread = append(o.unread, monitor.Unreadable{Path: n.Path, Message: n.Message})
		}
	}
	return o.measureUsed(ctx, all)
}

// leaveOutMissing leaves stores out that --store names and that are not there:
// the others are looked at all the same.
func (o *observer) leaveOutMissing() {
	o.global.Stores = slices.DeleteFunc(o.global.Stores, func(named string) bool {
		runtime, path, ok := strings.Cut(named, "=")
		if !ok || hasNoDirectory(runtime) {
			return false
		}
		_, err := os.Stat(path)
		return errors.Is(err, fs.ErrNotExist) && o.earlier[absolute(path)].Runtime == runtime
	})
}

// hasNoDirectory reports a runtime whose roots are no directories. They may hold
// passwords.
func hasNoDirectory(runtime string) bool {
	return slices.ContainsFunc(runtimes(), func(k runtimeKind) bool { return k.remote && k.name == runtime })
}

// noteStores notes which stores are there, and which of earlier looks are not.
func (o *observer) noteStores() {
	there := map[string]bool{}
	for _, s := range o.opened {
		if !hasNoDirectory(s.Runtime()) {
			there[s.Root()] = true
			o.stores = append(o.stores, monitor.Store{Runtime: s.Runtime(), Root: s.Root()})
		}
	}
	narrowed := len(o.global.Stores) > 0 || o.global.Runtime != ""
	for root, known := range o.earlier {
		if there[root] {
			continue
		}
		_, err := os.Stat(root)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !narrowed {
			o.stores = append(o.stores, monitor.Store{Runtime: known.Runtime, Root: root, Missing: true})
		}
	}
}

// measureUsed measures the sessions that agents may still be using.
func (o *observer) measureUsed(ctx context.Context, all inventory) error {
	used := slices.DeleteFunc(slices.Clone(all.sessions), func(s found) bool { return !shown(s.Kind) })
	options := compactOptions{
		All: true, Threshold: o.threshold, thresholdAsked: o.thresholdAsked, Strategy: o.config.Compaction.Strategy,
		Quiet: o.config.Compaction.Quiet, Gateway: o.config.Compaction.Gateway, KeepRecentTokens: o.config.Compaction.Keep,
	}
	m := measurer{invocation: o.invocation, policy: options.policy(o.invocation), inDatabase: all.inDatabase()}
	rows, err := m.rows(ctx, used)
	if err != nil {
		return err
	}
	o.rows = rows
	for _, row := range rows {
		if row.unread != nil && !errors.Is(row.unread, session.ErrUnknownFormat) && !errors.Is(row.unread, fs.ErrNotExist) {
			o.unread = append(o.unread, monitor.Unreadable{Path: row.Path, Message: row.unread.Error()})
		}
	}
	o.saveTailCache()
	return nil
}

// lookAtArchives holds receipts, catalogue and files against each other; archives
// are not read. While another sessctl is at work what does not fit may be on its
// way.
func (o *observer) lookAtArchives(ctx context.Context) error {
	before := o.atWork()
	audit, err := o.newReceiptAudit(ctx)
	if err != nil {
		return err
	}
	o.catalogued, o.allReceipts = true, audit.receipts
	audit.againstCatalogue(ctx)
	for _, e := range audit.archives {
		o.entries = append(o.entries, e)
		if err := audit.copies.Look(e); err != nil {
			o.damaged = append(o.damaged, monitor.DamagedArchive{ID: e.ID, Path: e.Path, Message: err.Error()})
		}
	}
	for _, p := range audit.found {
		o.damaged = append(o.damaged, monitor.DamagedArchive{ID: p.ID, Path: p.Path, Message: p.about()})
	}
	for _, d := range audit.damaged {
		o.damaged = append(o.damaged, monitor.DamagedArchive{Path: d.Path, Message: d.Err.Error()})
	}
	if checks, err := o.recordedChecks(); err != nil {
		o.damaged = append(o.damaged, monitor.DamagedArchive{Path: o.checksPath(), Message: err.Error()})
	} else if bad, found := unsettled(checks); found && len(audit.archives) > 0 { // nothing here reads the bytes
		o.damaged = append(o.damaged, monitor.DamagedArchive{Path: o.checksPath(), Message: aboutCheck(bad)})
	}
	if len(o.damaged) > 0 && (before || o.atWork()) {
		o.damaged = nil // the next look sees what is left of it
		return nil
	}
	o.archivesSeen = true
	return nil
}

func (o *observer) lookAtMemory(ctx context.Context) error {
	store, err := o.glimpseMemory(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		o.memoryless = true
		return nil
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
	return nil
}

func (o *observer) lookAtRuns(ctx context.Context) (err error) {
	o.runs, err = o.listedRuns(ctx)
	o.runsSeen = err == nil
	return err
}

func (o *observer) lookAtEvents(context.Context) error {
	box, err := outbox.Open(o.outboxDir())
	if err != nil {
		return err
	}
	waiting, dead, err := box.Count()
	if err == nil {
		o.events = &metrics.Events{Waiting: waiting, Dead: dead}
	}
	return err
}

// lookAtDisks asks how much is free where stores, archives and data lie, once
// for each file system.
func (o *observer) lookAtDisks(context.Context) error {
	dirs := []string{o.dataDir()}
	if dir := o.config.Archive.Dir; dir != "" {
		dirs = append(dirs, absolute(dir))
	}
	for _, s := range o.stores {
		if !s.Missing {
			dirs = append(dirs, s.Root)
		}
	}
	limit, err := o.config.Monitor.diskLimit()
	if err != nil {
		return o.blameKey(err)
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
		o.disks = append(o.disks, monitor.Disk{Path: dir, Free: int64(min(free, 1<<62)), Limit: limit})
	}
	return failed
}

// deviceOf names the file system of a directory, or of the nearest one above it
// that exists.
func deviceOf(dir string) string {
	existing, info, err := nearest(dir)
	if err != nil {
		return dir
	}
	if id := durable.Identify(info); id.Device != 0 {
		return fmt.Sprint(id.Device)
	}
	return filepath.VolumeName(existing)
}

// mainRows are the rows of sessions that a compaction of everything means.
func (o *observed) mainRows() []*sessionRow {
	var rows []*sessionRow
	meant := map[string]bool{}
	inDatabase := inventory{sessions: o.sessions}.inDatabase()
	for i := range o.sessions {
		if s := &o.sessions[i]; s.meant(inDatabase) {
			meant[s.Path+"\x00"+s.ID] = true
		}
	}
	for _, row := range o.rows {
		if meant[row.Path+"\x00"+row.Session] && !row.Unreadable {
			rows = append(rows, row)
		}
	}
	return rows
}

// purges are what runtimes are about to delete of which there is no archive, one
// entry for each agent of a store whose runtime deletes logs.
func (o *observed) purges() []monitor.Purge {
	if !o.catalogued {
		return nil
	}
	archived := archivedStates(o.entries)
	at := map[owner]int{}
	var all []monitor.Purge
	for i := range o.sessions {
		s := &o.sessions[i]
		if s.Expires.IsZero() {
			continue
		}
		n, known := at[s.owner()]
		if !known {
			n = len(all)
			at[s.owner()] = n
			all = append(all, monitor.Purge{Runtime: s.Runtime, Agent: s.Agent, Store: s.Store})
		}
		if s.Bytes == 0 || s.Expires.Sub(o.at) > purgeWarning || archived[s.state()] {
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
