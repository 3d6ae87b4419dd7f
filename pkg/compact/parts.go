package compact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// errGone says that the log that the plan has read is gone.
var errGone = errors.New("the log is gone")

func openLog(pins *durable.Pins, base, path string) (*os.File, error) {
	log, err := pins.OpenSingle(base, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errGone
	}
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return log, nil
}

// archives makes verified copies of logs and reads them.
type archives struct{ Archiver }

// put archives an open log, as it was when it was hashed. Errors of the archive
// begin with what is being done.
func (a archives) put(ctx context.Context, ref session.Ref, log lateLog, doing string) (Archived, error) {
	archived, err := a.Put(ctx, ref, log.snap, io.NewSectionReader(log.file, 0, log.snap.Size))
	if err != nil {
		return archived, fmt.Errorf("%s: %w", doing, err)
	}
	if archived.SHA256 != log.snap.SHA256 {
		return archived, &session.BusyError{Path: ref.Path, Reason: session.ReasonChangedArchived.Text()}
	}
	return archived, nil
}

// logFiles finds, opens and moves the files of logs.
type logFiles struct {
	pins   *durable.Pins
	system durable.System
	now    func() time.Time
}

// changes is what is written down of changes: before one in the journal, and
// after it in the receipts.
type changes struct {
	journal  Journal
	receipts Receipts
}

// finish proves a change that an earlier run began and notes it as done.
func (c changes) finish(in Intent) error {
	if _, err := c.receipts.Write(in.Receipt); err != nil {
		return err
	}
	return c.conclude(in)
}

// memories stores what archived logs say.
type memories struct {
	archives   archives
	rememberer Rememberer
	embedder   Embedder
	summarizer func(SummaryOrder) Summarizer // nil for no summaries
}

// lateLog is an old log that is open, and its bytes as they are now.
type lateLog struct {
	file *os.File
	snap session.Snapshot
}

// conclude notes a change as done. Its intent stays while an old log is kept
// that somebody may still write.
func (c changes) conclude(in Intent) error {
	if in.Rotation.Kept == "" {
		return c.journal.remove(in.ID)
	}
	in.Switched = true
	if err := c.journal.Write(in); err != nil {
		return fmt.Errorf("note the change as done: %w", err)
	}
	return nil
}

// readBack reads an archive to its end, where its hash is checked.
func (a archives) readBack(ctx context.Context, of Archived) error {
	r, err := a.Open(ctx, of)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}

// unheld says whether nobody has the old log open: by a lease where there are
// leases, else by the grace period. It stays so until release.
func (f logFiles) unheld(kept *os.File, moved time.Time) (free bool, release func()) {
	release, err := logfile.Unheld(f.system, kept)
	if errors.Is(err, durable.ErrUnsupported) {
		return f.now().Sub(moved) > grace, release
	}
	return err == nil, release
}

// isLog reports whether an open log has exactly the bytes of a proof. One that
// was only appended to has the bytes of source first.
func isLog(ctx context.Context, log *os.File, known session.LogProof, source SourceProof) (bool, error) {
	info, err := log.Stat()
	if err != nil || info.Size() != known.Size {
		return false, err
	}
	if known.SHA256 != "" {
		return session.Snapshot{Size: known.Size, SHA256: known.SHA256}.Begins(ctx, log)
	}
	same, err := session.Snapshot{Size: source.Bytes, SHA256: source.SHA256}.Begins(ctx, log)
	if err != nil || !same || known.Added == "" {
		return same, err
	}
	added := sha256.New()
	_, err = io.Copy(added, io.NewSectionReader(log, source.Bytes, known.Size-source.Bytes))
	return hex.EncodeToString(added.Sum(nil)) == known.Added, err
}

// isBack reports whether the log that was replaced lies beside the one that was
// put back, or, where there was none, whether the log is there; the runtime may
// have gone on with it.
func (f logFiles) isBack(ctx context.Context, in Intent) (bool, error) {
	if !in.replaces() {
		return f.begins(ctx, in.Restore)
	}
	for _, path := range []string{in.Rotation.Kept, in.Restore.SecondKept} {
		snap, err := f.snapshot(ctx, path)
		if path == "" || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		if snap.SHA256 != in.Restore.Archive.SHA256 {
			_, err := f.pins.Lstat(in.Restore.Path)
			return err == nil, nil
		}
	}
	return false, nil
}

// asBusy turns the error of a log that somebody else has open into a BusyError.
func asBusy(path string, err error) error {
	if errors.Is(err, durable.ErrHeld) {
		return &session.BusyError{Path: path, Reason: session.ReasonOpenElsewhere.Text()}
	}
	return err
}

// grace is how long an old log is watched for late writers where the system
// has no file leases (docs/dev/decisions.md D14).
const grace = 24 * time.Hour
