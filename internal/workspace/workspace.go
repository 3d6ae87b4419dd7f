package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/ledger/heads"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/session"
)

// NamedBy says how many receipts tell that there was a memory.
func NamedBy(receipts int) string {
	if receipts == 1 {
		return "1 receipt names what it held"
	}
	return wording.Plural(receipts, "receipt") + " name what it held"
}

// AdviseRebuild is what mends a memory that lacks something.
const AdviseRebuild = "sessctl memory reindex --from-archives makes memory again from the archives that verify"

// OthersOf are the archives that a receipt names beside that of its log, each with
// what it is of.
func OthersOf(r compact.Receipt) iter.Seq2[string, compact.Archived] {
	return func(yield func(string, compact.Archived) bool) {
		if r.Late != nil && !yield("late lines", *r.Late) {
			return
		}
		if r.Undo != nil && r.Undo.Newer != nil {
			yield("what was said after the compaction", *r.Undo.Newer)
		}
	}
}

// The wiring of a compaction, drawn once:
//
//	session.Store ──> compact.Compactor ──> archiver  ──> archive.Store   <data>/archives, archive dir
//	                        │           ├──> MemoryAdapter ──> memory.Store    <data>/memory
//	                        │           ├──> embedder  ──> embed.Builtin, Ollama or OpenAI + memory.Store
//	                        │           └──> summarizer ─> summarize.Extractive, or Written by a model (summarizer.go)
//	                        ├──> Journal  <data>/journal
//	                        └──> Receipts <data>/receipts

// Workspace is what a command holds open that changes sessions or archives, or
// that plans such a change.
type Workspace struct {
	lock *DataLock // nil in a dry run
	// endHistory enters in the ledger what waits; nil in a dry run.
	endHistory func()
	pins       *durable.Pins // held until the workspace is closed
	Memory     *memory.Store // nil where the mode does not open it, and with NoMemory
	NoMemory   error         // why memory could not be opened, where the mode goes on without; it was told
	Archives   *archive.Store
	Compactor  *compact.Compactor
	Progress   *Progress
	Lengths    func() (map[string]int64, error) // see archivedLengths
	recovered  int                              // changes of earlier runs that were looked after
	Unchanged  []compact.Result                 // of what memory had already, see RememberOnce
	proven     map[string]bool                  // ids of archives, see namedByReceipts; nil before that was asked
}

// Outdated reports whether what was listed before the workspace was opened may
// be different now: something was recovered, or another sessctl was waited for.
func (w *Workspace) Outdated() bool {
	return w.recovered > 0 || w.lock != nil && w.lock.waited
}

// Mode says how a command opens the workspace. Unless it is a dry run, the data
// directory is locked until the workspace is closed.
type Mode struct {
	// dryRun locks nothing, opens no memory and recovers nothing, whatever the
	// other fields say: the compactor only makes plans.
	DryRun bool
	// memory opens memory. Without it memory is opened only if there is something
	// to recover, so that a damaged memory is no reason not to archive a session
	// or to put one back.
	Memory bool
	// Spare says that a memory that cannot be opened, whatever the reason, stops
	// nothing: it is told, sessions are archived, and the compactor changes none.
	Spare bool
	// Rebuild says that the command makes a lost memory again: it is not told.
	Rebuild bool
	// Recover finishes what earlier runs began before the command does anything
	// itself; nil leaves that to a later run.
	Recover *Recovery
	// Reason is what archives are made for: "compact", "undo", "archive",
	// "restore" or "clean".
	Reason string
	// Summaries makes the summarizer of a session; nil for extractive summaries.
	Summaries func(compact.SummaryOrder) compact.Summarizer
	// Undoing is the id of the receipt that the command undoes, or "": recovery
	// leaves its old log to the undo.
	Undoing string
}

// Recovery says how the unfinished work of earlier runs is completed.
type Recovery struct {
	Sessions []Found // among whose archives a killed run may have left something
	Policy   compact.Policy
	// Optional is for commands that do no harm before an earlier run is finished:
	// a memory that cannot be opened is told, and they go on.
	Optional bool
}

