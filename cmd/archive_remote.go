package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/archive/objects"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addUploadFlags(o *workspace.UploadOptions, fs *pflag.FlagSet) {
	fs.StringVar((*string)(&o.Agent), "agent", "", "only archives of this `agent` or runtime/agent")
	fs.BoolVar(&o.DryRun, "dry-run", false, "show what would be uploaded and change nothing")
}

func newArchiveUploadCommand(a *app) *cobra.Command {
	var o workspace.UploadOptions
	c := &cobra.Command{
		Use:   "upload [ID]...",
		Short: "Copy archives to object storage and read their checksums back",
		Long: `Copy archives that have no copy there yet to the object storage of
archive.remote, s3://bucket/prefix. The storage is asked which copies it has: one
that is gone, or that was overwritten, is made again under another name. An
archive is called off-site when the storage has given the checksum of the copy
back. Nothing there is ever replaced or deleted, and nothing here.

The keys are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or those of
~/.aws/credentials. An upload that was interrupted is taken up by the next one.
Of an archive that is named by its ID the copy is read to its end, and made again
if it is gone or damaged.`,
		Example: `  sessctl archives upload --dry-run
  sessctl archives upload
  sessctl archives upload 3f9a2c`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			o.IDs = args
			return runArchiveUpload(c.Context(), a, o)
		},
	}
	addUploadFlags(&o, c.Flags())
	return c
}

func runArchiveUpload(ctx context.Context, a *app, o workspace.UploadOptions) error {
	bucket, err := workspace.Bucket(a.Run)
	if err != nil {
		return err
	}
	w, err := workspace.OpenOffsite(ctx, a.Run, o.DryRun)
	if err != nil {
		return err
	}
	defer w.Close()
	entries, err := audit.ChooseArchives(ctx, w.Archives, selection.Scope{Runtime: a.Global.Runtime, Agent: o.Agent}, o.IDs)
	if err == nil && len(entries) == 0 {
		err = selection.CheckAgent(ctx, a.Run, nil, o.Agent)
	}
	if err != nil {
		return err
	}
	doc := workspace.UploadDocument{Schema: 1, DryRun: o.DryRun, Remote: bucket.URL(), Archives: []workspace.UploadRow{}}
	if len(o.IDs) == 0 { // of one that is named the copy is read again
		if doc.OffSite, entries, err = workspace.SplitOffSite(ctx, bucket, entries); err != nil {
			return workspace.ExplainBucket(fmt.Errorf("%w; %s left", err, wording.Plural(len(entries), "archive")))
		}
	}
	u := workspace.Uploader{Run: a.Run, Bucket: bucket, Archives: w.Archives, Doc: &doc}
	err = u.All(ctx, w.Progress, entries)
	w.Progress.Clear()
	if err != nil {
		return errors.Join(printUpload(a, doc), doc.Partly(err)) // what is done is told
	}
	if len(o.IDs) == 0 {
		if doc.Records, err = uploadRecords(ctx, a, bucket, o.DryRun); err != nil {
			return errors.Join(printUpload(a, doc), doc.Partly(workspace.ExplainBucket(err)))
		}
	}
	tellRecords(a, doc, "uploaded")
	if len(doc.Archives) == 0 {
		a.Notice(workspace.Note{Message: fmt.Sprintf("nothing to upload: %s has the copies of %s", doc.Remote, wording.Plural(doc.OffSite, "archive"))})
	}
	w.Progress.End(wording.Plural(len(doc.Archives), "archive") + " (" + wording.Bytes(doc.Bytes) + ")")
	return renderUpload(a, doc)
}

// uploadRecords puts the records of this host beside the copies.
func uploadRecords(ctx context.Context, a *app, bucket *objects.Bucket, dryRun bool) (int, error) {
	host, err := recall.OwnHost(&a.Run.Settings)
	if err != nil {
		return 0, err
	}
	return steps.UploadRecords(ctx, a.Run, objects.Records{Bucket: bucket}, host, dryRun)
}

// tellRecords says how many records of this host went with the archives.
func tellRecords(a *app, doc workspace.UploadDocument, done string) {
	if doc.DryRun {
		done = "would be " + done
	}
	if doc.Records > 0 {
		a.Notice(workspace.Note{Message: fmt.Sprintf("receipts, pins and what was forgotten: %s %s", wording.Plural(doc.Records, "file"), done)})
	}
}

