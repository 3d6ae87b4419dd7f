package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// RestoreOptions are the options of restore.
type RestoreOptions struct {
	To     string
	Force  bool
	DryRun bool
	Quiet  time.Duration
}

// RestoreDocument is `restore --json`.
type RestoreDocument struct {
	Schema   int                  `json:"schema"`
	DryRun   bool                 `json:"dry_run"`
	Outcome  string               `json:"outcome"` // restored, planned, nothing-to-do
	Reason   string               `json:"reason"`
	Archive  selection.ArchiveRow `json:"archive"`
	Path     string               `json:"path"`
	SHA256   string               `json:"sha256"`
	Bytes    int64                `json:"bytes"`
	Orphan   bool                 `json:"orphan"` // the runtime's index does not name the log
	Replaced *replacedLog         `json:"replaced"`
	Files    int                  `json:"files,omitempty"`    // that the log names and that were put back with it; in a dry run all that it names
	FilesIn  string               `json:"files_in,omitempty"` // the directory that they are put into, with --to
	Notes    []workspace.Note     `json:"notes"`

	// Also are the further databases that the same rows came from.
	Also []AlsoRestored `json:"also,omitempty"`
}

// replacedLog is the log that was at the place before.
type replacedLog struct {
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
	Archive string `json:"archive"` // id of its copy; "" in a dry run
	Kept    string `json:"kept"`    // where it lies now; "" in a dry run
}

// Restore does what was planned, and notes in doc what was seen afterwards.
func Restore(ctx context.Context, run *workspace.Run, w *workspace.Workspace, plan *compact.RestorePlan, doc *RestoreDocument) error {
	result, err := w.Compactor.Restore(ctx, plan)
	if err != nil {
		return err
	}
	doc.done(result)
	if result.Outcome != compact.Restored {
		return nil
	}
	return noteRestored(run, plan)
}

// CheckArchive holds the entry of an archive that is about to be put back against the
// ledger and the receipts.
func CheckArchive(ctx context.Context, run *workspace.Run, entry archive.Entry) error {
	returns, err := audit.NewReturns(ctx, run)
	if err != nil {
		return err
	}
	return returns.Archive(entry.ID, entry.SHA256)
}

// WarnOfLonger says that an archive is only the beginning of a longer one, if it is.
func WarnOfLonger(ctx context.Context, run *workspace.Run, archives *archive.Store, entry archive.Entry) error {
	longer, err := selection.LongerArchive(ctx, archives, entry)
	if err != nil || longer.ID == "" {
		return err
	}
	run.Notice(workspace.Note{
		Hint: "sessctl restore " + longer.ID + " restores all of it",
		Message: fmt.Sprintf("archive %s of this session goes on after %s: it has %s bytes in %s, this one %s in %s", longer.ID, entry.ID,
			wording.Count(longer.Bytes), wording.Plural(int(longer.Lines), "line"), wording.Count(entry.Bytes), wording.Plural(int(entry.Lines), "line")),
	})
	return nil
}

// CountAttached is [RestoreAttached] in a dry run: it returns how many files the
// log names.
func CountAttached(ctx context.Context, _ *workspace.Run, w *workspace.Workspace, entry archive.Entry, _ compact.RestoreRequest) (int, error) {
	hashes, err := audit.AttachedTo(ctx, w.Archives, entry)
	return len(hashes), err
}

// noteRestored adds to the audit log that an archived log was put somewhere.
func noteRestored(run *workspace.Run, p *compact.RestorePlan) error {
	return run.Audit().Append(retention.Line{
		Time: run.Now().UTC(), Action: retention.ActionRestore, Kind: "session", Path: p.Place.Path,
		SHA256: p.Archive.SHA256, Bytes: p.Archive.Bytes, Archive: p.Archive.ID, Rule: "restore",
	})
}

// RestoreRequest finds the place: in a store that is found or named, or with
// --to anywhere.
func RestoreRequest(ctx context.Context, run *workspace.Run, entry archive.Entry, d compact.Destination, o RestoreOptions) (compact.RestoreRequest, error) {
	r := compact.RestoreRequest{
		Archive: workspace.ArchivedOf(entry),
		ModTime: entry.SourceModTime, Force: o.Force, Quiet: o.Quiet,
	}
	stores, err := run.OpenStores()
	if err != nil {
		return r, err
	}
	if d.To != "" {
		d.To = workspace.Absolute(d.To)
		if err := workspace.RefuseOwn(ctx, run, d.To, "--to"); err != nil {
			return r, err
		}
	}
	r.Place, r.Store, err = compact.FindPlace(ctx, stores, d, run.Now())
	return r, placeFailure(run, err, d, entry)
}

