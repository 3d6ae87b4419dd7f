package cmd

import (
	"context"
	"io"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/spf13/cobra"
)

func newArchiveShowCommand(a *app) *cobra.Command {
	var o steps.ShowOptions
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Print an archived log, or some of its lines",
		Long: `Print an archived log. On a terminal its messages are shown as text, through
the pager that PAGER names; into a file or a pipe the bytes go out unchanged.
--raw prints the lines as they stand in the log on a terminal too, with control
characters made visible. ID is an archive's id, the start of one, or a session
id that has one archive.

--html writes the messages as a page for a browser, and prints its address: with
tool calls folded, code and diffs set as such, a search box, and every line at
#L<line>. It needs no network. A large session becomes several pages. Without a
file the page is kept in the data directory, where recall leads to it; memory
forget and archives prune remove it.

--summary prints the summary that memory has of the session instead.`,
		Example: `  sessctl archives show 3f9a2c --lines 120-140
  sessctl archives show 3f9a2c --text | grep -i importer
  sessctl archives show 3f9a2c > session.jsonl
  sessctl archives show 3f9a2c --html
  sessctl archives show 3f9a2c --html session.html --redact
  sessctl archives show 3f9a2c --summary`,
		Args: func(c *cobra.Command, args []string) error {
			if o.HTML == keptPage && len(args) == 2 {
				return nil
			}
			return usageArgs(cobra.ExactArgs(1))(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			id := o.TakeFile(args)
			if err := validatePage(&o, c, a); err != nil {
				return err
			}
			first, last, err := steps.ParseLines(o.Lines)
			if err != nil {
				return failure.Usage("write --lines 120-140", "--lines: %w", err)
			}
			if o.Text && o.Raw {
				return failure.Usage("one of them", "--text does not go with --raw")
			}
			if (o.Text || o.Raw) && a.JSON {
				return failure.Usage("--json prints the records", "--json goes with neither --text nor --raw")
			}
			o.LineRange = steps.LineRange{First: first, Last: last}
			return runArchiveShow(c.Context(), a, id, o)
		},
	}
	c.Flags().StringVar(&o.Lines, "lines", "", "only these `lines` (120-140), counted from 1")
	c.Flags().StringVar(&o.On, "on", "", "if it is not here: the copy that this `host` of the shared memory has on object storage")
	c.Flags().BoolVar(&o.Text, "text", false, "show the messages as text (the default on a terminal)")
	c.Flags().BoolVar(&o.Raw, "raw", false, "show the lines as they are (the default into a file or a pipe)")
	c.Flags().StringVar(&o.HTML, "html", "", "write the messages as a page to this `file` whose name ends in .html, - for stdout")
	c.Flags().Lookup("html").NoOptDefVal = keptPage
	c.Flags().BoolVar(&o.Summary, "summary", false, "print the summary of the session that is in memory")
	c.Flags().BoolVar(&o.Redact, "redact", false, "mask what looks like a secret, with --html or --text")
	return c
}

// validatePage looks at the options of pages.
func validatePage(o *steps.ShowOptions, c *cobra.Command, a *app) error {
	given := c.Flags().Changed("html")
	switch {
	case o.Summary && (given || o.Text || o.Raw || o.Redact || o.Lines != ""):
		return failure.Usage("sessctl archives show ID --summary", "--summary goes with none of --html, --text, --raw, --redact and --lines")
	case given && o.HTML == "":
		return failure.Usage("sessctl archives show ID --html session.html", "--html names no file")
	case given && (o.Text || o.Raw || o.Lines != ""):
		return failure.Usage("the page has every line at #L<line>", "--html goes with none of --text, --raw and --lines")
	case o.HTML == "-" && a.JSON:
		return failure.Usage("write the page to a file", "--html - does not go with --json: both print on stdout")
	case o.Redact && !given && (o.Raw || a.JSON || !o.Text && !a.OutTTY):
		return failure.Usage("add --text or --html", "--redact masks what is shown as text, not the lines as they are")
	}
	return nil
}

func runArchiveShow(ctx context.Context, a *app, id string, o steps.ShowOptions) error {
	store, err := a.OpenArchive()
	if err != nil {
		return err
	}
	entry, err := recall.FindArchive(ctx, a.Run, store, recall.Asked{Name: id, Lines: o.Lines, On: o.On})
	if err != nil {
		return err
	}
	switch {
	case o.Summary:
		return printSummary(ctx, a, entry)
	case o.HTML != "":
		return showPages(ctx, a, store, entry, o)
	case a.JSON:
		return printArchive(ctx, a, store, entry, o.LineRange)
	case steps.Readable(&a.Run.Settings, entry) && (o.Text || a.OutTTY && !o.Raw):
		return printText(ctx, a, store, entry, o)
	case o.Lines == "" && !a.OutTTY:
		return steps.CopyArchive(ctx, a.Out, store, entry)
	}
	return a.paged(ctx, printLines(a, store, entry, o.LineRange))
}

func printText(ctx context.Context, a *app, store *archive.Store, entry archive.Entry, o steps.ShowOptions) error {
	var text *archivedText
	err := a.paged(ctx, func(ctx context.Context, out io.Writer) error {
		text = newArchivedText(a, out, o.LineRange, o.Redact)
		return text.print(ctx, store, entry)
	})
	if err == nil {
		text.told()
		steps.TellContinue(a.Run, entry, a.OutTTY && o.Lines == "")
	}
	return err
}

// printSummary prints what memory has of a session. Where a model may read it, it is
// marked as quoted.
func printSummary(ctx context.Context, a *app, entry archive.Entry) error {
	doc, err := steps.ShowSummary(ctx, a.Run, entry)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.printJSON(doc)
	case !a.streams.OutTTY:
		_, err = io.WriteString(a.Out, steps.Quoted(doc.Text+"\n")+"\n")
		return err
	}
	return a.paged(ctx, func(_ context.Context, out io.Writer) error {
		_, err := io.WriteString(out, wording.VisibleText(doc.Text)+"\n")
		return err
	})
}

// printLines prints lines as they are, where it is told to.
func printLines(a *app, store *archive.Store, entry archive.Entry, lines steps.LineRange) func(context.Context, io.Writer) error {
	return func(ctx context.Context, out io.Writer) error {
		end := 0
		err := store.Lines(ctx, entry, lines.First, lines.Last, func(n int, piece []byte) error {
			end = n
			if a.OutTTY {
				piece = []byte(wording.VisibleText(string(piece)))
			}
			_, err := out.Write(piece)
			return err
		})
		if err != nil {
			return err
		}
		return lines.Check(ctx, a.Run, store, entry, end)
	}
}

func printArchive(ctx context.Context, a *app, store *archive.Store, entry archive.Entry, lines steps.LineRange) error {
	doc, err := steps.ShowArchive(ctx, a.Run, store, entry, lines)
	if err != nil {
		return err
	}
	return a.printJSON(doc)
}
