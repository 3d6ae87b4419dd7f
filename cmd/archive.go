package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type archiveOptions struct {
	Agent    string
	All      bool
	Session  string
	Remember bool
	DryRun   bool

	agreed agreedSessions
}

func (o *archiveOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "archive the sessions of this `agent`")
	fs.BoolVar(&o.All, "all", false, "archive the sessions of every agent that is found")
	fs.StringVar(&o.Session, "session", "", "archive only this session (`id` or key)")
	fs.BoolVar(&o.Remember, "remember", false, "put what was said in them into memory too")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
}

func newArchiveCommand(a *app) *cobra.Command {
	var o archiveOptions
	c := &cobra.Command{
		Use:   "archive",
		Short: "Make verified copies of sessions; list, show and verify them",
		Long: `Copy sessions into the archive, byte for byte, and read every copy back. The
sessions are not changed. A session whose bytes are in the archive already is
not copied again.

With --remember the sessions are put into memory too, with a summary, whatever
their size: also those that compact skips or finds too small to cut,
older ones, and logs that the runtime has closed. The next run passes over what
has not changed.
` + exitHelp,
		Example: `  sessctl archive --agent coordinator
  sessctl archive --all
  sessctl archive --all --remember --dry-run
  sessctl archive --all --remember
  sessctl archive list
  sessctl archive show 3f9a2c --lines 120-140
  sessctl archive verify`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Agent == "" && !o.All && o.Session == "" {
				return usageError("or: archive list, archive show, archive verify", "which sessions? --agent, --all or --session is needed")
			}
			return runArchive(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	c.AddCommand(newArchiveListCommand(a), newArchiveShowCommand(a), newArchiveVerifyCommand(a),
		newArchiveRestoreCommand(a), newArchivePruneCommand(a), newArchiveUploadCommand(a), newArchivePullCommand(a))
	return c
}

// archiveDocument is `archive --json`.
type archiveDocument struct {
	Schema   int          `json:"schema"`
	DryRun   bool         `json:"dry_run,omitempty"`
	Archives []archiveRow `json:"archives"`
	Notes    []note       `json:"notes"`

	folds bool // archives that were there are counted and not printed
}

// archiveRow is one archive of `archive` and `archive list`.
type archiveRow struct {
	ID          string `json:"id"`
	Runtime     string `json:"runtime"`
	Agent       string `json:"agent"`
	Session     string `json:"session"`
	Key         string `json:"key"`
	Path        string `json:"path"`
	SHA256      string `json:"sha256"`
	Bytes       int64  `json:"bytes"`
	StoredBytes int64  `json:"stored_bytes"`
	Compression string `json:"compression"`
	CreatedAt   string `json:"created_at"`
	Remote      string `json:"remote"`            // address of the copy on object storage, "" without one
	OffSite     string `json:"off_site"`          // "copy", "only" if the file is not here, or ""
	CheckedAt   string `json:"remote_checked_at"` // when the checksum of that copy was read back last, RFC 3339, "" without one
	RetainUntil string `json:"retain_until"`      // until when the storage keeps that copy, RFC 3339, "" for not at all
	Outcome     string `json:"outcome"`           // archived, planned, busy, failed; "" in lists
	Reason      string `json:"reason"`
	Unchanged   bool   `json:"unchanged,omitempty"`  // it was archived before, and with --remember remembered
	Remembered  bool   `json:"remembered,omitempty"` // memory has it
	Chunks      int    `json:"chunks,omitempty"`     // the same: pieces
	Receipt     string `json:"receipt,omitempty"`    // the same: of this run

	// Others are further databases that the same rows were archived from.
	Others []string `json:"other_sources,omitempty"`
}

func newArchiveRow(e archive.Entry) archiveRow {
	row := archiveRow{
		ID: e.ID, Runtime: e.Runtime, Agent: e.Agent, Session: e.Session, Key: e.Key, Path: e.Path, SHA256: e.SHA256,
		Bytes: e.Bytes, StoredBytes: e.StoredBytes, Compression: e.Compression, CreatedAt: e.CreatedAt.UTC().Format(time.RFC3339),
		OffSite: place(e), Others: e.Others,
	}
	if r := e.Remote; r != nil {
		row.Remote, row.CheckedAt, row.RetainUntil = r.URL, r.CheckedAt.UTC().Format(time.RFC3339), retained(*r)
	}
	return row
}

func runArchive(ctx context.Context, a *app, o archiveOptions) error {
	sessions, err := a.sessionsToArchive(ctx, o)
	if err != nil {
		return err
	}
	if o.DryRun {
		return planArchive(ctx, a, o, sessions)
	}
	w, damaged, err := a.openToArchive(ctx, &o, sessions)
	if err != nil {
		return err
	}
	defer w.close()
	if w.outdated() {
		if sessions, err = a.sessionsToArchive(ctx, o); err != nil {
			return err
		}
	}
	copies, err := a.offSiteCopies()
	if err != nil {
		return err
	}
	if copies != nil {
		w.archives = w.archives.CountingCopies(copies.known)
	}
	keeper, err := newKeeper(ctx, a.invocation, w, o)
	if err != nil {
		return err
	}
	doc := archiveDocument{Schema: 1, Archives: []archiveRow{}, folds: o.All || a.Quiet}
	for i, s := range sessions {
		if s.Bytes == 0 && s.Kind != session.KindDatabase {
			continue
		}
		w.progress.of(i+1, len(sessions))
		w.progress.show(s.Ref, stageRead, 0, 1)
		row := keeper.keep(ctx, s)
		w.progress.clear()
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), renderArchives(a, doc)) // what is done is told
		}
		doc.Archives = append(doc.Archives, row)
	}
	if err := errors.Join(keeper.end(ctx), renderArchives(a, doc)); err != nil {
		return err
	}
	if damaged {
		return &outcomeError{exit: exitIntegrity}
	}
	return archiveOutcome(doc.Archives)
}

