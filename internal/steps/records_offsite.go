package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/archive/objects"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
)

// The records of a host are the files that say what was done, and must be kept with
// the archives: with the receipts a compaction can be undone and is not remembered
// twice, what was forgotten is not remembered again, what is pinned is not deleted, and
// the ids of superseded archives lead to later ones. On object storage each has the
// name of its directory here.
const (
	recordsReceipts   = "receipts"
	recordsForgotten  = "forgotten"
	recordsSuperseded = archive.SupersededName
	recordsPinned     = "pinned.json"
)

// recordDirs are the directories of records, by their names on object storage.
func recordDirs(run *workspace.Run) map[string]string {
	return map[string]string{
		recordsReceipts: run.ReceiptsDir(), recordsForgotten: memory.ForgottenDir(run.MemoryDir()),
		recordsSuperseded: filepath.Join(run.CatalogueDir(), archive.SupersededName),
	}
}

func pinnedPath(run *workspace.Run) string { return filepath.Join(run.DataDir(), recordsPinned) }

// recordFiles are this host's records: where each lies, by its name on object storage.
func recordFiles(run *workspace.Run) (map[string]string, error) {
	files := map[string]string{}
	for name, dir := range recordDirs(run) {
		entries, err := run.Pins.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list the records of this host: %w", err)
		}
		for _, e := range entries {
			if e.Type().IsRegular() && isRecord(name+"/"+e.Name()) {
				files[name+"/"+e.Name()] = filepath.Join(dir, e.Name())
			}
		}
	}
	if _, err := run.Pins.Lstat(pinnedPath(run)); err == nil {
		files[recordsPinned] = pinnedPath(run)
	}
	return files, nil
}

// mostRecord bounds, in bytes, what is read of a record.
const mostRecord = 64 << 20

// UploadRecords puts the records of this host, under its name, on object storage, if
// they are not there as they are now, and returns how many that were: with dryRun,
// how many would be. What was forgotten is read there: it would come back on a host
// that is set up anew, and nothing else would tell.
func UploadRecords(ctx context.Context, run *workspace.Run, records objects.Records, host string, dryRun bool) (sent int, err error) {
	files, err := recordFiles(run)
	if err != nil {
		return 0, err
	}
	there, err := records.List(ctx)
	if err != nil {
		return 0, err
	}
	known := map[string][]objects.Record{}
	for _, r := range there {
		known[r.Name] = append(known[r.Name], r)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, err := readRecord(run, files[name])
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went meanwhile
		}
		if err != nil {
			return sent, err
		}
		file := objects.NewRecord(host, name, text)
		isThere, err := hasRecord(ctx, records, known[name], &file)
		if err == nil && !isThere && !dryRun {
			err = records.Put(ctx, file, text)
		}
		if err != nil {
			return sent, err
		}
		if !isThere {
			sent++
		}
	}
	return sent, nil
}

// hasRecord reports whether one of the objects is that of a file, and gives the file
// the number of the next object where none is.
func hasRecord(ctx context.Context, records objects.Records, known []objects.Record, file *objects.Record) (bool, error) {
	next := 1
	for _, r := range known {
		if !r.Names(*file) {
			continue
		}
		next = max(next, r.Number+1)
		isThere, err := r.Is(*file), error(nil)
		if isThere && isForgotten(r.Name) {
			isThere, err = records.Holds(ctx, r)
		}
		if isThere || err != nil {
			return isThere, err
		}
	}
	file.Number = next
	return false, nil
}

func isForgotten(name string) bool { return strings.HasPrefix(name, recordsForgotten+"/") }

func readRecord(run *workspace.Run, path string) ([]byte, error) {
	text, err := run.Pins.ReadSmall(path, mostRecord)
	if err != nil {
		return nil, fmt.Errorf("read a record of this host: %w", err)
	}
	return text, nil
}

// PullOptions say which records are entered.
type PullOptions struct {
	Host   string // that was lost
	Asked  bool   // a person named it
	DryRun bool
	// Returns compares receipts with the ledger.
	Returns *audit.Returns
}

// PullRecords enters records of object storage that are not here: what was forgotten
// on any host, and, where this data directory has neither receipts nor pins, those of
// the host that was lost. It returns how many were entered. One that was broken off is
// completed by the next: a mark says until the end that it is under way.
func PullRecords(ctx context.Context, run *workspace.Run, records objects.Records, o PullOptions) (entered int, err error) {
	there, err := records.List(ctx)
	if err != nil {
		return 0, err
	}
	here, err := recordFiles(run)
	if err != nil {
		return 0, err
	}
	mark := filepath.Join(run.DataDir(), "pull-unfinished")
	_, unmarked := run.Pins.Lstat(mark)
	l := lackingRecords(there, here, o.Host, unmarked == nil)
	l.tell(run, o)
	if o.DryRun || len(l.wanted) == 0 && unmarked != nil {
		return len(l.wanted), nil
	}
	if err := run.Pins.ReplaceFile(mark, 0o600, func(w io.Writer) error { _, err := io.WriteString(w, o.Host+"\n"); return err }); err != nil {
		return 0, fmt.Errorf("note that records are entered: %w", err)
	}
	var refused error
	for _, r := range l.wanted {
		err := enterFirst(ctx, run, records, o.Returns, r)
		switch {
		case errors.Is(err, compact.ErrDamagedRecord):
			refused = errors.Join(refused, err)
		case err != nil:
			return entered, err
		default:
			entered++
		}
	}
	workspace.AdoptFound(ctx, run)
	if refused != nil {
		return entered, refused
	}
	return entered, run.Pins.RemoveFile(mark)
}