// errUnrecovered is returned when an earlier run cannot be finished because
// memory cannot be opened.
var errUnrecovered = errors.New("an earlier run cannot be finished")

// Open opens everything that a command works with, in the order lock,
// memory, archive and embedder, and then recovers what earlier runs left
// unfinished. Another sessctl on the same data directory is durable.ErrLocked.
func Open(ctx context.Context, run *Run, m Mode) (*Workspace, error) {
	if m.DryRun {
		m.Memory, m.Recover = false, nil
	}
	w := &Workspace{Progress: NewProgress(run), pins: run.Pins}
	run.Pin()
	if err := w.open(ctx, run, m); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *Workspace) open(ctx context.Context, run *Run, m Mode) (err error) {
	if !m.DryRun {
		if w.lock, err = run.Lock(ctx); err != nil {
			return err
		}
		if m.Recover == nil {
			sweepOwn(run)
		}
		w.endHistory = func() { EndHistory(run) }
		beginReceipts(run)
	}
	err = w.OpenMemory(ctx, run, m)
	if errors.Is(err, errUnrecovered) && m.Recover.Optional {
		run.Notice(Note{Path: run.MemoryDir(), Message: err.Error(), Hint: "sessctl doctor says more"})
		m.Recover, err = nil, nil
	}
	if err != nil {
		return err
	}
	if err := w.Assemble(run, m); err != nil || m.Recover == nil || w.NoMemory != nil {
		return err
	}
	err = w.recover(ctx, run, *m.Recover)
	if err != nil && m.Spare && ctx.Err() == nil {
		run.PassOverBroken(run.JournalDir(), unfinished, err)
		err = nil
	}
	return err
}

// OpenMemory opens memory if the mode asks for it, or if recovery will need it.
func (w *Workspace) OpenMemory(ctx context.Context, run *Run, m Mode) (err error) {
	if m.Memory {
		err = w.openMemory(ctx, run, m)
		if err == nil || !m.Spare || ctx.Err() != nil {
			return err
		}
		w.NoMemory = err
		run.TellNoMemory(unremembered, err)
		return nil
	}
	if m.Recover == nil {
		return nil
	}
	begun, err := run.Journal().List()
	if err != nil && m.Spare {
		run.PassOverBroken(run.JournalDir(), unfinished, err)
		return nil
	}
	if err != nil || len(begun) == 0 {
		return err
	}
	if err := w.openMemory(ctx, run, m); err != nil {
		return fmt.Errorf("%w: %w", errUnrecovered, err)
	}
	return nil
}

// openMemory opens memory. That a new one takes the place of one that is lost is
// told: the run is incomplete, for what only archives have is not in the new one.
func (w *Workspace) openMemory(ctx context.Context, run *Run, m Mode) (err error) {
	lost := 0
	if !m.Rebuild {
		if lost, err = run.Lost(ctx, run); err != nil {
			return err
		}
	}
	if w.Memory, err = ChangeMemory(ctx, run, m.Rebuild); err != nil {
		return fmt.Errorf("open memory: %w", err)
	}
	if lost > 0 {
		run.PassOver(Note{Path: run.MemoryDir(), Message: "the memory is lost (" + NamedBy(lost) + ") and a new one is begun; " + AdviseRebuild})
	}
	return nil
}

// ForetellLostMemory is tellLostMemory for a dry run.
func ForetellLostMemory(ctx context.Context, run *Run) error {
	lost, err := run.Lost(ctx, run)
	if err == nil && lost > 0 {
		run.PassOver(Note{Path: run.MemoryDir(), Message: "the memory is lost (" + NamedBy(lost) + "): a run would begin a new one; " + AdviseRebuild})
	}
	return err
}

