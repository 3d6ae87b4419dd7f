package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// The wiring of a compaction, drawn once:
//
//	session.Store ──> compact.Compactor ──> archiver  ──> archive.Store   <data>/archives, archive dir
//	                        │           ├──> memoryAdapter ──> memory.Store    <data>/memory
//	                        │           ├──> embedder  ──> embed.Builtin, Ollama or OpenAI + memory.Store
//	                        │           └──> summarizer ─> summarize.Extractive, or Written by a model (cmd/summarizer.go)
//	                        ├──> Journal  <data>/journal
//	                        └──> Receipts <data>/receipts

// workspace is what a command holds open that changes sessions or archives, or
// that plans such a change.
type workspace struct {
	lock      *dataLock     // nil in a dry run
	pins      *durable.Pins // held until the workspace is closed
	memory    *memory.Store // nil where the mode does not open it
	archives  *archive.Store
	compactor *compact.Compactor
	progress  *progress
	lengths   func() (map[string]int64, error) // see app.archivedLengths
	recovered int                              // changes of earlier runs that were looked after
	unchanged []compact.Result                 // of what memory had already, see rememberOnce
	proven    map[string]bool                  // ids of archives, see namedByReceipts; nil before that was asked
}

// outdated reports whether what was listed before the workspace was opened may
// be different now: something was recovered, or another sessctl was waited for.
func (w *workspace) outdated() bool {
	return w.recovered > 0 || w.lock != nil && w.lock.waited
}

// mode says how a command opens the workspace. Unless it is a dry run, the data
// directory is locked until the workspace is closed.
type mode struct {
	// dryRun locks nothing, opens no memory and recovers nothing, whatever the
	// other fields say: the compactor only makes plans.
	dryRun bool
	// memory opens memory. Without it memory is opened only if there is something
	// to recover, so that a damaged memory is no reason not to archive a session
	// or to put one back.
	memory bool
	// rebuild says that the command makes a lost memory again: it is not told.
	rebuild bool
	// recover finishes what earlier runs began before the command does anything
	// itself; nil leaves that to a later run.
	recover *recovery
	// reason is what archives are made for: "compact", "undo", "archive",
	// "restore" or "clean".
	reason string
	// summaries makes the summarizer of a session; nil for extractive summaries.
	summaries func(compact.SummaryOrder) compact.Summarizer
	// undoing is the id of the receipt that the command undoes, or "": recovery
	// leaves its old log to the undo.
	undoing string
}

// recovery says how the unfinished work of earlier runs is completed.
type recovery struct {
	sessions []found // among whose archives a killed run may have left something
	policy   compact.Policy
	// optional is for commands that do no harm before an earlier run is finished:
	// a memory that cannot be opened is told, and they go on.
	optional bool
}

// errUnrecovered is returned when an earlier run cannot be finished because
// memory cannot be opened.
var errUnrecovered = errors.New("an earlier run cannot be finished")

// openWorkspace opens everything that a command works with, in the order lock,
// memory, archive and embedder, and then recovers what earlier runs left
// unfinished. Another sessctl on the same data directory is durable.ErrLocked.
func (a *invocation) openWorkspace(ctx context.Context, m mode) (*workspace, error) {
	if m.dryRun {
		m.memory, m.recover = false, nil
	}
	w := &workspace{progress: newProgress(a), pins: a.pins}
	a.pin()
	if err := w.open(ctx, a, m); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *workspace) open(ctx context.Context, a *invocation, m mode) (err error) {
	if !m.dryRun {
		if w.lock, err = a.lock(ctx); err != nil {
			return err
		}
		a.beginReceipts()
	}
	err = w.openMemory(ctx, a, m)
	if errors.Is(err, errUnrecovered) && m.recover.optional {
		a.notice(note{Path: a.memoryDir(), Message: err.Error(), Hint: "sessctl doctor says more"})
		m.recover, err = nil, nil
	}
	if err != nil {
		return err
	}
	if err := w.assemble(a, m); err != nil || m.recover == nil {
		return err
	}
	return w.recover(ctx, a, *m.recover)
}