// openToArchive opens the workspace. Where the memory is damaged, which it tells,
// sessions are archived all the same and not remembered: a copy is never worse
// than none.
func (a *invocation) openToArchive(ctx context.Context, o *archiveOptions, sessions []found) (w *workspace, damaged bool, err error) {
	m := mode{memory: o.Remember, reason: "archive", recover: &recovery{sessions: sessions, policy: a.recoveryPolicy(), optional: true}}
	w, err = a.openWorkspace(ctx, m)
	if !o.Remember || !errors.Is(err, memory.ErrCorrupt) {
		return w, false, err
	}
	a.tell(note{Path: a.memoryDir(), Message: "sessions are archived and not remembered: " + err.Error(), Hint: adviseRebuild})
	o.Remember, m.memory = false, false
	w, err = a.openWorkspace(ctx, m)
	return w, true, err
}

// sessionsToArchive finds what the options mean.
func (a *invocation) sessionsToArchive(ctx context.Context, o archiveOptions) ([]found, error) {
	all, err := a.findSessions(ctx)
	if err != nil {
		return nil, err
	}
	if all, err = all.of(o.Agent); err != nil {
		return nil, err
	}
	if all.sessions, err = a.withoutArchivedPrompts(ctx, all.sessions); err != nil {
		return nil, err
	}
	if o.Session != "" {
		chosen, err := named(all.sessions, o.Session)
		return o.agreed.of(all.withFamilies(chosen)), err
	}
	return o.agreed.of(all.sessions), nil
}

// archiveOne archives one session. The error is why it could not.
func archiveOne(ctx context.Context, a *invocation, store *archive.Store, s found) (archiveRow, error) {
	if s.Kind == session.KindDatabase {
		row := archiveRow{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID, Path: s.Path, Bytes: s.Bytes, Outcome: "failed", Reason: s.Reason}
		return row, errors.New(s.Reason)
	}
	entry, err := putArchive(ctx, a, store, s)
	row := newArchiveRow(entry)
	row.Outcome = "archived"
	if err != nil {
		row = archiveRow{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID, Key: s.Key, Path: s.Path, Bytes: s.Bytes, Outcome: "failed", Reason: err.Error()}
		if exitCode(err) == exitBusy {
			row.Outcome = "busy"
		}
	}
	return row, err
}