// GlimpseMemory opens the memory for a dry run: without SQLite's files beside
// it, which would be made and removed. If another run is under way, or a killed
// one has left changes beside it, it is read in the usual way.
func GlimpseMemory(ctx context.Context, run *Run) (*memory.Store, error) {
	if !AtWork(&run.Settings) {
		store, err := memory.Open(ctx, run.MemoryDir(), memory.Options{NoTrace: true})
		if !errors.Is(err, memory.ErrInUse) {
			return store, err
		}
	}
	return memory.Open(ctx, run.MemoryDir(), memory.Options{ReadOnly: true, Pins: run.Pins})
}

// ChangeMemory opens the memory to change it, and finishes what a forget that was
// cut off has left.
// rebuild says that one that is made is going to be filled from the archives.
func ChangeMemory(ctx context.Context, run *Run, rebuild bool) (*memory.Store, error) {
	store, err := memory.Open(ctx, run.MemoryDir(), memory.Options{Rebuild: rebuild, Pins: run.Pins})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(RepairForgotten(ctx, run, store), repairOwnWords(ctx, run, store), TellUnwiped(run, store.Wipe(ctx))); err != nil {
		_ = store.Close() // the error says more
		return nil, err
	}
	return store, nil
}

// tellWordsAnew tells that a run has mended the index of words.
func tellWordsAnew(run *Run) {
	run.Notice(Note{Path: run.MemoryDir(), Message: "the index of words was not what was written, as on a disk that fails; it was rebuilt from the texts, and nothing is lost"})
}

// RepairForgotten looks after the files of what was forgotten, and tells what it
// found.
func RepairForgotten(ctx context.Context, run *Run, store *memory.Store) error {
	restored, lost, err := store.RepairForgotten(ctx)
	if restored > 0 {
		run.Notice(Note{Path: memory.ForgottenDir(run.MemoryDir()), Message: fmt.Sprintf("the record of what was forgotten was missing or damaged: it is written again from the memory (%s)", wording.Plural(restored, "record"))})
	}
	for _, l := range lost {
		run.Notice(Note{Path: l.Path, Message: l.Message() + "; what was forgotten may come back", Hint: AdviseForgotten})
	}
	return err
}

// repairOwnWords looks after the files of what agents stored, and tells what it
// found.
func repairOwnWords(ctx context.Context, run *Run, store *memory.Store) error {
	done, err := store.RepairOwnWords(ctx)
	dir := memory.StoredDir(run.MemoryDir())
	if done.Stored > 0 {
		run.Notice(Note{Path: dir, Message: "what agents stored is in the memory again: " + wording.Plural(done.Stored, "record")})
	}
	if done.Written > 0 {
		run.Notice(Note{Path: dir, Message: "what agents stored was missing here or damaged: " + wording.Plural(done.Written, "file") + " written again from the memory"})
	}
	for _, path := range done.Lost {
		run.Notice(Note{Path: path, Message: "what an agent stored is damaged, and the memory does not have it either; the file is kept as .damaged", Hint: "put the file back from a backup"})
	}
	return err
}

// AdviseForgotten is what to do about a lost record of what was forgotten.
const AdviseForgotten = "put the file back from a backup; or give it up with sessctl memory reindex --from-archives --allow-forgotten"

// LoseMemory notes that memory fails, so that sessions are only archived from here on,
// and tells that once. It is false for an error that is of one session only.
func (w *Workspace) LoseMemory(run *Run, err error) bool {
	if errors.Is(err, ErrNoMemory) {
		return true
	}
	if !database.Refuses(err) {
		return false
	}
	w.NoMemory, w.Compactor.Rememberer = err, MemoryAdapter{}
	run.TellNoMemory(unremembered, err)
	return true
}

