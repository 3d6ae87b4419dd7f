package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// Audit is the log of all deletions.
func (run *Run) Audit() retention.Audit {
	return retention.Audit{Path: filepath.Join(run.DataDir(), "audit.jsonl"), Pins: run.Pins, Witness: func(l retention.Line) error { return witnessLine(run, l) }}
}

func (s *Settings) archiveTrashDir() string { return filepath.Join(s.DataDir(), "trash", "archives") }

// ArchiveTrash is the trash of archives.
func (run *Run) ArchiveTrash() retention.Trash {
	return retention.Trash{Dir: run.archiveTrashDir(), Moves: run.Moves(), Pins: run.Pins}
}

// Remembered reports whether memory, nil if there is none, has all that an archive
// says, or has forgotten it.
func Remembered(ctx context.Context, run *Run, memories *memory.Store, archives *archive.Store, e archive.Entry) (bool, error) {
	survey, in, err := SurveyRemembered(ctx, run, memories, archives, e)
	if err != nil || HoldsAll(survey, in) {
		return err == nil, err
	}
	missing, _, err := MissingPieces(ctx, run, memories, archives, e)
	return err == nil && missing == 0, err
}

// HoldsAll reports whether memory has all that was surveyed, or has forgotten it.
func HoldsAll(survey compact.Survey, in memory.Coverage) bool {
	return in.Missing(survey.Chunks) == 0 && in.Bytes >= survey.Covered && (in.Forgotten > 0 || in.Characters >= survey.Runes)
}

// oneArchive opens one archive, also one in the trash, which no catalogue has.
type oneArchive struct {
	Archiver
	entry archive.Entry
}

// Open implements compact.Archiver.
func (r oneArchive) Open(ctx context.Context, _ compact.Archived) (io.ReadCloser, error) {
	return r.Store.OpenEntry(ctx, r.entry)
}

// SurveyRemembered reads an archive again, as a compaction would, and compares what
// that would store with what memory has of these bytes: of another log of the session,
// as its runtime cut it or began it anew, it may have more.
func SurveyRemembered(ctx context.Context, run *Run, memories *memory.Store, archives *archive.Store, e archive.Entry) (survey compact.Survey, in memory.Coverage, err error) {
	store := ArchiveReader(&run.Settings, e)
	if memories == nil || store == nil {
		return survey, in, retention.ErrNotRemembered
	}
	compactor := &compact.Compactor{Archiver: oneArchive{Archiver{Store: archives, Now: run.Now}, e}}
	if survey, err = compactor.Survey(ctx, store, ArchivedOf(e), run.RecoveryPolicy()); err != nil {
		return survey, in, err
	}
	source := memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
	from, err := memories.ArchivesOf(ctx, source, compact.CategoryHistory)
	if err == nil {
		from, err = sharingBytes(ctx, run, archives, e, from)
	}
	if err != nil {
		return survey, in, err
	}
	in, err = memories.Coverage(ctx, source, compact.CategoryHistory, []string{e.ID}, from...)
	return survey, in, err
}

// sharingBytes are an archive and those of some others of its session with whose bytes
// it begins, or that begin with its own.
func sharingBytes(ctx context.Context, run *Run, archives *archive.Store, e archive.Entry, others []string) ([]string, error) {
	rest := map[string]bool{}
	for _, id := range others {
		rest[id] = true
	}
	if delete(rest, e.ID); len(rest) == 0 {
		return []string{e.ID}, nil
	}
	begins := beginnings{of: e.Meta, lost: rest, read: sha256.New()}
	log, err := archives.OpenEntry(ctx, e)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if _, err := io.Copy(&begins, log); err != nil {
		return nil, err
	}
	same := append(begins.found, e.ID)
	for id := range rest {
		longer, err := wherever(ctx, run, archives, id)
		if err != nil || longer.Bytes <= e.Bytes || longer.Runtime != e.Runtime || longer.Agent != e.Agent || longer.Session != e.Session {
			continue
		}
		if begun, err := archives.Begins(ctx, longer, e); err == nil && begun {
			same = append(same, id)
		}
	}
	return same, ctx.Err()
}

// wherever is the entry of an archive, also of one in the trash.
func wherever(ctx context.Context, run *Run, archives *archive.Store, id string) (archive.Entry, error) {
	e, err := archives.Get(ctx, id)
	if !errors.Is(err, archive.ErrNotFound) {
		return e, err
	}
	items, listErr := run.ArchiveTrash().List()
	for _, item := range items {
		if trashed, err := retention.ArchiveOf(item); err == nil && trashed.ID == id {
			trashed.Path = item.To
			return trashed, nil
		}
	}
	return e, errors.Join(err, listErr)
}