func putArchive(ctx context.Context, a *invocation, store *archive.Store, s found) (archive.Entry, error) {
	if source := s.store.Capabilities().SourceOf(s.Ref); source != nil {
		return putStored(ctx, a, store, s, source)
	}
	if err := keepAttached(ctx, a, store, s); err != nil {
		return archive.Entry{}, err
	}
	var entry archive.Entry
	err := compact.WaitOut(ctx, compact.Policy{}, func() (err error) {
		entry, err = putLog(ctx, a, store, s.Ref, "archive")
		return err
	})
	return entry, err
}

// putLog archives a log as it is. One that is shorter than it was when it was
// listed, or changes while it is copied, is busy. reason is what the copy is
// made for.
func putLog(ctx context.Context, a *invocation, store *archive.Store, ref session.Ref, reason string) (archive.Entry, error) {
	log, err := a.pins.OpenSingle(ref.Store, ref.Path)
	if errors.Is(err, durable.ErrHeld) {
		return archive.Entry{}, &session.BusyError{Path: ref.Path, Reason: "another program has it open"}
	}
	if err != nil {
		return archive.Entry{}, err
	}
	defer log.Close()
	c := logCopy{ref: ref, log: log, archiver: archiver{store: store, now: a.now, reason: reason}}
	entry, err := c.once(ctx)
	if errors.Is(err, session.ErrBusy) || errors.Is(err, errRestless) {
		entry, err = c.twice(ctx)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = &session.BusyError{Path: ref.Path, Reason: "it became shorter while it was archived", Change: session.ChangeShorter}
	}
	return entry, err
}

// putStored archives a session that is not a file, exactly as it was hashed, or
// not at all.
func putStored(ctx context.Context, a *invocation, store *archive.Store, s found, source session.LogSource) (archive.Entry, error) {
	snap, err := compact.SnapshotSource(ctx, source, s.Ref)
	if err != nil {
		return archive.Entry{}, err
	}
	log, err := source.OpenLog(ctx, s.Ref)
	if err != nil {
		return archive.Entry{}, err
	}
	defer log.Close()
	entry, err := archiver{store: store, now: a.now, reason: "archive"}.put(ctx, s.Ref, snap, log)
	if err == nil && entry.SHA256 != snap.SHA256 {
		err = &session.BusyError{Path: s.Path, Reason: "it changed while it was archived"}
	}
	return entry, err
}

func archiveOutcome(rows []archiveRow) error {
	results := make([]compact.Result, 0, len(rows))
	for _, r := range rows {
		results = append(results, compact.Result{Outcome: compact.Outcome(r.Outcome)})
	}
	return outcomeOf(results)
}

func renderArchives(a *app, doc archiveDocument) error {
	doc.Notes = a.notes
	if a.JSON {
		return a.printJSON(doc)
	}
	t := table{empty: "no archives", columns: []column{
		{name: "ID"}, {name: "RUNTIME", drop: 2}, {name: "AGENT", least: 8}, {name: "SESSION", least: 12}, {name: "MADE", drop: 1},
		{name: "SIZE", right: true}, {name: "STORED", right: true, drop: 3}, {name: "OFF-SITE", drop: 5}, {name: "FILE", least: 20, drop: 4},
	}}
	const offSite = 7
	somewhere := slices.ContainsFunc(doc.Archives, func(r archiveRow) bool { return r.OffSite != "" })
	if !somewhere {
		t.columns = slices.Delete(t.columns, offSite, offSite+1)
	}
	rows := make([][]string, 0, len(doc.Archives))
	for _, r := range doc.Archives {
		if doc.folds && r.Unchanged {
			continue
		}
		last := r.Path
		if r.Reason != "" || r.Outcome == string(compact.Planned) {
			last = strings.TrimSuffix(r.Outcome+": "+r.Reason, ": ")
		}
		rows = append(rows, []string{r.ID, visible(r.Agent), visible(r.Session), r.CreatedAt, strconv.FormatInt(r.Bytes, 10), visible(last)})
		cells := []string{r.ID, r.Runtime, r.Agent, r.Session, shownTime(r.CreatedAt), formatBytes(r.Bytes), formatBytes(r.StoredBytes), cmp.Or(r.OffSite, unknownFigure), a.tilde(last)}
		if !somewhere {
			cells = slices.Delete(cells, offSite, offSite+1)
		}
		t.rows = append(t.rows, cells)
	}
	if told := doc.folded(); told != "" {
		a.notice(note{Message: told})
	}
	if len(rows) == 0 {
		if len(doc.Archives) == 0 {
			a.notice(note{Message: "no archives"})
		}
		return nil
	}
	return a.printList(t, rows)
}

