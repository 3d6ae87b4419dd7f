package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type pruneOptions struct {
	MaxAge     string
	Keep       int
	Agent      string
	LastCopies bool
	Grace      string
	DryRun     bool
	Yes        bool
	Force      bool
	Undelete   string

	maxAge, grace time.Duration
}

func (o *pruneOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.MaxAge, "max-age", "", "only archives older than this `age`: 90d, 26w, 720h")
	fs.IntVar(&o.Keep, "keep", 3, "keep the newest `N` archives of every agent")
	fs.StringVar(&o.Agent, "agent", "", "only archives of this `agent`")
	fs.BoolVar(&o.LastCopies, "last-copies", false, "also archives whose bytes are nowhere else; memory must have what they say")
	fs.StringVar(&o.Grace, "grace", "7d", "how long they can be brought back, as an `age`")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
	fs.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	fs.BoolVar(&o.Force, "force", false, "allow more than half of an agent's archives, and an age under a day")
	fs.StringVar(&o.Undelete, "undelete", "", "bring the archive with this `id` back from the trash")
}

func (o *pruneOptions) validate() (err error) {
	const see = "see sessctl archive prune --help"
	if o.Undelete != "" {
		return nil
	}
	if o.MaxAge == "" {
		return usageError("sessctl archive prune --max-age 90d --dry-run", "how old? --max-age is needed")
	}
	if o.maxAge, err = parseAgo(o.MaxAge); err != nil || o.maxAge < 0 {
		return usageError("write 90d, 26w or 720h", "--max-age: %q is no age", o.MaxAge)
	}
	if o.Grace == "" {
		o.Grace = "7d"
	}
	if o.grace, err = parseAgo(o.Grace); err != nil || o.grace < 0 {
		return usageError("write 7d or 24h", "--grace: %q is no age", o.Grace)
	}
	switch {
	case o.Keep < 0:
		return usageError(see, "--keep must not be negative")
	case o.maxAge < 24*time.Hour && !o.Force:
		return usageError("--force allows it", "--max-age %s is less than a day", o.MaxAge)
	}
	return nil
}

func newArchivePruneCommand(a *app) *cobra.Command {
	var o pruneOptions
	c := &cobra.Command{
		Use:   "prune",
		Short: "Delete old archives whose bytes are somewhere else too",
		Long: `Delete archives that are older than an age, with rules that keep conversations
from being lost. The newest of every agent stay. An archive goes only if it
verifies, and if its bytes are also in a newer archive of the session, which is
read to its end, or in the session's log. With --last-copies others go too, if
memory has all that they say.

What goes waits in a trash beside it for seven days and can be brought back with
--undelete; what has waited longer is removed for good. Every step has a line in
audit.jsonl under the data directory. Without a terminal --yes is needed.
` + exitHelp,
		Example: `  sessctl archive prune --max-age 90d --dry-run
  sessctl archive prune --max-age 90d --keep 5 --yes
  sessctl archive prune --undelete 3f9a2c`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if o.Undelete != "" {
				return runUndelete(c.Context(), a, o.Undelete)
			}
			return runPrune(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

// pruneDocument is `archive prune --json`.
type pruneDocument struct {
	Schema   int        `json:"schema"`
	DryRun   bool       `json:"dry_run"`
	MaxAge   string     `json:"max_age"`
	Keep     int        `json:"keep"`
	Archives []pruneRow `json:"archives"`
	Bytes    int64      `json:"bytes"` // of the files that go
	Notes    []note     `json:"notes"`
}

// pruneRow is one archive, or one file in the trash.
type pruneRow struct {
	ID        string `json:"id"`
	Runtime   string `json:"runtime"`
	Agent     string `json:"agent"`
	Session   string `json:"session"`
	Path      string `json:"path"`
	SHA256    string `json:"sha256"`
	Bytes     int64  `json:"stored_bytes"`
	CreatedAt string `json:"created_at"`
	Outcome   string `json:"outcome"` // trash, purge or kept
	Reason    string `json:"reason"`  // where else its bytes are, or why it stays
}

func runPrune(ctx context.Context, a *app, o pruneOptions) error {
	p, err := a.newPruner(o)
	if err != nil {
		return err
	}
	if o.DryRun {
		if err := p.plan(ctx); err != nil {
			return err
		}
		if !o.Force {
			a.noteTooMuch("archives", p.verdicts)
		}
		return p.render()
	}
	h, err := a.openVault(ctx, "archive")
	if err != nil {
		return err
	}
	defer h.close()
	if _, err := h.settleVault(ctx, a, nil, settling()); err != nil {
		return err
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	if err := p.plan(ctx); err != nil {
		return err
	}
	if err := p.agreed(); err != nil {
		return err
	}
	if err := p.carryOut(ctx); err != nil {
		return err
	}
	return p.render()
}

// agreed refuses what is too much, and asks.
func (p *pruner) agreed() error {
	if err := refuseTooMuch("archives", p.verdicts); err != nil && !p.options.Force {
		return err
	}
	going := p.going()
	if len(going) == 0 || p.options.Yes {
		return nil
	}
	if !p.app.global.JSON {
		if err := p.list(); err != nil {
			return err
		}
	}
	return p.app.confirm(fmt.Sprintf("delete %s?", plural(len(going), "archive")))
}

func (p *pruner) render() error {
	p.doc.Notes = p.app.notes
	if p.app.global.JSON {
		return p.app.printJSON(p.doc)
	}
	if err := p.list(); err != nil {
		return err
	}
	what := map[bool]string{true: "would be deleted", false: "deleted"}[p.doc.DryRun]
	_, err := fmt.Fprintf(p.app.Out, "%s (%s) %s\n", plural(len(p.going()), "archive"), formatBytes(p.doc.Bytes), what)
	return err
}

// list shows what goes, and of what is old enough why it stays.
func (p *pruner) list() error {
	var rows [][]string
	for _, r := range p.doc.Archives {
		rows = append(rows, []string{r.Outcome, r.ID, visible(r.Agent), visible(r.Session), r.CreatedAt, visible(r.Reason)})
	}
	return p.app.printRows(rows)
}
