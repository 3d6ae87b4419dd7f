package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/facts"
	"github.com/sessctl/sessctl/pkg/memory"
)

func renderFacts(a *app, o steps.FactsOptions, doc steps.FactsDocument) error {
	doc.Notes = a.Notes
	if o.Lines {
		for _, s := range doc.Sessions {
			if err := printFactLines(a, s.Facts); err != nil {
				return err
			}
		}
		return nil
	}
	if a.JSON {
		return a.printJSON(doc)
	}
	for _, s := range doc.Sessions {
		if err := renderFactsSession(a, s); err != nil {
			return err
		}
	}
	return nil
}

func printFactLines(a *app, rows []recall.FactRow) error {
	for _, f := range rows {
		if err := writeJSON(a.Out, "", f); err != nil {
			return err
		}
	}
	return nil
}

func renderFactsSession(a *app, s steps.FactsSession) error {
	what := s.Outcome
	if s.Outcome == steps.FactsExtracted || s.Outcome == steps.FactsPlanned {
		what = fmt.Sprintf("%s: %s, %d known before", s.Outcome, wording.Plural(len(s.Facts), "new fact"), s.Repeated)
		if s.LeftOut > 0 {
			what += fmt.Sprintf(", %d left out by --max (--max 0 --force stores all)", s.LeftOut)
		}
	}
	if s.Reason != "" && s.Outcome != steps.FactsFailed {
		if s.Degraded {
			what += "; degraded"
		}
		what += " (" + s.Reason + ")"
	}
	whose := strings.TrimSpace(s.Agent + " " + s.Session) // the agent of a file may not be known
	if _, err := fmt.Fprintf(a.Out, "%s: %s\n", wording.Visible(whose), wording.Visible(what)); err != nil {
		return err
	}
	return renderFactRows(a, s.Facts)
}

func renderFactRows(a *app, rows []recall.FactRow) error {
	for _, f := range rows {
		_, err := fmt.Fprintf(a.Out, "  %-10s %.2f  %s\n%sline %d, %s: \"%s\"\n", f.Kind, f.Confidence, wording.Visible(f.Text), steps.FactIndent, f.Source.FirstLine, wording.Visible(f.Speaker), wording.Visible(f.Quote))
		for _, k := range f.Supersedes {
			_, err = fmt.Fprintf(a.Out, "%ssupersedes: %s (%s)\n", steps.FactIndent, wording.Visible(k.Text), steps.PlaceOfSuperseded(k, f.Session))
		}
		if f.SupersededBy != "" {
			_, err = fmt.Fprintf(a.Out, "%ssuperseded by %s\n", steps.FactIndent, f.SupersededBy)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func runListFacts(ctx context.Context, a *app, o steps.FactsOptions) error {
	list := steps.FactsList{Schema: 1, Facts: []recall.FactRow{}}
	store, err := memory.Open(ctx, a.MemoryDir(), memory.Options{ReadOnly: true, Pins: a.Pins})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open memory: %w", err)
	}
	if err == nil {
		defer store.Close()
		if err := selection.CheckAgent(ctx, a.Run, store, o.Agent); err != nil {
			return err
		}
		if o.Session, err = selection.SessionID(ctx, a.Run, store, o.Session, selection.Scope{Runtime: a.Global.Runtime, Agent: o.Agent}); err != nil {
			return err
		}
		known, err := store.Facts(ctx, memory.FactFilter{Runtime: a.Global.Runtime, Agent: o.Agent, Session: o.Session, Kind: o.Kind, Superseded: o.Superseded})
		if err != nil {
			return err
		}
		replaced, err := steps.ReplacedFacts(ctx, store, memory.FactFilter{Runtime: a.Global.Runtime, Agent: o.Agent})
		if err != nil {
			return err
		}
		for _, f := range known {
			if f.Damaged {
				a.Notice(workspace.Note{Message: "fact " + f.ID + " is damaged and not shown", Hint: "sessctl memory verify says more"})
				continue
			}
			f.ArchivePath = a.Moves().Path(f.ArchivePath)
			row := recall.NewFactRow(f)
			row.Supersedes = append(row.Supersedes, replaced[f.ID]...)
			list.Facts = append(list.Facts, row)
		}
	}
	list.Notes = a.Notes
	switch {
	case o.Lines:
		return printFactLines(a, list.Facts)
	case a.JSON:
		return a.printJSON(list)
	case len(list.Facts) == 0:
		a.Notice(workspace.Note{Message: "no facts are known", Hint: "sessctl extract-facts --all looks for them"})
	}
	return renderFactRows(a, list.Facts)
}

func (r *factsRun) writeFactsReceipt(t workspace.Found, row *steps.FactsSession, id string) error {
	receipt := steps.FactsReceipt{
		Schema: 1, ID: id, Version: r.Version, At: r.Now().UTC(), Runtime: t.Runtime, Agent: t.Agent, Session: row.Session, Path: t.Path,
		Bytes: t.Bytes, Messages: row.Messages, Rules: facts.Version, MadeBy: row.MadeBy, Degraded: row.Degraded, Reason: row.Reason,
		Calls: row.Calls, Tokens: row.Tokens, Stored: row.Stored, Repeated: row.Repeated, Refused: len(row.Refused), Facts: []steps.ProvenFact{},
	}
	for _, f := range row.Facts {
		p := steps.ProvenFact{ID: f.ID, Kind: f.Kind, Line: f.Source.FirstLine, Confidence: f.Confidence, Supersedes: []string{}}
		for _, s := range f.Supersedes {
			p.Supersedes = append(p.Supersedes, s.ID)
		}
		receipt.Facts = append(receipt.Facts, p)
	}
	if err := r.Pins.MakeDir(r.FactsReceiptsDir(), 0o700); err != nil {
		return fmt.Errorf("make receipts directory: %w", err)
	}
	path := filepath.Join(r.FactsReceiptsDir(), id+".json")
	if err := r.Pins.ReplaceFile(path, 0o600, func(w io.Writer) error { return writeJSON(w, "  ", receipt) }); err != nil {
		return fmt.Errorf("write the receipt: %w", err)
	}
	row.Receipt = path
	return nil
}
