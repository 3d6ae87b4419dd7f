package cmd

import (
	"io"
	"strings"

	"github.com/sessctl/sessctl/internal/steps"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newContinueCommand(a *app) *cobra.Command {
	var o steps.ContinueOptions
	c := &cobra.Command{
		Use:   "continue SESSION --in RUNTIME",
		Short: "Go on with a session in another agent, with all that was said and done",
		Long:  steps.ContinueHelp,
		Example: `  sessctl continue 4f0c1d2e --in codex --dry-run
  sessctl continue agent:coordinator:main --in claude --cwd ~/project --budget 60000
  sessctl continue --file session.jsonl --in pi`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			o.Session = strings.Join(args, "")
			doc, err := steps.Continue(c.Context(), a.Run, o)
			if err != nil {
				return err
			}
			if doc.Notes = a.Notes; a.JSON {
				return a.printJSON(doc)
			}
			_, err = io.WriteString(a.Out, steps.DescribeContinue(doc))
			return err
		},
	}
	addContinueFlags(&o, c.Flags())
	return c
}

func addContinueFlags(o *steps.ContinueOptions, fs *pflag.FlagSet) {
	fs.StringVar(&o.File, "file", "", "any session `file` of any runtime, in any place")
	fs.StringVar(&o.In, "in", "", "the `runtime` that goes on")
	fs.StringVar(&o.Cwd, "cwd", "", "the working `directory` in which it goes on (default: the session's, else this one)")
	fs.StringVar(&o.Tools, "tools", "mixed", "calls: mixed (the target's name, else their own), mapped (else as text), text")
	fs.Int64Var(&o.Budget, "budget", 0, "at most about this many `tokens`: a summary takes the place of older turns (0: all)")
	fs.BoolVar(&o.KeepSecrets, "keep-secrets", false, "leave secrets as they are, for the same provider")
	fs.StringVar(&o.Images, "images", steps.ImagesAll, "images: all (what they show is not masked), none")
	fs.BoolVar(&o.Untested, "untested", false, "go on in a version that was not tried")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print what would arrive and change nothing")
	fs.DurationVar(&o.Quiet, "quiet-period", 0, "go on with no session that changed within this `duration` (default 1m)")
	fromConfig(fs, "quiet-period", "compaction.quiet_period")
}
