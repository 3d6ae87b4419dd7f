package cmd

import (
	"context"
	"fmt"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newArchiveVerifyCommand(a *app) *cobra.Command {
	var o audit.VerifyOptions
	c := &cobra.Command{
		Use:   "verify [ID]...",
		Short: "Read archives back and check them against their hashes and receipts",
		Long: `Read archives in full and compare length, lines and SHA-256 with what was
recorded when they were made. Compare every receipt with its archive (hash,
length, lines) and with memory: every chunk must exist and cover the same bytes
and characters as when it was stored. Exit code 4 means that something is
damaged or missing; every problem is listed.

Every copy is read in full, because only that finds bytes that have rotted.
--quick only checks that the files exist and have the right length.

--remote asks the object storage of archive.remote for length and checksum of
every copy there. An archive whose file is only there is always checked that way.
A storage may answer with the checksum that it was given at the upload:
--remote --read-data downloads every copy and hashes it, --remote
--read-data=10% a tenth of them, another tenth each day.
Of an encrypted copy the head is opened with the key of archive.identity; without
the key a note says that sessctl cannot tell whether it can be decrypted.`,
		Example: `  sessctl archives verify
  sessctl archives verify --remote
  sessctl archives verify --remote --read-data=10%
  sessctl archives verify --quick
  sessctl archives verify 3f9a2c`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			o.IDs, o.ReadCopies = args, c.Flags().Changed("read-data")
			if err := o.Validate(); err != nil {
				return err
			}
			return runArchiveVerify(c.Context(), a, o)
		},
	}
	addVerifyFlags(&o, c.Flags())
	return c
}

func addVerifyFlags(o *audit.VerifyOptions, fs *pflag.FlagSet) {
	fs.StringVar((*string)(&o.Agent), "agent", "", "only archives of this `agent` or runtime/agent")
	fs.StringVar(&o.ReadData, "read-data", "true", "read every copy in full and hash it; false reads none; with --remote those on object storage too, or a `part` of them, such as 10%")
	fs.Lookup("read-data").NoOptDefVal = "true"
	fs.BoolVar(&o.Quick, "quick", false, "read no copy, the same as --read-data=false")
	fs.BoolVar(&o.Remote, "remote", false, "also ask the object storage for the checksums of the copies there")
}

func runArchiveVerify(ctx context.Context, a *app, o audit.VerifyOptions) error {
	store, err := a.OpenArchive()
	if err != nil {
		return err
	}
	entries, err := audit.ChooseArchives(ctx, store, selection.Scope{Runtime: a.Global.Runtime, Agent: o.Agent}, o.IDs)
	if err == nil && len(entries) == 0 {
		err = selection.CheckAgent(ctx, a.Run, nil, o.Agent)
	}
	if err != nil {
		return err
	}
	doc := audit.VerifyDocument{Schema: 1, ReadData: o.Reads(), Problems: []audit.Problem{}, Verified: []audit.VerifyRow{}}
	if o.Plan {
		return planVerify(a, entries, doc)
	}
	bar := workspace.NewProgress(a.Run)
	defer bar.Clear()
	v := audit.Verifier{Archives: store, Doc: &doc, Remote: o.Remote, Parts: o.Parts(), Day: audit.DayOf(a.Now())}
	if v.Bucket, err = workspace.Bucket(a.Run); err != nil && (o.Remote || a.Config.Archive.Remote != "") {
		return err
	}
	if err := v.Entries(ctx, entries, bar); err != nil {
		return err
	}
	before := a.Incomplete
	if len(o.IDs) == 0 && o.Agent == "" {
		if err := audit.AddDamaged(ctx, store, &doc); err != nil {
			return err
		}
		bar.Draw("verify receipts and memory", 0, 1)
		if err := audit.VerifyReceipts(ctx, a.Run, &doc); err != nil {
			return err
		}
	}
	bar.Clear()
	v.NoteRemote(a.Run, entries)
	if a.Incomplete == before {
		audit.RecordCheck(a.Run, doc, o)
	}
	if err := renderVerify(a, doc); err != nil {
		return err
	}
	bar.End(wording.Plural(doc.Checked, "archive") + " (" + wording.Bytes(doc.Bytes) + ")")
	return v.Outcome(a.Run)
}

// runVerifyStep is archives verify as a step of a run. A catalogue that cannot be listed
// ends the command with 1; a run that has archived all has done part.
func runVerifyStep(ctx context.Context, a *app, o audit.VerifyOptions) error {
	store, err := a.OpenArchive()
	if err == nil {
		_, err = store.List(ctx, archive.Filter{})
	}
	if err == nil || ctx.Err() != nil {
		return runArchiveVerify(ctx, a, o)
	}
	a.PassOverBroken(a.CatalogueDir(), "no archive is verified", err)
	return renderVerify(a, audit.VerifyDocument{Schema: 1, ReadData: o.Reads(), Problems: []audit.Problem{}, Verified: []audit.VerifyRow{}})
}

// planVerify says what would be checked, of all archives and receipts.
func planVerify(a *app, entries []archive.Entry, doc audit.VerifyDocument) error {
	ids, err := a.Receipts().IDs()
	if err != nil {
		return err
	}
	doc.DryRun, doc.Checked, doc.Receipts = true, len(entries), len(ids)
	for _, e := range entries {
		doc.Bytes += e.Bytes
	}
	return renderVerify(a, doc)
}

func renderVerify(a *app, doc audit.VerifyDocument) error {
	doc.Notes = a.Notes
	if a.JSON {
		return a.printJSON(doc)
	}
	for _, p := range doc.Problems {
		_, _ = fmt.Fprintf(a.Out, "damaged\t%s\t%s\t%s\n", wording.Visible(p.ID), wording.Visible(p.Path), wording.Visible(p.Message))
	}
	if doc.OfMemory() > 0 {
		a.Hint(workspace.AdviseRebuild)
	}
	for _, advice := range audit.Advices(doc.Problems) {
		a.Hint(advice)
	}
	if len(doc.Problems) > doc.OfMemory() {
		a.Hint(audit.AdviseDamaged(doc.Problems...))
	}
	how := map[bool]string{true: "checked", false: "checked without reading the copies"}[doc.ReadData]
	if doc.DryRun {
		how = map[bool]string{true: "would be read and checked", false: "would be checked without reading the copies"}[doc.ReadData]
		_, err := fmt.Fprintf(a.Out, "%s (%s) and %s %s\n", wording.Plural(doc.Checked, "archive"), wording.Bytes(doc.Bytes), wording.Plural(doc.Receipts, "receipt"), how)
		return err
	}
	if doc.Copies > 0 {
		how += ", " + wording.Plural(doc.Copies, "object") + " of object storage read"
	}
	_, err := fmt.Fprintf(a.Out, "%s (%s) and %s %s, %s\n", wording.Plural(doc.Checked, "archive"), wording.Bytes(doc.Bytes), wording.Plural(doc.Receipts, "receipt"), how, wording.Plural(len(doc.Problems), "problem"))
	return err
}