func newArchiveListCommand(a *app) *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the archives",
		Example: "  sessctl archive list --agent coordinator",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			store, err := a.openArchive()
			if err != nil {
				return err
			}
			entries, err := store.List(c.Context(), archive.Filter{Agent: agent, Runtime: a.global.Runtime})
			if err == nil && len(entries) == 0 {
				err = a.checkAgent(c.Context(), nil, agent)
			}
			if err != nil {
				return err
			}
			doc := archiveDocument{Schema: 1, Archives: []archiveRow{}}
			for _, e := range entries {
				doc.Archives = append(doc.Archives, newArchiveRow(e))
			}
			return renderArchives(a, doc)
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "only archives of this `agent`")
	return c
}

// parseLines reads "120-140" or "120" as a range of 1-based lines; empty is
// the whole log.
func parseLines(s string) (first, last int, err error) {
	if s == "" {
		return 1, 0, nil
	}
	from, to, ranged := strings.Cut(s, "-")
	if !ranged {
		to = from
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil || first < 1 || last < first {
		return 0, 0, fmt.Errorf("%q is not a range of lines", s)
	}
	return first, last, nil
}

// logCopy is an open log that is being archived.
type logCopy struct {
	archiver
	ref session.Ref
	log *os.File
}

// errRestless is returned when the times of a log cannot tell whether it
// changes while it is copied.
var errRestless = errors.New("its timestamps do not show whether it changes")

// once reads the log once. That its bytes are of one moment is known by its
// times: they are settled before, and the same when the last byte was read.
// What changed meanwhile leaves no archive.
func (c logCopy) once(ctx context.Context) (archive.Entry, error) {
	info, err := c.log.Stat()
	if err != nil {
		return archive.Entry{}, fmt.Errorf("look at the log: %w", err)
	}
	snap := session.Observe(c.ref.Path, info)
	src, ok := snap.Watch(c.log, c.now())
	if !ok || !durable.ChangeTimeTells(c.ref.Path) {
		return archive.Entry{}, errRestless
	}
	if err := c.whole(snap); err != nil {
		return archive.Entry{}, err
	}
	return c.put(ctx, c.ref, snap, src)
}

// twice reads the log twice, for a log that was written a moment ago, or where
// times do not tell: first its bytes are hashed, then they are copied, and the
// copy must have that hash. What is added to the log meanwhile does not matter.
func (c logCopy) twice(ctx context.Context) (archive.Entry, error) {
	snap, err := session.TakeSnapshot(ctx, c.log, c.ref.Path)
	if err != nil {
		return archive.Entry{}, err
	}
	if err := c.whole(snap); err != nil {
		return archive.Entry{}, err
	}
	entry, err := c.put(ctx, c.ref, snap, io.NewSectionReader(c.log, 0, snap.Size))
	if err == nil && entry.SHA256 != snap.SHA256 {
		err = &session.BusyError{Path: c.ref.Path, Reason: "it changed while it was archived"}
	}
	return entry, err
}

// whole says whether the log is at least as long as when it was listed.
func (c logCopy) whole(snap session.Snapshot) error {
	if snap.Size < c.ref.Bytes {
		return &session.BusyError{Path: c.ref.Path, Reason: "it has become shorter: it may be being rewritten", Change: session.ChangeShorter}
	}
	return nil
}
