package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/chunk"
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

// workspace is everything a state-changing command holds open.
type workspace struct {
	lock      *durable.FileLock
	memory    *memory.Store
	archives  *archive.Store
	compactor *compact.Compactor
	progress  *progress
}

// openWorkspace takes the lock and opens what a compaction needs. Another sessctl
// on the same data directory is durable.ErrLocked.
func (a *app) openWorkspace(ctx context.Context, focus string) (*workspace, error) {
	lock, err := a.lock(ctx)
	if err != nil {
		return nil, err
	}
	store, err := memory.Open(ctx, a.memoryDir(), memory.Options{})
	if err != nil {
		lock.Unlock()
		return nil, fmt.Errorf("open memory: %w", err)
	}
	h := &workspace{lock: lock, memory: store, progress: newProgress(a)}
	if h.compactor, err = a.newCompactor(h, focus); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (a *app) newCompactor(h *workspace, focus string) (*compact.Compactor, error) {
	archives, err := a.openArchive()
	if err != nil {
		return nil, err
	}
	h.archives = archives
	embedding, err := a.openEmbedder()
	if err != nil {
		return nil, err
	}
	return &compact.Compactor{
		Archiver:   archiver{store: archives, now: a.now, reason: "compact"},
		Rememberer: memoryAdapter{store: h.memory},
		Embedder:   embedder{app: a, store: h.memory, embedding: embedding},
		Withdrawer: memoryAdapter{store: h.memory},
		Summarizer: offlineSummarizer(focus),
		Journal:    compact.Journal{Dir: a.journalDir()},
		Receipts:   a.receipts(),
		Version:    programVersion(),
		NewID:      func() string { return ulid.Make().String() },
		Now:        a.now,
		Progress:   h.progress.show,
		Late:       a.tellLate,
	}, nil
}

// settle is the first thing that a state-changing command does under the lock:
// it removes what killed runs left half-written and finishes the changes that
// they began. It returns how many changes it looked after; if there were any,
// what was listed before is out of date.
func (h *workspace) settle(ctx context.Context, a *app, sessions []found, policy compact.Policy) (int, error) {
	if err := h.sweep(ctx, a, sessions); err != nil {
		return 0, err
	}
	stores, err := a.openStores()
	if err != nil {
		return 0, err
	}
	settled, err := h.compactor.Settle(ctx, storesByRoot(stores), policy)
	if err != nil {
		return settled, fmt.Errorf("finish an earlier run: %w", err)
	}
	return settled, nil
}

// sweep removes what killed runs left half-written in our own directories and
// in the archives of these sessions. The lock makes it safe.
func (h *workspace) sweep(ctx context.Context, a *app, sessions []found) error {
	for _, dir := range a.ownDirs() {
		if !exists(dir) {
			continue
		}
		if err := durable.Sweep(dir, 0); err != nil {
			return fmt.Errorf("sweep %s: %w", dir, err)
		}
	}
	swept := map[string]bool{}
	for _, s := range sessions {
		meta := archiveMeta(s.Ref)
		if place := filepath.Join(a.archiveDir(meta), s.Agent); !swept[place] {
			swept[place] = true
			if err := h.archives.Sweep(ctx, meta, 0); err != nil {
				a.notice(note{Path: place, Message: err.Error()}) // a place that cannot be swept cannot be written either: the sessions will say so
			}
		}
	}
	return nil
}

// endMoves lets stores see the logs that a killed run was moving when it died.
// Where another sessctl is at work it does nothing: that one moves them.
func (a *app) endMoves(ctx context.Context, dryRun bool) error {
	journal := compact.Journal{Dir: a.journalDir()}
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

func (h *workspace) close() {
	h.progress.clear()
	if h.memory != nil {
		_ = h.memory.Close() // every commit was synced
	}
	if h.lock != nil {
		h.lock.Unlock()
	}
}

// ownDirs lists the directories of our own in which a killed run may have left
// something, but for those of archives.
func (a *app) ownDirs() []string {
	of := a.memoryDir()
	return []string{a.journalDir(), a.receipts().Dir, a.factsReceiptsDir(), of, memory.ForgottenDir(of), memory.KeptDir(of)}
}

func (a *app) journalDir() string { return filepath.Join(a.dataDir(), "journal") }

func (a *app) memoryDir() string { return filepath.Join(a.dataDir(), "memory") }

func (a *app) receipts() compact.Receipts {
	return compact.Receipts{Dir: filepath.Join(a.dataDir(), "receipts")}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil || !os.IsNotExist(err)
}

// openArchive opens the archive; nothing is made until something is put in.
func (a *app) openArchive() (*archive.Store, error) {
	compression := a.config.Archive.Compression
	if compression != "none" && compression != "zstd" {
		return nil, usageError("compressions: none, zstd", "unknown compression %q (archive.compression)", compression)
	}
	return archive.Open(filepath.Join(a.dataDir(), "archives"), archive.Options{Dir: a.archiveDir, Compression: compression, ToolVersion: programVersion()})
}

// archiveDir is where a session's copies go: archive.dir if it is set, for
// openclaw the place of seed 002 under its state directory, else under the
// data directory.
func (a *app) archiveDir(m archive.Meta) string {
	switch {
	case a.config.Archive.Dir != "":
		return filepath.Join(absolute(a.config.Archive.Dir), m.Runtime)
	case m.Runtime == session.RuntimeOpenClaw && filepath.Base(filepath.Join(m.Source, "..", "..", "..")) == "agents":
		// <state dir>/agents/<agent>/sessions/<log>
		return filepath.Join(m.Source, "..", "..", "..", "..", "session_archive")
	}
	return filepath.Join(a.dataDir(), "archive", m.Runtime)
}

// archiver is a compact.Archiver over an archive.Store.
type archiver struct {
	store  *archive.Store
	now    func() time.Time
	reason string // why: "compact" or "archive"
}

func (r archiver) put(ctx context.Context, ref session.Ref, snap session.Snapshot, src io.Reader) (archive.Entry, error) {
	meta := archiveMeta(ref)
	meta.SourceModTime, meta.Reason = snap.ModTime, r.reason
	return r.store.Put(ctx, meta, src, snap.Size, r.now())
}

func archiveMeta(ref session.Ref) archive.Meta {
	return archive.Meta{Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID, Key: ref.Key, Source: ref.Path, Kind: string(ref.Kind)}
}

// Put implements compact.Archiver.
func (r archiver) Put(ctx context.Context, ref session.Ref, snap session.Snapshot, src io.Reader) (compact.Archived, error) {
	e, err := r.put(ctx, ref, snap, src)
	return compact.Archived{ID: e.ID, Path: e.Path, SHA256: e.SHA256, Bytes: e.Bytes}, err
}

// Open implements compact.Archiver.
func (r archiver) Open(ctx context.Context, a compact.Archived) (io.ReadCloser, error) {
	e, err := r.store.Get(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	return r.store.OpenEntry(ctx, e)
}

// memoryAdapter is a compact.Rememberer over a memory.Store.
type memoryAdapter struct{ store *memory.Store }

// Remember implements compact.Rememberer.
func (m memoryAdapter) Remember(ctx context.Context, ref session.Ref, from compact.Archived, records iter.Seq2[compact.Record, error]) (compact.Remembered, error) {
	path := from.Path
	if path == "" {
		path = ref.Path
	}
	source := memory.Source{Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID, Key: ref.Key, Archive: from.ID, ArchivePath: path}
	var summary *compact.Record
	result, err := m.store.Put(ctx, source, memoryRecords(source, noticed(records, &summary)))
	if err == nil {
		err = m.linkFacts(ctx, ref, source, from.Bytes)
	}
	if err == nil && summary != nil {
		err = m.keep(ctx, source, *summary)
	}
	return compact.Remembered{Stored: result.Stored, Existing: result.Existing}, err
}

func memoryRecords(s memory.Source, records iter.Seq2[compact.Record, error]) iter.Seq2[memory.Record, error] {
	return func(yield func(memory.Record, error) bool) {
		for r, err := range records {
			if !yield(memoryRecord(s, r), err) {
				return
			}
		}
	}
}

// memoryRecord gives a record its identity. A session has one summary: a new
// one takes the place of the old.
func memoryRecord(s memory.Source, r compact.Record) memory.Record {
	id := memory.RecordID(s.Agent, s.Session, r.Position, chunk.Version, r.Text)
	if r.Category == compact.CategorySummary {
		id = memory.RecordID(s.Agent, s.Session, r.Position, "summary", "")
	}
	branch := session.Active
	if r.Abandoned {
		branch = session.Abandoned
	}
	return memory.Record{
		ID: id, Text: r.Text, Category: r.Category, Importance: r.Importance, CreatedAt: r.CreatedAt,
		Runtime: s.Runtime, Agent: s.Agent, Session: s.Session, Key: s.Key, Archive: s.Archive, ArchivePath: s.ArchivePath,
		FirstLine: r.FirstLine, LastLine: r.LastLine, FirstByte: r.FirstByte, EndByte: r.EndByte,
		Branch: branch.String(), Position: r.Position,
	}
}

// noticed passes records on and notes the summary among them.
func noticed(records iter.Seq2[compact.Record, error], summary **compact.Record) iter.Seq2[compact.Record, error] {
	return func(yield func(compact.Record, error) bool) {
		for r, err := range records {
			if err == nil && r.Category == compact.CategorySummary {
				*summary = &r
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// keep keeps the summary that a model wrote beside the memory: from the archive
// only the extractive one can be made again. That one takes the place of what
// was kept of the session.
func (m memoryAdapter) keep(ctx context.Context, s memory.Source, r compact.Record) error {
	id := memoryRecord(s, r).ID
	if r.Model == "" {
		return m.store.DropSummary(id)
	}
	return m.store.KeepSummary(ctx, memory.KeptSummary{ID: id, Runtime: s.Runtime, Agent: s.Agent, Session: s.Session, Archive: s.Archive, Model: r.Model, Text: r.Text})
}

// openVault is openWorkspace for commands that work on archives alone: memory is
// opened only when an earlier run left something to settle, so that a damaged
// memory is no reason not to archive a session or to put one back. reason is
// what archives are made for ("archive", "restore").
func (a *app) openVault(ctx context.Context, reason string) (*workspace, error) {
	lock, err := a.lock(ctx)
	if err != nil {
		return nil, err
	}
	h := &workspace{lock: lock, progress: newProgress(a)}
	if h.compactor, err = a.newCompactor(h, ""); err != nil {
		h.close()
		return nil, err
	}
	h.compactor.Archiver = archiver{store: h.archives, now: a.now, reason: reason}
	return h, nil
}

// errUnsettled is returned when an earlier run cannot be finished because
// memory cannot be opened.
var errUnsettled = errors.New("an earlier run cannot be finished")

// settleVault is settle for a workspace without memory.
func (h *workspace) settleVault(ctx context.Context, a *app, sessions []found, policy compact.Policy) (int, error) {
	begun, err := h.compactor.Journal.List()
	if err != nil {
		return 0, err
	}
	if len(begun) > 0 && h.memory == nil {
		if h.memory, err = memory.Open(ctx, a.memoryDir(), memory.Options{}); err != nil {
			return 0, fmt.Errorf("%w: open memory: %w", errUnsettled, err)
		}
		ours := h.compactor.Archiver
		if h.compactor, err = a.newCompactor(h, ""); err != nil {
			return 0, err
		}
		h.compactor.Archiver = ours
	}
	return h.settle(ctx, a, sessions, policy)
}

// lock makes the data directory and takes its lock.
func (a *app) lock(ctx context.Context) (*durable.FileLock, error) {
	if err := a.guard(ctx); err != nil {
		return nil, err
	}
	if err := durable.MakeDir(a.dataDir(), 0o700); err != nil {
		return nil, &failure{code: "permission", exit: exitFailed, path: a.dataDir(), hint: "choose another place with --data-dir", err: fmt.Errorf("make data directory: %w", err)}
	}
	return durable.Lock(filepath.Join(a.dataDir(), "lock"))
}

// atWork says whether a state-changing sessctl runs.
func (a *app) atWork() bool {
	state, err := durable.LookAtLock(filepath.Join(a.dataDir(), "lock"))
	return err == nil && state.Held
}

// guard refuses to change anything where it would harm the user: as root in
// another user's files, whose new files would then be root's, and in a data
// directory that everybody can change. Reading is not guarded.
func (a *app) guard(ctx context.Context) error {
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
func (a *app) guardLink(dir string) error {
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

// findForeign returns the first session, or store, of another user. Only root
// is asked: for others the system itself keeps users apart.
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