// Ends is the end of a command that has gone on without memory: exit code 4 where it
// is damaged, else 3, unless no session was archived.
func (w *Workspace) Ends(err error, done ...compact.Result) error {
	archived := slices.ContainsFunc(done, func(r compact.Result) bool { return r.Archive != nil })
	var told *failure.Outcome
	switch {
	case w.NoMemory == nil, err != nil && !errors.As(err, &told):
		return err
	case errors.Is(w.NoMemory, memory.ErrCorrupt):
		return &failure.Outcome{Exit: failure.ExitIntegrity}
	case told != nil && told.Exit == failure.ExitFailed && !archived:
		return err
	}
	return &failure.Outcome{Exit: failure.ExitPartly}
}

// TellUnwiped tells that traces of what was forgotten are left. Any other error
// is passed on.
func TellUnwiped(run *Run, err error) error {
	if !errors.Is(err, memory.ErrUnwiped) {
		return err
	}
	run.Notice(Note{Path: run.MemoryDir(), Message: err.Error(), Hint: "the next run tries again; or sessctl doctor --fix"})
	return nil
}

// Assemble makes the compactor of what is open.
func (w *Workspace) Assemble(run *Run, m Mode) (err error) {
	if w.Archives, err = run.OpenArchive(); err != nil {
		return err
	}
	embedding, err := OpenEmbedder(&run.Settings)
	if err != nil {
		return err
	}
	if m.Summaries == nil {
		m.Summaries = offlineSummarizer("")
	}
	w.Lengths = sync.OnceValues(func() (map[string]int64, error) { return archivedLengths(run) })
	w.Compactor = &compact.Compactor{
		Archiver:   Archiver{Store: w.Archives, Lasting: Lasting(run, w.Archives), Now: run.Now, Reason: m.Reason, Name: Naming(run)},
		Rememberer: MemoryAdapter{Store: w.Memory, Archives: w.Archives, Lengths: w.Lengths, builtin: embedding.builtin(), wordsAnew: func() { tellWordsAnew(run) }},
		Embedder:   Embedder{app: run, Store: w.Memory, embedding: embedding},
		Withdrawer: MemoryAdapter{Store: w.Memory},
		Summarizer: m.Summaries,
		Journal:    run.Journal(),
		Receipts:   run.Receipts(),
		Version:    run.Version,
		NewID:      func() string { return ulid.Make().String() },
		Now:        run.Now,
		Progress:   w.Progress.Show,
		Undoing:    m.Undoing,
		Late:       func(old session.Rotation, l compact.LateProof) { tellLate(run, old, l) },
		Deleted:    func(path string, since time.Time) ([]compact.Archived, error) { return deletedLogs(run, path, since) },
	}
	return nil
}

// recover is the first thing that a state-changing command does under the lock:
// it removes what killed runs left half-written and finishes the changes that
// they began.
func (w *Workspace) recover(ctx context.Context, run *Run, r Recovery) error {
	w.Sweep(ctx, run, r.Sessions)
	stores, err := run.OpenStores()
	if err != nil {
		return err
	}
	w.recovered, err = w.Compactor.Settle(ctx, run.StoresByRoot(stores), r.Policy)
	var unfinished *compact.UnfinishedError
	if errors.As(err, &unfinished) {
		tellUnfinished(run, unfinished)
		return nil
	}
	if err != nil {
		return fmt.Errorf("finish an earlier run: %w", err)
	}
	return nil
}

// tellUnfinished says once what of earlier runs could not be finished; the
// command goes on with everything else, and ends with exit code 3.
func tellUnfinished(run *Run, e *compact.UnfinishedError) {
	for _, u := range e.Entries {
		if u.Known {
			continue // an earlier run has said so; doctor does, whenever it is asked
		}
		run.PassOver(Note{Path: u.Path, Message: "an earlier run cannot be finished and is set aside: " + u.Reason, Hint: "sessctl doctor says what can be done about it"})
	}
}

// Journal is where changes stand before they are made.
func (run *Run) Journal() compact.Journal {
	return compact.Journal{Dir: run.JournalDir(), Moves: run.Moves(), Pins: run.Pins}
}