// openMemory opens memory if the mode asks for it, or if recovery will need it.
func (w *workspace) openMemory(ctx context.Context, a *invocation, m mode) (err error) {
	if m.memory {
		if err := a.tellLostMemory(ctx, m); err != nil {
			return err
		}
		if w.memory, err = a.changeMemory(ctx, m.rebuild); err != nil {
			return fmt.Errorf("open memory: %w", err)
		}
		return nil
	}
	if m.recover == nil {
		return nil
	}
	begun, err := a.journal().List()
	if err != nil || len(begun) == 0 {
		return err
	}
	if err := a.tellLostMemory(ctx, m); err != nil {
		return err
	}
	if w.memory, err = a.changeMemory(ctx, m.rebuild); err != nil {
		return fmt.Errorf("%w: open memory: %w", errUnrecovered, err)
	}
	return nil
}

// tellLostMemory tells that a new memory takes the place of one that is lost:
// the run is incomplete, for what only archives have is not in the new one.
func (a *invocation) tellLostMemory(ctx context.Context, m mode) error {
	if m.rebuild {
		return nil
	}
	lost, err := a.lostMemory(ctx)
	if err == nil && lost > 0 {
		a.passOver(note{Path: a.memoryDir(), Message: "the memory is lost (" + namedBy(lost) + ") and a new one is begun; " + adviseRebuild})
	}
	return err
}

// foretellLostMemory is tellLostMemory for a dry run.
func (a *invocation) foretellLostMemory(ctx context.Context) error {
	lost, err := a.lostMemory(ctx)
	if err == nil && lost > 0 {
		a.passOver(note{Path: a.memoryDir(), Message: "the memory is lost (" + namedBy(lost) + "): a run would begin a new one; " + adviseRebuild})
	}
	return err
}

// changeMemory opens the memory to change it, and finishes what a forget that was
// cut off has left.
// rebuild says that one that is made is going to be filled from the archives.
func (a *invocation) changeMemory(ctx context.Context, rebuild bool) (*memory.Store, error) {
	store, err := memory.Open(ctx, a.memoryDir(), memory.Options{Rebuild: rebuild, Pins: a.pins})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(a.repairForgotten(ctx, store), a.repairOwnWords(ctx, store), a.tellUnwiped(store.Wipe(ctx))); err != nil {
		_ = store.Close() // the error says more
		return nil, err
	}
	return store, nil
}

// tellWordsAnew tells that a run has mended the index of words.
func (a *invocation) tellWordsAnew() {
	a.notice(note{Path: a.memoryDir(), Message: "the index of words was not what was written, as on a disk that fails; it was rebuilt from the texts, and nothing is lost"})
}

// repairForgotten looks after the files of what was forgotten, and tells what it
// found.
func (a *invocation) repairForgotten(ctx context.Context, store *memory.Store) error {
	restored, lost, err := store.RepairForgotten(ctx)
	if restored > 0 {
		a.notice(note{Path: memory.ForgottenDir(a.memoryDir()), Message: fmt.Sprintf("the record of what was forgotten was missing or damaged: it is written again from the memory (%s)", plural(restored, "record"))})
	}
	for _, l := range lost {
		a.notice(note{Path: l.Path, Message: l.Message() + "; what was forgotten may come back", Hint: adviseForgotten})
	}
	return err
}

// repairOwnWords looks after the files of what agents stored, and tells what it
// found.
func (a *invocation) repairOwnWords(ctx context.Context, store *memory.Store) error {
	done, err := store.RepairOwnWords(ctx)
	dir := memory.StoredDir(a.memoryDir())
	if done.Stored > 0 {
		a.notice(note{Path: dir, Message: "what agents stored is in the memory again: " + plural(done.Stored, "record")})
	}
	if done.Written > 0 {
		a.notice(note{Path: dir, Message: "what agents stored was missing here or damaged: " + plural(done.Written, "file") + " written again from the memory"})
	}
	for _, path := range done.Lost {
		a.notice(note{Path: path, Message: "what an agent stored is damaged, and the memory does not have it either; the file is kept as .damaged", Hint: "put the file back from a backup"})
	}
	return err
}

// adviseForgotten is what to do about a lost record of what was forgotten.
const adviseForgotten = "put the file back from a backup; or give it up with sessctl memory reindex --from-archives --allow-forgotten"

// tellUnwiped tells that traces of what was forgotten are left. Any other error
// is passed on.
func (a *invocation) tellUnwiped(err error) error {
	if !errors.Is(err, memory.ErrUnwiped) {
		return err
	}
	a.notice(note{Path: a.memoryDir(), Message: err.Error(), Hint: "the next run tries again; or sessctl doctor --fix"})
	return nil
}