// placeFailure adds what a person can do where no log can be put.
func placeFailure(run *workspace.Run, err error, d compact.Destination, entry archive.Entry) error {
	switch {
	case errors.Is(err, session.ErrUnsupported):
		return &failure.Error{
			Code: "unsupported", Exit: failure.ExitFailed, Path: cmp.Or(d.To, entry.Source), Err: err,
			Hint: "sessctl restore " + entry.ID + " --to FILE puts the log into a file elsewhere",
		}
	case errors.Is(err, session.ErrElsewhere):
		return &failure.Error{
			Code: "no_store", Exit: failure.ExitFailed, Path: entry.Source,
			Hint: selection.ElsewhereHint(run, entry),
			Err:  fmt.Errorf("the session came from %s, which is in no store that was found and into which a log can be put", entry.Source),
		}
	case errors.Is(err, compact.ErrDirectory):
		return failure.Usage("name a file: "+filepath.Join(d.To, filepath.Base(entry.Source)), "--to: %w", err)
	}
	return err
}

// RestoreFailure adds what a person can do about other bytes.
func RestoreFailure(err error) error {
	var different *compact.DifferentError
	if !errors.As(err, &different) {
		return err
	}
	if different.Owned {
		return &failure.Error{
			Code: "different", Exit: failure.ExitFailed, Path: different.Path, Err: err,
			Hint: "only the runtime itself changes its logs: --to FILE puts the archived one elsewhere",
		}
	}
	return &failure.Error{
		Code: "different", Exit: failure.ExitFailed, Path: different.Path, Err: err,
		Hint: "--force archives what is there and puts the archived log in its place; --to FILE puts it elsewhere",
	}
}

// NewRestoreDocument is what a restore did, as JSON.
func NewRestoreDocument(entry archive.Entry, p *compact.RestorePlan) RestoreDocument {
	doc := RestoreDocument{
		Schema: 1, Outcome: string(p.Outcome), Reason: p.Reason, Archive: NewArchiveRow(entry), Path: p.Place.Path,
		SHA256: entry.SHA256, Bytes: entry.Bytes, Orphan: p.Place.Orphan,
	}
	if p.There != nil {
		doc.Replaced = &replacedLog{Bytes: p.There.Size, SHA256: p.There.SHA256}
	}
	return doc
}

// done notes what came of the plan.
func (d *RestoreDocument) done(r compact.RestoreResult) {
	d.Outcome = string(r.Outcome)
	if r.Replaced != nil && d.Replaced != nil {
		d.Replaced.Archive, d.Replaced.Kept = r.Replaced.ID, r.Kept
	}
}

// UndoHint names the receipt that would let the runtime continue the session
// again, if it was a compaction that took it away.
func UndoHint(ctx context.Context, run *workspace.Run, entry archive.Entry) (string, error) {
	receipts, _, err := run.Receipts().Examine() // doctor and verify tell of those that cannot be read
	if err != nil || ctx.Err() != nil {
		return "", err
	}
	for i := len(receipts) - 1; i >= 0; i-- {
		r := receipts[i]
		if r.Outcome == compact.Compacted && r.Archive != nil && r.Archive.ID == entry.ID {
			return "sessctl undo " + r.ID + " also makes the runtime continue it", nil
		}
	}
	return "", nil
}

// OutcomeLine says what became of one place.
func OutcomeLine(outcome, path, reason string) string {
	what := map[string]string{"restored": "restored", "planned": "would restore", "nothing-to-do": "nothing to do", "failed": "not restored"}[outcome]
	if reason != "" {
		reason = " (" + wording.Visible(reason) + ")"
	}
	return what + ": " + wording.Visible(path) + reason
}

// DescribeRestore is the document for people.
func DescribeRestore(d RestoreDocument) string {
	text := OutcomeLine(d.Outcome, d.Path, d.Reason)
	text += fmt.Sprintf("\n  from      archive %s, %s, sha256 %s\n", d.Archive.ID, wording.Bytes(d.Bytes), d.SHA256)
	if d.Files > 0 {
		text += fmt.Sprintf("  with      %s that it names", wording.Plural(d.Files, "file"))
		if d.FilesIn != "" {
			text += ", in " + wording.Visible(d.FilesIn)
		}
		text += "\n"
	}
	if d.Replaced == nil {
		return text
	}
	switch {
	case d.Replaced.Archive == "" && d.Replaced.Bytes == 0:
		return text + map[bool]string{true: "  replaces  an empty log\n", false: "  replaced  an empty log\n"}[d.DryRun]
	case d.Replaced.Archive == "":
		return text + fmt.Sprintf("  replaces  %s, which would be archived first\n", wording.Bytes(d.Replaced.Bytes))
	}
	return text + fmt.Sprintf("  replaced  %s, archived as %s, now at %s\n", wording.Bytes(d.Replaced.Bytes), d.Replaced.Archive, wording.Visible(d.Replaced.Kept))
}