// RecoveryPolicy is that of commands that finish earlier runs and change no
// session themselves.
func (run *Run) RecoveryPolicy() compact.Policy {
	return compact.Policy{Quiet: compact.DefaultQuiet, LongestTurn: run.Config.Compaction.LongestTurn, OutputLimit: run.OutputLimit(), Pins: run.Pins}
}

// QuietWhere is the quiet period of a command for the sessions that it names, and
// the configured one for all others.
func QuietWhere(a *Settings, quiet time.Duration, named func(session.Rotation) bool) func(session.Rotation) time.Duration {
	return func(r session.Rotation) time.Duration {
		if named(r) {
			return quiet
		}
		return a.Config.Compaction.Quiet
	}
}

// RecoveryOf is the recovery of a command that names one session, with its quiet
// period.
func RecoveryOf(run *Run, of session.Ref, quiet time.Duration) *Recovery {
	policy := run.RecoveryPolicy()
	policy.QuietOf = QuietWhere(&run.Settings, quiet, func(r session.Rotation) bool {
		return r.Runtime == of.Runtime && r.Agent == of.Agent && r.Session == of.ID
	})
	return &Recovery{Sessions: []Found{{Ref: of}}, Policy: policy}
}

// OutputLimit is memory.output_limit as a policy has it.
func (s *Settings) OutputLimit() int64 {
	if s.Config.Memory.OutputLimit <= 0 {
		return -1
	}
	return s.Config.Memory.OutputLimit
}

// Sweep removes what killed runs left half-written in our own directories and
// in the archives of these sessions. The lock makes it safe.
func (w *Workspace) Sweep(ctx context.Context, run *Run, sessions []Found) {
	catalogued := sweepOwn(run)
	swept, seen := map[string]bool{}, map[[3]string]bool{}
	for _, s := range sessions {
		if !catalogued {
			return // nobody can tell what is left over
		}
		beside := [3]string{s.Runtime, s.Agent, filepath.Dir(s.Path)} // these have one place
		if seen[beside] {
			continue
		}
		seen[beside] = true
		meta := ArchiveMeta(s.Ref)
		if place := filepath.Join(run.ArchiveDir(meta), s.Agent); !swept[place] {
			swept[place] = true
			if err := w.Archives.SweepArchives(ctx, meta, 0); err != nil && !cannotBeWritten(run.ArchiveDir(meta), err) {
				run.Notice(Note{Path: place, Message: err.Error()})
			}
		}
	}
}

// EndMoves lets stores see the logs that a killed run was moving when it died.
// Where another sessctl is at work it does nothing: that one moves them.
func (run *Run) EndMoves(ctx context.Context, dryRun bool) error {
	journal := run.Journal()
	if begun, err := journal.List(); dryRun || err == nil && len(begun) == 0 {
		return nil
	}
	lock, err := run.Lock(ctx)
	if errors.Is(err, durable.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := journal.EndMoves(); err != nil {
		run.PassOverBroken(run.JournalDir(), unfinished, err) // what is to be changed needs the journal, and says so
	}
	return nil
}

// Close gives back what is open, and the lock.
func (w *Workspace) Close() {
	w.Progress.Clear()
	if w.Memory != nil {
		_ = w.Memory.Close() // every commit was synced
	}
	if w.endHistory != nil {
		w.endHistory()
	}
	if w.lock != nil {
		w.lock.Unlock()
	}
	w.pins.Release()
}

// Pin begins to hold directories open. Those of our own may be links to other
// disks, each of them: what is in them is not looked for through further links.
func (run *Run) Pin() {
	run.Pins.Hold()
	further := []string{filepath.Join(run.DataDir(), "archive"), filepath.Join(run.DataDir(), "trash"), run.Journal().GivenUp().Dir, run.RunsDir(), run.OutboxDir(), run.HooksDir()}
	for _, dir := range append(run.OwnDirs(), further...) {
		run.Pins.Top(dir)
	}
}

// OwnDirs lists the directories of our own in which a killed run may have left
// something, but for those of archives.
func (s *Settings) OwnDirs() []string { return append(s.recordDirs(), s.memoryDirs()...) }

// recordDirs are those of what was done and is to be done.
func (s *Settings) recordDirs() []string {
	return []string{s.DataDir(), s.JournalDir(), s.ReceiptsDir(), s.FactsReceiptsDir(), s.CatalogueDir(), s.outgoingDir(), s.PagesDir(), s.ShrinkDir(), s.LedgerDir(), s.archiveTrashDir()}
}

// memoryDirs are those of memory.
func (s *Settings) memoryDirs() []string {
	of := s.MemoryDir()
	return []string{of, memory.ForgottenDir(of), memory.KeptDir(of), memory.StoredDir(of)}
}

// Receipts are the receipts of the data directory.
func (run *Run) Receipts() compact.Receipts {
	return compact.Receipts{Dir: run.ReceiptsDir(), Moves: run.Moves(), Pins: run.Pins, Written: func(r compact.Receipt) { witnessReceipt(run, r) }}
}

// Exists reports whether there is something at a path, or may be.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil || !os.IsNotExist(err)
}