// assemble makes the compactor of what is open.
func (w *workspace) assemble(a *invocation, m mode) (err error) {
	if w.archives, err = a.openArchive(); err != nil {
		return err
	}
	embedding, err := a.openEmbedder()
	if err != nil {
		return err
	}
	if m.summaries == nil {
		m.summaries = offlineSummarizer("")
	}
	w.lengths = sync.OnceValues(a.archivedLengths)
	w.compactor = &compact.Compactor{
		Archiver:   archiver{store: w.archives, lasting: a.lasting(w.archives), now: a.now, reason: m.reason},
		Rememberer: memoryAdapter{store: w.memory, archives: w.archives, lengths: w.lengths, builtin: embedding.builtin(), wordsAnew: a.tellWordsAnew},
		Embedder:   embedder{app: a, store: w.memory, embedding: embedding},
		Withdrawer: memoryAdapter{store: w.memory},
		Summarizer: m.summaries,
		Journal:    a.journal(),
		Receipts:   a.receipts(),
		Version:    programVersion(),
		NewID:      func() string { return ulid.Make().String() },
		Now:        a.now,
		Progress:   w.progress.show,
		Undoing:    m.undoing,
		Late:       a.tellLate,
		Deleted:    a.deletedLogs,
	}
	return nil
}

// recover is the first thing that a state-changing command does under the lock:
// it removes what killed runs left half-written and finishes the changes that
// they began.
func (w *workspace) recover(ctx context.Context, a *invocation, r recovery) error {
	if err := w.sweep(ctx, a, r.sessions); err != nil {
		return err
	}
	stores, err := a.openStores()
	if err != nil {
		return err
	}
	w.recovered, err = w.compactor.Settle(ctx, storesByRoot(stores), r.policy)
	var unfinished *compact.UnfinishedError
	if errors.As(err, &unfinished) {
		a.tellUnfinished(unfinished)
		return nil
	}
	if err != nil {
		return fmt.Errorf("finish an earlier run: %w", err)
	}
	return nil
}

// tellUnfinished says once what of earlier runs could not be finished; the
// command goes on with everything else, and ends with exit code 3.
func (a *invocation) tellUnfinished(e *compact.UnfinishedError) {
	for _, u := range e.Entries {
		if u.Known {
			continue // an earlier run has said so; doctor does, whenever it is asked
		}
		a.passOver(note{Path: u.Path, Message: "an earlier run cannot be finished and is set aside: " + u.Reason, Hint: "sessctl doctor says what can be done about it"})
	}
}

// journal is where changes stand before they are made.
func (a *invocation) journal() compact.Journal {
	return compact.Journal{Dir: a.journalDir(), Moves: a.moves(), Pins: a.pins}
}

// recoveryPolicy is that of commands that finish earlier runs and change no
// session themselves.
func (a *invocation) recoveryPolicy() compact.Policy {
	return compact.Policy{Quiet: compact.DefaultQuiet, OutputLimit: a.outputLimit(), Pins: a.pins}
}

// quietWhere is the quiet period of a command for the sessions that it names, and
// the configured one for all others.
func (a *invocation) quietWhere(quiet time.Duration, named func(session.Rotation) bool) func(session.Rotation) time.Duration {
	return func(r session.Rotation) time.Duration {
		if named(r) {
			return quiet
		}
		return a.config.Compaction.Quiet
	}
}

// recoveryOf is the recovery of a command that names one session, with its quiet
// period.
func (a *invocation) recoveryOf(of session.Ref, quiet time.Duration) *recovery {
	policy := a.recoveryPolicy()
	policy.QuietOf = a.quietWhere(quiet, func(r session.Rotation) bool {
		return r.Runtime == of.Runtime && r.Agent == of.Agent && r.Session == of.ID
	})
	return &recovery{sessions: []found{{Ref: of}}, policy: policy}
}

// outputLimit is memory.output_limit as a policy has it.
func (a *invocation) outputLimit() int64 {
	if a.config.Memory.OutputLimit <= 0 {
		return -1
	}
	return a.config.Memory.OutputLimit
}

// sweep removes what killed runs left half-written in our own directories and
// in the archives of these sessions. The lock makes it safe.
func (w *workspace) sweep(ctx context.Context, a *invocation, sessions []found) error {
	for _, dir := range a.ownDirs() {
		if err := a.pins.Sweep(dir, 0); err != nil {
			return fmt.Errorf("sweep %s: %w", dir, err)
		}
	}
	swept := map[string]bool{}
	for _, s := range sessions {
		meta := archiveMeta(s.Ref)
		if place := filepath.Join(a.archiveDir(meta), s.Agent); !swept[place] {
			swept[place] = true
			if err := w.archives.Sweep(ctx, meta, 0); err != nil {
				a.notice(note{Path: place, Message: err.Error()}) // a place that cannot be swept cannot be written either: the sessions will say so
			}
		}
	}
	return nil
}