// renderUpload prints what came of an upload or a pull, and is its outcome.
func renderUpload(a *app, doc workspace.UploadDocument) error {
	return cmp.Or(printUpload(a, doc), workspace.UploadOutcome(doc.Archives))
}

func printUpload(a *app, doc workspace.UploadDocument) error {
	doc.Notes = a.Notes
	if a.JSON {
		return a.printJSON(doc)
	}
	t := table{columns: []column{
		{name: "ID"}, {name: "RUNTIME", drop: 2}, {name: "AGENT", least: 8}, {name: "SESSION", least: 12}, {name: "SIZE", right: true, drop: 1}, {name: "WHAT"}, {name: "WHERE", least: 20},
	}}
	var rows [][]string
	for _, r := range doc.Archives {
		where := cmp.Or(r.Reason, r.URL)
		rows = append(rows, []string{r.ID, wording.Visible(r.Agent), wording.Visible(r.Session), r.Outcome, wording.Visible(where)})
		t.rows = append(t.rows, []string{r.ID, r.Runtime, r.Agent, r.Session, wording.Bytes(r.Bytes), r.Outcome, where})
	}
	if len(rows) == 0 {
		return nil
	}
	return a.printList(t, rows)
}

func newArchivePullCommand(a *app) *cobra.Command {
	var dryRun bool
	var host string
	c := &cobra.Command{
		Use:   "pull",
		Short: "Enter the archives of object storage that the catalogue does not have",
		Long: `Read the entries of all copies below archive.remote and enter those that the
catalogue does not have: archives of other hosts, or one's own after a loss. The
archives themselves stay where they are; show, restore and memory reindex
--from-archives fetch each when it is read.

What was forgotten on a host of the storage is entered too, and is forgotten here.
Where this data directory has no receipts and no pins, it gets those of the host
that was lost.`,
		Example: `  sessctl archives pull
  sessctl archives list
  sessctl memory reindex --from-archives`,
		RunE: func(c *cobra.Command, _ []string) error { return runArchivePull(c.Context(), a, dryRun, host) },
	}
	c.Flags().StringVar(&host, "host", "", "enter the receipts and pins of this `host` (default: the name of this one)")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be entered and change nothing")
	return c
}

func runArchivePull(ctx context.Context, a *app, dryRun bool, host string) error {
	asked := host != ""
	if !asked {
		own, err := recall.OwnHost(&a.Run.Settings)
		if err != nil {
			return err
		}
		host = own
	}
	bucket, err := workspace.Bucket(a.Run)
	if err != nil {
		return err
	}
	w, err := workspace.OpenOffsite(ctx, a.Run, dryRun)
	if err != nil {
		return err
	}
	defer w.Close()
	known, err := w.Archives.List(ctx, archive.Filter{})
	if err != nil {
		return err
	}
	returns, err := audit.NewReturns(ctx, a.Run)
	if err != nil {
		return err
	}
	doc := workspace.UploadDocument{Schema: 1, DryRun: dryRun, Remote: bucket.URL(), Archives: []workspace.UploadRow{}}
	for e, err := range bucket.Entries(ctx) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && workspace.OfAll(err):
			return workspace.ExplainBucket(err)
		case err != nil:
			doc.Archives = append(doc.Archives, workspace.UploadRow{Outcome: workspace.OutcomeFailed, Reason: err.Error()})
			continue
		case slices.ContainsFunc(known, func(k archive.Entry) bool { return k.ID == e.ID }):
			doc.OffSite++
			continue
		}
		row, err := workspace.NewUploadRow(e, workspace.OutcomePlanned), returns.Contradiction(e.ID, e.SHA256)
		if err == nil && !dryRun {
			row.Outcome = workspace.OutcomeFound
			_, err = w.Archives.Adopt(ctx, e)
		}
		if err != nil {
			row.Outcome, row.Reason = workspace.OutcomeFailed, err.Error()
		}
		doc.Archives = append(doc.Archives, row)
	}
	w.Progress.Clear()
	if doc.Records, err = steps.PullRecords(ctx, a.Run, objects.Records{Bucket: bucket}, steps.PullOptions{Host: host, Asked: asked, DryRun: dryRun, Returns: returns}); err != nil {
		return errors.Join(printUpload(a, doc), workspace.ExplainBucket(err))
	}
	tellRecords(a, doc, "entered")
	if len(doc.Archives) == 0 {
		a.Notice(workspace.Note{Message: fmt.Sprintf("nothing to enter: the catalogue has all %d archives of %s", doc.OffSite, doc.Remote)})
	}
	return renderUpload(a, doc)
}