// OpenArchive opens the archive; nothing is made until something is put in.
func (run *Run) OpenArchive() (*archive.Store, error) {
	o := archive.Options{
		Dir: run.ArchiveDir, Compression: run.Config.Archive.Compression, ToolVersion: run.Version, Moves: run.Moves(), Find: func(e archive.Entry) string { return findArchive(run, e) }, Pins: run.Pins,
		Entered:    func(e archive.Entry) { noteFact(run, madeLeaf(ledger.Made, e)) },
		Superseded: func(e, by archive.Entry) { noteFact(run, supersededLeaf(e, by)) },
	}
	if run.Config.Archive.Remote != "" {
		o.Fetch = func(ctx context.Context, e archive.Entry) (*os.File, error) { return fetchArchive(ctx, run, e) }
	}
	switch o.Compression {
	case compressionAuto:
		o.Compression, o.Plain = archive.CompressionZstd, run.storedPlain
	case archive.CompressionNone, archive.CompressionZstd:
	default:
		return nil, failure.Usage("compressions: auto, none, zstd", "unknown compression %q (archive.compression)", o.Compression)
	}
	return archive.Open(run.CatalogueDir(), o)
}

// storedPlain reports the sessions whose archives are not compressed unless that
// is asked for: those in a place that is the runtime's as well, where other
// programs read them, and those of logs that are compressed already.
func (s *Settings) storedPlain(m archive.Meta) bool {
	return strings.HasSuffix(strings.ToLower(m.Source), ".zst") || s.Config.Archive.Dir == "" && ownArchiveDir(m) != ""
}

// ownArchiveDir is the place that the runtime's own layout has for archives of a
// session, "" without one.
func ownArchiveDir(m archive.Meta) string {
	own := TraitsOf(m.Runtime).ArchiveDir
	if own == nil {
		return ""
	}
	return own(m.Source)
}

// ArchiveDir is where a session's copies go: archive.dir if it is set, else the
// place that the runtime's own layout has for them, else under the data
// directory.
func (s *Settings) ArchiveDir(m archive.Meta) string {
	if s.Config.Archive.Dir != "" {
		return filepath.Join(Absolute(s.Config.Archive.Dir), m.Runtime)
	}
	if dir := ownArchiveDir(m); dir != "" {
		return dir
	}
	return filepath.Join(s.DataDir(), "archive", m.Runtime)
}

// Archiver is a compact.Archiver over an archive.Store.
type Archiver struct {
	Store   *archive.Store
	Lasting *archive.Store // without the cache, see app.lasting; nil where nothing is deleted
	Now     func() time.Time
	Reason  string // why: "compact" or "archive"
	// Name says what a session is called, see [Naming]; nil: what its reference says.
	Name func(ctx context.Context, ref session.Ref) session.Name
}