// endMoves lets stores see the logs that a killed run was moving when it died.
// Where another sessctl is at work it does nothing: that one moves them.
func (a *invocation) endMoves(ctx context.Context, dryRun bool) error {
	journal := a.journal()
	if begun, err := journal.List(); dryRun || err == nil && len(begun) == 0 {
		return nil
	}
	lock, err := a.lock(ctx)
	if errors.Is(err, durable.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := journal.EndMoves(); err != nil {
		return fmt.Errorf("finish an earlier run: %w", err)
	}
	return nil
}

func (w *workspace) close() {
	w.progress.clear()
	if w.memory != nil {
		_ = w.memory.Close() // every commit was synced
	}
	if w.lock != nil {
		w.lock.Unlock()
	}
	w.pins.Release()
}

// pin begins to hold directories open. Those of our own may be links to other
// disks, each of them: what is in them is not looked for through further links.
func (a *invocation) pin() {
	a.pins.Hold()
	further := []string{filepath.Join(a.dataDir(), "archive"), filepath.Join(a.dataDir(), "trash"), a.journal().GivenUp().Dir, a.runsDir(), a.outboxDir(), a.hooksDir()}
	for _, dir := range append(a.ownDirs(), further...) {
		a.pins.Top(dir)
	}
}

// ownDirs lists the directories of our own in which a killed run may have left
// something, but for those of archives.
func (a *invocation) ownDirs() []string { return append(a.recordDirs(), a.memoryDirs()...) }

// recordDirs are those of what was done and is to be done.
func (a *invocation) recordDirs() []string {
	return []string{a.dataDir(), a.journalDir(), a.receiptsDir(), a.factsReceiptsDir(), a.catalogueDir(), a.outgoingDir(), a.pagesDir(), a.shrinkDir()}
}

// memoryDirs are those of memory.
func (a *invocation) memoryDirs() []string {
	of := a.memoryDir()
	return []string{of, memory.ForgottenDir(of), memory.KeptDir(of), memory.StoredDir(of)}
}

func (a *invocation) journalDir() string { return filepath.Join(a.dataDir(), "journal") }

func (a *invocation) memoryDir() string { return filepath.Join(a.dataDir(), "memory") }

func (a *invocation) receipts() compact.Receipts {
	return compact.Receipts{Dir: a.receiptsDir(), Moves: a.moves(), Pins: a.pins}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil || !os.IsNotExist(err)
}

// openArchive opens the archive; nothing is made until something is put in.
func (a *invocation) openArchive() (*archive.Store, error) {
	o := archive.Options{
		Dir: a.archiveDir, Compression: a.config.Archive.Compression, ToolVersion: programVersion(), Moves: a.moves(), Find: a.findArchive, Pins: a.pins,
	}
	if a.config.Archive.Remote != "" {
		o.Fetch = a.fetchArchive
	}
	switch o.Compression {
	case compressionAuto:
		o.Compression, o.Plain = archive.CompressionZstd, a.storedPlain
	case archive.CompressionNone, archive.CompressionZstd:
	default:
		return nil, usageError("compressions: auto, none, zstd", "unknown compression %q (archive.compression)", o.Compression)
	}
	return archive.Open(a.catalogueDir(), o)
}

// compressionAuto compresses what is ours alone.
const compressionAuto = "auto"

// storedPlain reports the sessions whose archives are not compressed unless that
// is asked for: those in a place that is the runtime's as well, where other
// programs read them, and those of logs that are compressed already.
func (a *invocation) storedPlain(m archive.Meta) bool {
	return strings.HasSuffix(strings.ToLower(m.Source), ".zst") || a.config.Archive.Dir == "" && ownArchiveDir(m) != ""
}

// ownArchiveDir is the place that the runtime's own layout has for archives of a
// session, "" without one.
func ownArchiveDir(m archive.Meta) string {
	own := traitsOf(m.Runtime).ArchiveDir
	if own == nil {
		return ""
	}
	return own(m.Source)
}

// archiveDir is where a session's copies go: archive.dir if it is set, else the
// place that the runtime's own layout has for them, else under the data
// directory.
func (a *invocation) archiveDir(m archive.Meta) string {
	if a.config.Archive.Dir != "" {
		return filepath.Join(absolute(a.config.Archive.Dir), m.Runtime)
	}
	if dir := ownArchiveDir(m); dir != "" {
		return dir
	}
	return filepath.Join(a.dataDir(), "archive", m.Runtime)
}

// archiver is a compact.Archiver over an archive.Store.
type archiver struct {
	store   *archive.Store
	lasting *archive.Store // without the cache, see app.lasting; nil where nothing is deleted
	now     func() time.Time
	reason  string // why: "compact" or "archive"
}

func (r archiver) put(ctx context.Context, ref session.Ref, snap session.Snapshot, src io.Reader) (archive.Entry, error) {
	meta := archiveMeta(ref)
	meta.SourceModTime, meta.Reason = snap.ModTime, r.reason
	if !ref.Kind.InFile() && meta.SourceModTime.IsZero() {
		meta.SourceModTime = ref.ModTime // by its runtime: it is no file
	}
	e, err := r.store.Put(ctx, meta, src, snap.Size, r.now())
	if err == nil && ref.Kind == session.KindStored {
		e, err = r.store.NoteSource(ctx, e, ref.Path)
	}
	return e, err
}

func archiveMeta(ref session.Ref) archive.Meta {
	return archive.Meta{Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID, Key: ref.Key, Source: ref.Path, Kind: string(ref.Kind)}
}

// Put implements compact.Archiver.
func (r archiver) Put(ctx context.Context, ref session.Ref, snap session.Snapshot, src io.Reader) (compact.Archived, error) {
	e, err := r.put(ctx, ref, snap, src)
	return archivedOf(e), err
}

// archivedOf is an entry of the catalogue as a compaction names it.
func archivedOf(e archive.Entry) compact.Archived {
	return compact.Archived{ID: e.ID, Path: e.Path, SHA256: e.SHA256, Bytes: e.Bytes}
}

// Open implements compact.Archiver.
func (r archiver) Open(ctx context.Context, a compact.Archived) (io.ReadCloser, error) {
	e, err := r.store.Get(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	return r.store.OpenEntry(ctx, e)
}

// Lasts implements compact.Archiver.
func (r archiver) Lasts(ctx context.Context, a compact.Archived) error {
	e, err := r.store.Get(ctx, a.ID)
	if err != nil {
		return err
	}
	return r.lasting.Verify(ctx, e)
}

// ModTime implements compact.Archiver.
func (r archiver) ModTime(ctx context.Context, a compact.Archived) (time.Time, error) {
	e, err := r.store.Get(ctx, a.ID)
	return e.SourceModTime, err
}

// earliestYear is before every session: a machine whose clock is behind it has
// just started and does not know the time yet.
const earliestYear = 2020

// dataLock is the lock of the data directory, as a command has it.
type dataLock struct {
	file   *durable.FileLock
	lent   bool // by the run whose step the command is: that one gives it back
	waited bool // another sessctl had it first
}

// Unlock gives the lock back, unless it was lent.
func (l *dataLock) Unlock() {
	if !l.lent {
		l.file.Unlock()
	}
}

// lock makes the data directory and takes its lock. While another sessctl has it
// the command waits for as long as --lock-wait says, once.
func (a *invocation) lock(ctx context.Context) (*dataLock, error) {
	if a.held != nil {
		return &dataLock{file: a.held.file, lent: true}, nil
	}
	if err := a.guard(ctx); err != nil {
		return nil, err
	}
	if now := a.now().UTC(); now.Year() < earliestYear {
		return nil, &failure{
			code: "clock", exit: exitFailed, hint: "set the clock: ids, names and ages are made of its time",
			err: fmt.Errorf("the clock says %s", now.Format(time.RFC3339)),
		}
	}
	if err := a.pins.MakeDir(a.dataDir(), 0o700); err != nil {
		return nil, &failure{code: "permission", exit: exitFailed, path: a.dataDir(), hint: "choose another place with --data-dir", err: fmt.Errorf("make data directory: %w", err)}
	}
	lock, err := a.takeLock(ctx, filepath.Join(a.dataDir(), "lock"))
	if err != nil {
		return nil, err
	}
	if err = a.renewMemory(); err == nil {
		err = a.notePlace()
	}
	if err != nil {
		lock.Unlock()
		return nil, err
	}
	return lock, nil
}

// renewMemory holds the memory that is there now that the lock is taken: until
// then another sessctl may have put a damaged one aside and made it again.
func (a *invocation) renewMemory() error {
	err := a.pins.Renew(a.memoryDir())
	if errors.Is(err, durable.ErrElsewhere) {
		return &failure{code: "locked", exit: exitBusy, path: a.memoryDir(), hint: "run it again", err: fmt.Errorf("the memory %s was moved away after this run had begun", a.memoryDir())}
	}
	return err
}

func (a *invocation) takeLock(ctx context.Context, path string) (*dataLock, error) {
	lock, err := a.pins.Lock(path)
	if err == nil || a.global.LockWait == 0 || !errors.Is(err, durable.ErrLocked) {
		return &dataLock{file: lock}, err
	}
	if a.lockUntil.IsZero() {
		a.lockUntil = time.Now().Add(a.global.LockWait)
		a.notice(note{Message: fmt.Sprintf("waiting up to %s for another sessctl: %s", a.global.LockWait, err)})
	}
	lock, err = a.pins.LockWithin(ctx, path, max(time.Until(a.lockUntil), 0))
	return &dataLock{file: lock, waited: true}, err
}

// atWork says whether a state-changing sessctl runs.
func (a *invocation) atWork() bool {
	state, err := durable.LookAtLock(filepath.Join(a.dataDir(), "lock"))
	return err == nil && state.Held
}

// othersAtWork says whether a state-changing sessctl runs that is not this one.
func (a *invocation) othersAtWork() bool { return a.held == nil && a.atWork() }

// guard refuses to change anything where it would harm the user: as root in
// another user's files, whose new files would then be root's, and in a data
// directory that everybody can change. Reading is not guarded.
func (a *invocation) guard(ctx context.Context) error {
	dir, info, err := nearest(a.dataDir())
	if err != nil {
		return nil // making the directory says what is wrong
	}
	if os.Geteuid() == 0 && !a.global.AllowRoot {
		if uid, known := durable.Owner(info); known && uid != 0 {
			return refuseRoot(dir, uid)
		}
		if !a.listed {
			if _, _, err := a.listStores(ctx); ctx.Err() != nil {
				return err // what else is wrong with the stores is told when they are used
			}
		}
		if a.foreign.path != "" {
			return refuseRoot(a.foreign.path, a.foreign.uid)
		}
	}
	if dir != a.dataDir() || runtime.GOOS == "windows" {
		return nil
	}
	if info.Mode().Perm()&0o002 != 0 {
		return &failure{code: "permission", exit: exitFailed, path: dir, hint: "chmod 700 " + dir, err: fmt.Errorf("everybody can change what is in the data directory %s", dir)}
	}
	return a.guardLink(dir)
}

// guardLink refuses a data directory that somebody else has pointed elsewhere.
func (a *invocation) guardLink(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	if uid, known := durable.Owner(info); known && uid != os.Geteuid() && uid != 0 {
		return &failure{code: "permission", exit: exitFailed, path: dir, hint: "choose another place with --data-dir", err: fmt.Errorf("the data directory %s is a symbolic link of user %d", dir, uid)}
	}
	return nil
}

func refuseRoot(path string, uid int) error {
	return &failure{
		code: "root", exit: exitFailed, path: path,
		hint: fmt.Sprintf("run it as that user (sudo -u '#%d' sessctl ...), or say --allow-root", uid),
		err:  fmt.Errorf("%s belongs to user %d, and this is root: nothing is changed", path, uid),
	}
}

// nearest is a directory, or the nearest one above it that exists.
func nearest(dir string) (string, os.FileInfo, error) {
	for {
		info, err := os.Stat(dir)
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir, info, err
		}
		dir = filepath.Dir(dir)
	}
}

// foreignFile is a session that belongs to another user.
type foreignFile struct {
	path string
	uid  int
}

// findForeign returns the first session, or store, of another user. It matters
// to root alone: from others the system itself protects files.
func findForeign(all inventory) foreignFile {
	if os.Geteuid() != 0 {
		return foreignFile{}
	}
	seen := map[string]bool{}
	for _, s := range all.sessions {
		for _, path := range []string{s.Path, filepath.Dir(s.Path), s.Store} {
			if seen[path] {
				continue
			}
			seen[path] = true
			info, err := os.Lstat(path)
			if err != nil {
				continue
			}
			if uid, known := durable.Owner(info); known && uid != 0 {
				return foreignFile{path, uid}
			}
		}
	}
	return foreignFile{}
}