// ArchivedLog is the session that an archive is of.
func ArchivedLog(e archive.Entry) compact.ArchivedLog {
	return compact.ArchivedLog{
		Ref:       session.Ref{Runtime: e.Runtime, Agent: e.Agent, ID: e.Session, Key: e.Key, Path: e.Path, Kind: session.Kind(e.Kind), ModTime: e.SourceModTime, Title: ArchivedTitle(e), Project: e.Project},
		Archived:  ArchivedOf(e),
		CreatedAt: e.CreatedAt,
	}
}

// ReaderOf returns a store that can read a runtime's archived logs; nil if
// there is none. The store itself need not exist any more.
func ReaderOf(a *Settings, runtime string) session.Store {
	for _, kind := range Runtimes() {
		if kind.Name == runtime {
			return kind.Open(a.DataDir(), a.Config)
		}
	}
	return nil
}

// ArchiveReader is ReaderOf for an archive, which may be that of a tool's output.
func ArchiveReader(a *Settings, e archive.Entry) session.Store {
	store := ReaderOf(a, e.Runtime)
	if store != nil && session.Kind(e.Kind) == session.KindOutput && store.Capabilities().Outputs {
		return session.ReadOutput(store)
	}
	return store
}

// setDirectoriesAside renames directories in the places of files that are made again, or
// that the ledger knows: nothing can be written there, and what they hold is none of ours.
// The leaves of the ledger and its key stay what they are: without them there is no ledger.
// The caller holds the lock.
func setDirectoriesAside(run *Run) {
	places := []string{run.Audit().Path, run.placesFile(), filepath.Join(run.DataDir(), "verified.jsonl"), run.MemoryDir() + "-forgotten.json"}
	below := []string{"lock-monitor", "outbox/targets.json", "outbox/receipts.told", "ledger/checkpoint", "ledger/verifier"}
	data := os.DirFS(run.DataDir())
	ours, _ := fs.ReadDir(data, ".") // what is in these is not listed: they hold 100,000 files
	for _, dir := range ours {
		below = append(below, dir.Name()+"/lock")
	}
	for _, pattern := range []string{"ledger/tile-*", "ledger/order-*"} {
		found, _ := fs.Glob(data, pattern) // it is well-formed
		below = append(below, found...)
	}
	for _, name := range below {
		places = append(places, filepath.Join(run.DataDir(), filepath.FromSlash(name)))
	}
	for _, path := range places {
		setDirectoryAside(run, path)
	}
}

// setDirectoryAside renames a directory to a name in the data directory, where nobody
// looks for anything, and reports whether it did. A file stays, also one that another
// sessctl has just made there: hence the slash.
func setDirectoryAside(run *Run, path string) bool {
	info, err := run.Pins.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	name := strings.ReplaceAll(strings.TrimPrefix(path, run.DataDir()+string(filepath.Separator)), string(filepath.Separator), "-")
	aside := filepath.Join(run.DataDir(), name+".damaged-"+run.Now().UTC().Format("20060102T150405.000Z"))
	if err := run.Pins.MoveDir(path+string(filepath.Separator), aside); err != nil {
		run.PassOver(Note{Path: path, Message: "a directory is in its place: " + err.Error()})
		return false
	}
	run.Notice(Note{Path: path, Message: "a directory was in its place, and is now " + filepath.Base(aside), Hint: "sessctl doctor says what is lost; the directory can go once that is nothing"})
	return true
}

// SetRecordsAside renames directories in the places of pins, receipts and entries of the
// catalogue. Only a person asks for that: what the ledger or the archives know is made
// again, and the rest is told as missing.
func SetRecordsAside(ctx context.Context, run *Run) error {
	lock, err := run.Lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	setDirectoryAside(run, run.PinnedFile())
	for _, dir := range []string{run.ReceiptsDir(), run.CatalogueDir()} {
		for _, in := range listOrNone(dir) {
			if in.IsDir() && filepath.Ext(in.Name()) == ".json" {
				setDirectoryAside(run, filepath.Join(dir, in.Name()))
			}
		}
	}
	return nil
}

// listOrNone lists a directory; what cannot be listed is told by whoever needs it.
func listOrNone(dir string) []fs.DirEntry {
	in, _ := os.ReadDir(dir)
	return in
}