// PutEntry archives a session from an open log. Where its hash is known, and there is
// an archive of such bytes, src is not read.
func (r Archiver) PutEntry(ctx context.Context, ref session.Ref, snap session.Snapshot, src io.Reader) (archive.Entry, error) {
	meta := ArchiveMeta(ref)
	meta.SourceModTime, meta.Reason = snap.ModTime, r.Reason
	if r.Name != nil {
		name := r.Name(ctx, ref)
		meta.Title, meta.Project = name.Title, name.Project
	}
	if !ref.Kind.InFile() && meta.SourceModTime.IsZero() {
		meta.SourceModTime = ref.ModTime // by its runtime: it is no file
	}
	var err error
	e, there := archive.Entry{}, false
	if snap.SHA256 != "" {
		e, there, err = r.Store.Existing(ctx, meta, snap.SHA256)
	}
	if !there && err == nil {
		e, err = r.Store.Put(ctx, meta, src, snap.Size, r.Now())
	}
	if err == nil && ref.Kind == session.KindStored {
		e, err = r.Store.NoteSource(ctx, e, ref.Path)
	}
	return e, err
}

// ArchiveMeta is what an archive knows of its session.
func ArchiveMeta(ref session.Ref) archive.Meta {
	return archive.Meta{Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID, Key: ref.Key, Source: ref.Path, Kind: string(ref.Kind), Title: ref.Title, Project: ref.Project}
}

// Put implements compact.Archiver.
func (r Archiver) Put(ctx context.Context, ref session.Ref, snap session.Snapshot, src io.Reader) (compact.Archived, error) {
	e, err := r.PutEntry(ctx, ref, snap, src)
	return ArchivedOf(e), err
}

// ArchivedOf is an entry of the catalogue as a compaction names it.
func ArchivedOf(e archive.Entry) compact.Archived {
	return compact.Archived{ID: e.ID, Path: e.Path, SHA256: e.SHA256, Bytes: e.Bytes}
}

