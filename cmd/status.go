package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/pages"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/spf13/cobra"
)

func newStatusCommand(a *app) *cobra.Command {
	var o selection.HostsOption
	c := &cobra.Command{
		Use:   "status",
		Short: "Say whether anything is wrong, and what to type",
		Long: `One screen for the morning: what is wrong and the command that mends it, what is
due, how the last run of each profile ended, what no archive has yet, what a
runtime is going to delete, what compaction has saved, and when the archives
were last read. Nothing is changed, and no event is sent.

"all is well" is printed only where every store could be read, the last run of
every profile ended well, no profile has settings that a run would refuse, no
check has found damage, and nothing is due. With --quiet nothing is printed then,
so that cron mails only what is worth reading. The exit code is 3 where something
is wrong or could not be looked at.`,
		Example: `  sessctl status
  sessctl status --quiet
  sessctl status --host alpha,beta`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := read(&o, c); err != nil {
				return err
			}
			if o.Asked() {
				return runStatusOfHosts(c.Context(), a, o)
			}
			return runStatus(c.Context(), a)
		},
	}
	addHostsFlags(&o, c.Flags())
	return c
}

func runStatus(ctx context.Context, a *app) error {
	doc, err := audit.Status(ctx, a.Run, unusableSettings(a))
	if err != nil {
		return err
	}
	if doc.Notes = a.Notes; a.JSON {
		err = a.printJSON(doc)
	} else if !doc.Well || !a.Quiet {
		_, err = io.WriteString(a.Out, describeStatus(a, &doc))
	}
	return cmp.Or(err, statusOutcome(&doc))
}

// runStatusOfHosts prints the status of several hosts, one after the other.
func runStatusOfHosts(ctx context.Context, a *app, o selection.HostsOption) error {
	doc := audit.StatusDocument{Schema: 1, Well: true}
	hosts, outcome := askHosts(ctx, a, &o, func(host string, there audit.StatusDocument) {
		there.Host = host
		doc.Well = doc.Well && there.Well
		doc.There = append(doc.There, there)
		recall.NoticeOf(a.Run, host, there.Notes)
	})
	if hosts == nil {
		return outcome
	}
	if doc.Hosts, doc.Notes = hosts, a.Notes; a.JSON {
		return cmp.Or(a.printJSON(doc), outcome, statusOutcome(&doc))
	}
	for i := range doc.There {
		there := &doc.There[i]
		if there.Well && a.Quiet {
			continue
		}
		if _, err := fmt.Fprintf(a.Out, "%s: %s", wording.Visible(there.Host), describeStatus(a, there)); err != nil {
			return err
		}
	}
	return cmp.Or(outcome, statusOutcome(&doc))
}

// statusOutcome is the exit code: that something is wrong was printed.
func statusOutcome(doc *audit.StatusDocument) error {
	for i := range doc.There {
		if err := statusOutcome(&doc.There[i]); err != nil {
			return err
		}
	}
	if len(doc.Wrong) > 0 {
		return &failure.Outcome{Exit: failure.ExitPartly}
	}
	return nil
}

// describeStatus is the screen.
func describeStatus(a *app, doc *audit.StatusDocument) string {
	var b strings.Builder
	line := func(what, text string) { fmt.Fprintf(&b, "  %-11s %s\n", what, wording.Visible(text)) }
	b.WriteString(doc.Headline() + "\n")
	for _, p := range doc.Wrong {
		line(p.What, a.problemText(p))
		if p.Advice != "" {
			line("", p.Advice)
		}
	}
	for _, u := range doc.Unread {
		if !u.Broken { // what is broken is a problem
			line("not read", a.Tilde(u.Note().Text()))
		}
	}
	for _, p := range doc.Due {
		line("due", fmt.Sprintf("%s: %s; %s", p.What, wording.Count(int64(p.Count)), p.Advice))
	}
	b.WriteByte('\n')
	describeRuns(line, doc)
	if grew := doc.Growth(); grew != "" {
		line("grew", grew)
	}
	for _, text := range doc.Going(func(at string) string { return pages.GoesOn(at, a.Now()) }) {
		line("will go", text)
	}
	if !doc.ArchivesKnown {
		line("archives", "not known: they could not be listed, see above")
		return b.String()
	}
	line("saved", fmt.Sprintf("%s tokens out of contexts by %s, %s out of logs", wording.Count(doc.Saved.Tokens), wording.Plural(doc.Saved.Compactions, "compaction"), wording.Bytes(doc.Saved.LogBytes)))
	line("verified", doc.Verified())
	return b.String()
}

func (a *app) problemText(p audit.StatusProblem) string {
	text := p.Message
	if p.Where != "" && !strings.Contains(text, p.Where) {
		text = a.Tilde(p.Where) + ": " + text
	}
	return text + wording.MoreLike(p.Count-1)
}

func describeRuns(line func(what, text string), doc *audit.StatusDocument) {
	runs := doc.Runs
	switch {
	case !doc.RunsKnown:
		line("last run", "not known: the records of runs could not be read, see above")
	case len(runs) == 0:
		line("last run", "none is on record; sessctl schedule install nightly runs every night")
	}
	for _, r := range runs[:min(len(runs), audit.MostOfStatus)] {
		text := fmt.Sprintf("%s, %s, %s", r.Profile, wording.ShownTime(r.Started), r.Outcome)
		if r.Seconds > 0 {
			text += " in " + steps.Took(r.Seconds)
		}
		if len(r.Summary) > 0 {
			text += "; " + strings.Join(r.Summary, "; ")
		}
		line("last run", text)
	}
}
