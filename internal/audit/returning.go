package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/retention"
)

// Returns holds what is about to be brought back against those who know what it was:
// the ledger and the receipts. What cannot be compared is told, and comes back.
type Returns struct {
	run      *workspace.Run
	known    ledger.State
	receipts map[string][]compact.Receipt // by the archives that they name
}

// NewReturns reads the ledger and the receipts.
func NewReturns(ctx context.Context, run *workspace.Run) (*Returns, error) {
	r := &Returns{run: run, receipts: map[string][]compact.Receipt{}}
	var err error
	if r.known, err = workspace.LedgerOf(run).State(ctx); err != nil && ctx.Err() == nil {
		r.notCompared("the ledger", err)
		r.known = ledger.State{}
	}
	all, unreadable, err := run.Receipts().Examine()
	if err != nil {
		r.notCompared("receipts", err)
	}
	if len(unreadable) > 0 {
		r.notCompared(wording.Plural(len(unreadable), "receipt"), unreadable[0].Err)
	}
	for _, receipt := range all {
		for _, of := range []*compact.Archived{receipt.Archive, receipt.Late} {
			if of != nil {
				r.receipts[of.ID] = append(r.receipts[of.ID], receipt)
			}
		}
	}
	return r, ctx.Err()
}

func (r *Returns) notCompared(with string, err error) {
	r.run.Notice(workspace.Note{Message: "what comes back is not compared with " + with + ": " + err.Error()})
}

// Archive checks that an archive has the hash that the ledger and the receipts have of
// it. The error is [archive.ErrCorrupt] if not. One that the ledger does not know is told.
func (r *Returns) Archive(id, sha256 string) error {
	if hashIn(r.known, id) == "" && r.known.Size > 0 {
		r.run.Notice(workspace.Note{Message: "archive " + id + " is not compared with the ledger, which does not know it"})
	}
	return r.Contradiction(id, sha256)
}

// Contradiction is Archive for one that nobody here needs to know.
func (r *Returns) Contradiction(id, sha256 string) error {
	if hash := hashIn(r.known, id); hash != "" && hash != sha256 {
		return fmt.Errorf("archive %s: %w: the ledger has sha256 %s, and this is %s", id, archive.ErrCorrupt, hash, sha256)
	}
	for _, receipt := range r.receipts[id] {
		for _, of := range []*compact.Archived{receipt.Archive, receipt.Late} {
			if of != nil && of.ID == id && of.SHA256 != sha256 {
				return fmt.Errorf("archive %s: %w: receipt %s has sha256 %s, and this is %s", id, archive.ErrCorrupt, receipt.ID, of.SHA256, sha256)
			}
		}
	}
	return nil
}

// Receipt checks that a receipt is the one that the ledger has. The error is
// [compact.ErrDamagedRecord] if not.
func (r *Returns) Receipt(id string) error {
	f, ok := r.known.Receipts[id]
	if !ok {
		if r.known.Size > 0 {
			r.run.Notice(workspace.Note{Message: "receipt " + id + " is not compared with the ledger, which does not know it"})
		}
		return nil
	}
	hash, err := workspace.ReceiptHash(r.run.Receipts(), id)
	if err == nil && hash != f.SHA256 {
		err = fmt.Errorf("receipt %s: %w", id, errOtherReceipt)
	}
	return err
}

// ReceiptText checks the text of a receipt that is about to be entered, as Receipt does.
// One that the ledger does not know is no contradiction.
func (r *Returns) ReceiptText(id string, text []byte) error {
	f, ok := r.known.Receipts[id]
	if !ok {
		return nil
	}
	core, err := compact.CoreOf(bytes.NewReader(text))
	if err == nil && workspace.HashOfCore(core) != f.SHA256 {
		err = errOtherReceipt
	}
	if err != nil {
		return fmt.Errorf("receipt %s: %w", id, err)
	}
	return nil
}

var errOtherReceipt = fmt.Errorf("%w: it is not the one that the ledger has", compact.ErrDamagedRecord)

// Record checks that a record of the trash is one that the ledger has. The error is
// [errChanged] if not.
func (r *Returns) Record(item retention.Item) error {
	switch {
	case changedRecord(r.known, item):
		return errChanged
	case r.known.Size > 0 && !r.known.Records[item.Hash]:
		r.run.Notice(workspace.Note{Path: item.To, Message: "the record of it in the trash is not compared with the ledger, which does not know it"})
	}
	return nil
}

var errChanged = fmt.Errorf("%w: its record in the trash was changed", archive.ErrCorrupt)

// Trashed checks what a record of the trash says of a log against the ledger, and
// against the archive that has its bytes.
func (r *Returns) Trashed(ctx context.Context, archives *archive.Store, item retention.Item) error {
	if err := r.Record(item); err != nil {
		return err
	}
	of, err := retention.SessionOf(item)
	if err != nil || of.Archive == "" {
		return err // it was empty
	}
	if err := r.Archive(of.Archive, item.SHA256); err != nil {
		return err
	}
	e, err := archives.Get(ctx, of.Archive)
	switch {
	case errors.Is(err, archive.ErrNotFound):
		r.run.Notice(workspace.Note{Path: item.To, Message: "not compared with archive " + of.Archive + ", which the catalogue does not have"})
	case err != nil:
		return err
	case e.SHA256 != item.SHA256:
		return fmt.Errorf("archive %s: %w: it has sha256 %s, and the record of the trash %s", e.ID, archive.ErrCorrupt, e.SHA256, item.SHA256)
	}
	return nil
}

// hashIn is the hash that the ledger has of an archive, deleted or not; "" for one that
// it does not know.
func hashIn(known ledger.State, id string) string {
	if f, ok := known.Archives[id]; ok {
		return f.SHA256
	}
	for _, f := range known.Lines {
		if f.ID == id && f.What == ledger.OfArchive {
			return f.SHA256
		}
	}
	return ""
}