// lacking is what object storage has of records and this data directory has not.
type lacking struct {
	wanted [][]objects.Record // to be entered, each from the first object that holds it
	others []string           // hosts of which receipts or pins are left out
	kept   int                // records of the host that are left out because there are some here
}

// lackingRecords are the records that are to be entered, of each name the newest. A
// data directory that has records of its own takes those of no other host, and none of
// its own back, for what is not there may have been removed, unless these are of a pull
// that was broken off.
func lackingRecords(there []objects.Record, here map[string]string, host string, unfinished bool) (l lacking) {
	lost := true
	for name := range here {
		lost = lost && (unfinished || isForgotten(name))
	}
	wanted := map[string][]objects.Record{}
	for _, r := range there {
		switch {
		case here[r.Name] != "", !isRecord(r.Name):
		case isForgotten(r.Name), lost && r.Host == host:
			wanted[r.Name] = append(wanted[r.Name], r)
		case r.Host == host:
			l.kept++
		case lost && !slices.Contains(l.others, r.Host):
			l.others = append(l.others, r.Host)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		l.wanted = append(l.wanted, newestFirst(wanted[name]))
	}
	slices.Sort(l.others)
	return l
}

// newestFirst are the objects that a record may be entered from. Any says that
// something was forgotten; of anything else only the newest counts, in whatever object
// it is whole.
func newestFirst(of []objects.Record) []objects.Record {
	slices.SortStableFunc(of, func(a, b objects.Record) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.Number, a.Number)) })
	newest := of[0]
	return slices.DeleteFunc(of, func(r objects.Record) bool { return !isForgotten(r.Name) && r.SHA256 != newest.SHA256 })
}

// tell says what is there and not entered.
func (l lacking) tell(run *workspace.Run, o PullOptions) {
	if len(l.others) > 0 {
		run.Notice(workspace.Note{
			Message: "receipts and pins of other hosts are there, and not entered: " + strings.Join(l.others, ", "),
			Hint:    "sessctl archives pull --host NAME enters those of a host that was lost",
		})
	}
	if l.kept > 0 && o.Asked {
		run.Notice(workspace.Note{
			Path: run.DataDir(), Message: fmt.Sprintf("receipts and pins of %s are not entered: %s; this data directory has its own", o.Host, wording.Plural(l.kept, "file")),
			Hint: "use an empty data directory (--data-dir) for those of a host that was lost",
		})
	}
}

// isRecord reports whether a name on object storage, where others may write, is that
// of a file in one of the directories of records.
func isRecord(name string) bool {
	dir, base, ok := strings.Cut(name, "/")
	if !ok {
		return name == recordsPinned
	}
	end := map[string]string{recordsReceipts: ".json", recordsForgotten: ".json", recordsSuperseded: ".jsonl"}[dir]
	return end != "" && filepath.IsLocal(base) && !strings.ContainsAny(base, `/\`) && !strings.HasPrefix(base, ".") && strings.HasSuffix(base, end)
}

// enterFirst enters the first of a record's objects that holds what its name says.
func enterFirst(ctx context.Context, run *workspace.Run, records objects.Records, returns *audit.Returns, of []objects.Record) (err error) {
	for _, r := range of {
		failed := enterRecord(ctx, run, records, returns, r)
		if failed == nil {
			return nil
		}
		err = cmp.Or(err, failed)
		if !errors.Is(failed, objects.ErrDiffers) {
			break
		}
	}
	return err
}

// enterRecord writes a record where it belongs, if nothing has its place. A receipt must
// be the one that the ledger has, if it has one.
func enterRecord(ctx context.Context, run *workspace.Run, records objects.Records, returns *audit.Returns, r objects.Record) error {
	text, err := records.Get(ctx, r)
	if err != nil {
		return err
	}
	at := pinnedPath(run)
	dir, base, ok := strings.Cut(r.Name, "/")
	if ok {
		at = filepath.Join(recordDirs(run)[dir], base)
	}
	if dir == recordsReceipts {
		if err := returns.ReceiptText(strings.TrimSuffix(base, ".json"), text); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	err = run.Pins.MakeDir(filepath.Dir(at), 0o700)
	if err == nil {
		err = run.Pins.CreateFile(at, 0o600, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	}
	if err != nil && !errors.Is(err, durable.ErrExists) {
		return fmt.Errorf("enter the record %s: %w", r.Name, err)
	}
	return nil
}
