package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
)

// runDeposit puts the rows of an archived session back into every database that
// they came from, with its journal and with the sessions that its agents have
// begun.
func runDeposit(ctx context.Context, a *app, of steps.ArchivedRows, into []selection.Deposit) error {
	if !of.DryRun {
		w, err := workspace.Open(ctx, a.Run, workspace.Mode{Reason: "restore", Recover: &workspace.Recovery{Policy: a.RecoveryPolicy(), Optional: true}})
		if err != nil {
			return err
		}
		defer w.Close()
	}
	rows := make([]steps.AlsoRestored, 0, len(into))
	var failed []error
	for _, d := range into {
		row, err := steps.DepositOne(ctx, a.Run, of, d)
		if err != nil && (len(into) == 1 || ctx.Err() != nil) {
			return err
		}
		if err != nil {
			row.Outcome, row.Reason = string(compact.Failed), err.Error()
			failed = append(failed, err)
			a.Failed(steps.PlaceInDatabase(d, d.Source), err)
		}
		rows = append(rows, row)
	}
	doc := steps.RestoreDocument{Schema: 1, DryRun: of.DryRun, Outcome: rows[0].Outcome, Reason: rows[0].Reason, Archive: steps.NewArchiveRow(of.Entry), Path: rows[0].Path, SHA256: of.Entry.SHA256, Bytes: of.Entry.Bytes, Also: rows[1:]}
	return errors.Join(renderDeposit(a, doc), steps.DepositOutcome(failed, len(into)))
}

func renderDeposit(a *app, doc steps.RestoreDocument) error {
	doc.Notes = a.Notes
	if a.JSON {
		return a.printJSON(doc)
	}
	text := ""
	for _, row := range doc.Also {
		text += steps.OutcomeLine(row.Outcome, row.Path, row.Reason) + "\n"
	}
	_, err := fmt.Fprint(a.Out, steps.DescribeRestore(doc)+text)
	return err
}