// Open implements compact.Archiver.
func (r Archiver) Open(ctx context.Context, a compact.Archived) (io.ReadCloser, error) {
	e, err := r.Store.Get(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	return r.Store.OpenEntry(ctx, e)
}

// Lasts implements compact.Archiver.
func (r Archiver) Lasts(ctx context.Context, a compact.Archived) error {
	e, err := r.Store.Get(ctx, a.ID)
	if err != nil {
		return err
	}
	return r.Lasting.Verify(ctx, e)
}

// ModTime implements compact.Archiver.
func (r Archiver) ModTime(ctx context.Context, a compact.Archived) (time.Time, error) {
	e, err := r.Store.Get(ctx, a.ID)
	return e.SourceModTime, err
}

// earliestYear is before every session: a machine whose clock is behind it has
// just started and does not know the time yet.
const earliestYear = 2020

// DataLock is the lock of the data directory, as a command has it.
type DataLock struct {
	file   *durable.FileLock
	lent   bool // by the run whose step the command is: that one gives it back
	waited bool // another sessctl had it first
}

// Unlock gives the lock back, unless it was lent.
func (l *DataLock) Unlock() {
	if !l.lent {
		l.file.Unlock()
	}
}

// Lock makes the data directory and takes its lock. While another sessctl has it
// the command waits for as long as --lock-wait says, once.
func (run *Run) Lock(ctx context.Context) (*DataLock, error) {
	if run.Held != nil {
		return &DataLock{file: run.Held.file, lent: true}, nil
	}
	if err := run.Guard(ctx); err != nil {
		return nil, err
	}
	if now := run.Now().UTC(); now.Year() < earliestYear {
		return nil, &failure.Error{
			Code: "clock", Exit: failure.ExitFailed, Hint: "set the clock: ids, names and ages are made of its time",
			Err: fmt.Errorf("the clock says %s", now.Format(time.RFC3339)),
		}
	}
	if err := run.Pins.MakeDir(run.DataDir(), 0o700); err != nil {
		return nil, &failure.Error{Code: "permission", Exit: failure.ExitFailed, Path: run.DataDir(), Hint: "choose another place with --data-dir", Err: fmt.Errorf("make data directory: %w", err)}
	}
	lock, err := takeLock(ctx, run, filepath.Join(run.DataDir(), "lock"))
	if err != nil {
		return nil, err
	}
	if err = renewMemory(run); err != nil {
		lock.Unlock()
		return nil, err
	}
	setDirectoriesAside(run)
	if err := notePlace(run); err != nil {
		run.PassOverBroken(run.placesFile(), "where the data directory is cannot be noted", err)
	}
	if lock.file.Abandoned() {
		endDeletions(ctx, run)
	}
	beginHistory(ctx, run, lock.file.Abandoned())
	return lock, nil
}

// renewMemory holds the memory and the ledger that are there now that the lock is taken:
// until then another sessctl may have put a damaged one aside and made it again.
func renewMemory(run *Run) error {
	err := run.Pins.Renew(run.MemoryDir())
	if errors.Is(err, durable.ErrElsewhere) {
		return &failure.Error{Code: "locked", Exit: failure.ExitBusy, Path: run.MemoryDir(), Hint: "run it again", Err: fmt.Errorf("the memory %s was moved away after this run had begun", run.MemoryDir())}
	}
	_ = run.Pins.Renew(run.LedgerDir()) // one that was begun anew; without one, this run begins it
	return nil                          // what else is wrong with it is told when it is opened
}

func takeLock(ctx context.Context, run *Run, path string) (*DataLock, error) {
	lock, err := run.Pins.Lock(path)
	if errors.Is(err, durable.ErrNotRegular) && setDirectoryAside(run, path) {
		lock, err = run.Pins.Lock(path)
	}
	if err == nil || run.Global.LockWait == 0 || !errors.Is(err, durable.ErrLocked) {
		return &DataLock{file: lock}, err
	}
	if run.LockUntil.IsZero() {
		run.LockUntil = time.Now().Add(run.Global.LockWait)
		run.Notice(Note{Message: fmt.Sprintf("waiting up to %s for another sessctl: %s", run.Global.LockWait, err)})
	}
	lock, err = durable.LockWithin(ctx, run.Pins.Lock, path, max(time.Until(run.LockUntil), 0))
	return &DataLock{file: lock, waited: true}, err
}

// AtWork says whether a state-changing sessctl runs.
func AtWork(a *Settings) bool {
	state, err := durable.LookAtLock(filepath.Join(a.DataDir(), "lock"))
	return err == nil && state.Held
}

// OthersAtWork says whether a state-changing sessctl runs that is not this one.
func (run *Run) OthersAtWork() bool { return run.Held == nil && AtWork(&run.Settings) }

// Settled looks whether all is sound of what other runs change, and once more if not:
// the first look may have been between two steps of one that has ended since. It returns
// false, and what was seen says nothing, while another one is at work.
func Settled(run *Run, look func() (sound bool, err error)) (bool, error) {
	for range 2 {
		_ = run.Pins.Renew(run.LedgerDir()) // another run may have begun one anew; if there is none, the look tells
		sound, err := look()
		if sound || err != nil {
			return true, err
		}
		if run.OthersAtWork() {
			return false, nil
		}
	}
	return true, nil
}

// StateHead is the copy of the last head that every run leaves outside of the data
// directory, so that its loss, or its rollback, is seen.
func StateHead(s *Settings) heads.File {
	return heads.File{Path: filepath.Join(s.Xdg("XDG_STATE_HOME", filepath.Join(".local", "state")), "sessctl", "heads", dataDirDigest(s)+".head"), Make: true}
}

// dataDirDigest tells the data directories of a machine apart.
func dataDirDigest(s *Settings) string {
	sum := sha256.Sum256([]byte(filepath.Clean(s.DataDir())))
	return hex.EncodeToString(sum[:4])
}
