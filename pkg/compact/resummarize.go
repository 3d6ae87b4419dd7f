package compact

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
)

// Resummarized is the outcome of a summary that was made again.
const Resummarized Outcome = "resummarized"

// Upgradable returns the newest receipt of each session whose summary was to
// be written by a model and was not, oldest first; with every also those whose
// summary no model was asked for. A compaction that was undone has none.
func Upgradable(receipts []Receipt, every bool) []Receipt {
	undone := UndoneBy(receipts)
	newest := map[[3]string]Receipt{}
	for _, r := range receipts {
		if _, gone := undone[r.ID]; gone || r.Summary == nil || r.Archive == nil {
			continue
		}
		of := [3]string{r.Runtime, r.Agent, r.Session}
		if newest[of].ID <= r.ID {
			newest[of] = r
		}
	}
	var all []Receipt
	for _, r := range newest {
		if r.Summary.Degraded || every && r.Summary.Model == "" {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(x, y Receipt) int { return cmp.Compare(x.ID, y.ID) })
	return all
}

// Resummarize makes the summary of an archived log again and puts it in the
// place of the old one in memory; the session itself is not touched. store
// need only be able to read the log's format. Where the model fails again the
// old summary stays, and the outcome is NothingToDo with the reason.
func (c *Compactor) Resummarize(ctx context.Context, store session.Store, old Receipt, policy Policy) (Result, error) {
	r := &run{Compactor: c, store: store, policy: policy, plan: &Plan{Ref: old.ref()}, result: old.Result}
	r.archived = Archived{ID: old.Archive.ID, Path: old.Archive.Path, SHA256: old.Archive.SHA256, Bytes: old.Archive.Bytes}
	r.result.Receipt, r.result.Reason, r.result.Chunks, r.result.TokensAfter = "", "", 0, old.TokensBefore
	err := r.resummarize(ctx, old)
	if err != nil {
		r.result.Outcome, r.result.Reason, r.result.Summary = Failed, err.Error(), old.Summary
	}
	return r.result, err
}

func (r *run) resummarize(ctx context.Context, old Receipt) error {
	m, err := r.listen(ctx, old)
	if err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	records, err := m.conclude(ctx)
	if err != nil {
		return err
	}
	if m.made == nil || m.made.Model == "" {
		r.result.Outcome, r.result.Reason = NothingToDo, "the summary stays as it is: "+m.text.Wrote.Reason
		return nil
	}
	if _, err := r.Rememberer.Remember(ctx, r.plan.Ref, r.archived, each(records)); err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	if err := r.embed(ctx); err != nil {
		return err
	}
	r.spent.add(m.text.Wrote)
	r.result.Outcome, r.result.Summary = Resummarized, m.made
	id := r.NewID()
	receipt := r.newReceipt(id)
	receipt.Source, receipt.Content = old.Source, old.Content
	r.result.Receipt = r.Receipts.Path(id)
	receipt.Receipt = r.result.Receipt
	if _, err := r.Receipts.Write(receipt); err != nil {
		return fmt.Errorf("write the receipt: %w", err)
	}
	return nil
}

// listen reads the archived log for its summarizer. What was summed up then is
// summed up now.
func (r *run) listen(ctx context.Context, old Receipt) (*memoir, error) {
	open := func() (io.ReadCloser, error) { return r.Archiver.Open(ctx, r.archived) }
	survey, err := takeSurvey(ctx, r.store, r.policy.survey(), open)
	if err != nil {
		return nil, err
	}
	m := &memoir{store: r.store, ref: r.plan.Ref, policy: r.policy, tree: forked(survey.Scan.Tree), open: open, cut: old.Cut}
	order := SummaryOrder{Ref: r.plan.Ref}
	if old.Cut != nil {
		order.SplitTurn = old.Cut.SplitTurn
	}
	m.summary = r.Summarizer(order)
	for _, err := range m.history(ctx) {
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// ref is the session that a receipt is about, as far as the receipt tells.
func (r Receipt) ref() session.Ref {
	return session.Ref{Runtime: r.Runtime, Agent: r.Agent, ID: r.Session, Key: r.Key, Path: r.Path}
}
