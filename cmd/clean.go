package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type cleanOptions struct {
	MaxAge   string
	Agent    string
	Archives bool
	Grace    string
	DryRun   bool
	Yes      bool
	Force    bool
	Undelete string

	maxAge, grace time.Duration
}

func (o *cleanOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.MaxAge, "max-age", "", "only sessions that nobody has used for this `age`: 7d, 4w, 240h")
	fs.StringVar(&o.Agent, "agent", "", "only sessions of this `agent`")
	fs.BoolVar(&o.Archives, "archives", false, "old archives too, by the rules of archive prune")
	fs.StringVar(&o.Grace, "grace", "7d", "how long what goes can be brought back, as an `age`")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
	fs.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	fs.BoolVar(&o.Force, "force", false, "allow more than half of an agent's sessions, and an age under a day")
	fs.StringVar(&o.Undelete, "undelete", "", "bring back the session with this `id`, or \"all\", from the trash")
	fromConfig(fs, "max-age", "clean.max_age")
	fromConfig(fs, "grace", "clean.grace")
}

func (o *cleanOptions) validate() (err error) {
	if o.Grace == "" {
		o.Grace = "7d"
	}
	if o.Undelete != "" {
		return nil
	}
	if o.MaxAge == "" {
		return usageError("sessctl clean --max-age 7d --dry-run", "how old? --max-age is needed")
	}
	if o.maxAge, err = parseAgo(o.MaxAge); err != nil || o.maxAge < 0 {
		return usageError("write 7d, 4w or 240h", "--max-age: %q is no age", o.MaxAge)
	}
	if o.grace, err = parseAgo(o.Grace); err != nil || o.grace < 0 {
		return usageError("write 7d or 24h", "--grace: %q is no age", o.Grace)
	}
	if o.maxAge < recentUse && !o.Force {
		return usageError("--force allows it", "--max-age %s is less than a day", o.MaxAge)
	}
	return nil
}

func newCleanCommand(a *app) *cobra.Command {
	var o cleanOptions
	c := &cobra.Command{
		Use:   "clean",
		Short: "Delete old sessions, once they are safe in the archive",
		Long: `Delete sessions that nobody has used for an age: logs that a runtime has closed,
and old sessions that it will not go on with by itself. A session goes only once
it is in the archive and the archive was read back; what has no archive gets one
first. The newest session of an agent stays, so does what an index names, what
somebody has open or has changed within a day, and what only its runtime may
change. Files that belong together go together.

What goes waits in a trash beside it for seven days and can be brought back with
--undelete; what has waited longer is removed for good. Every step has a line in
audit.jsonl under the data directory. Without a terminal --yes is needed.
` + exitHelp,
		Example: `  sessctl clean --max-age 7d --dry-run
  sessctl clean --max-age 7d --yes
  sessctl clean --max-age 30d --archives --yes
  sessctl clean --undelete 4f0c2a`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if o.Undelete != "" {
				return runCleanUndelete(c.Context(), a, o.Undelete)
			}
			return runClean(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

func runClean(ctx context.Context, a *app, o cleanOptions) error {
	c, err := a.newCleaner(o)
	if err != nil {
		return err
	}
	if o.DryRun {
		if err := c.plan(ctx); err != nil {
			return err
		}
		c.noteRefusal()
		return c.render()
	}
	h, err := a.openVault(ctx, "clean")
	if err != nil {
		return err
	}
	defer h.close()
	c.archives = h.archives
	all, _, err := a.listStores(ctx) // the plan says what is odd in them
	if err != nil {
		return err
	}
	if _, err := h.settleVault(ctx, a, all.sessions, settling()); err != nil {
		return err
	}
	if err := c.settle(); err != nil {
		return err
	}
	if err := c.plan(ctx); err != nil {
		return err
	}
	if err := c.agreed(); err != nil {
		return err
	}
	err = c.carryOut(ctx)
	return errors.Join(err, c.render(), c.outcome())
}

// noteRefusal says in a dry run what the real run would refuse.
func (c *cleaner) noteRefusal() {
	if c.options.Force {
		return
	}
	c.app.noteTooMuch("sessions", c.verdicts())
	if c.prune != nil {
		c.app.noteTooMuch("archives", c.prune.verdicts)
	}
}

// agreed refuses what is too much, and asks.
func (c *cleaner) agreed() error {
	if err := refuseTooMuch("sessions", c.verdicts()); err != nil && !c.options.Force {
		return err
	}
	if c.prune != nil && !c.options.Force {
		if err := refuseTooMuch("archives", c.prune.verdicts); err != nil {
			return err
		}
	}
	going := len(c.going()) + len(c.purge)
	if c.prune != nil {
		going += len(c.prune.going())
	}
	if going == 0 || c.options.Yes {
		return nil
	}
	if !c.app.global.JSON {
		if err := c.list(); err != nil {
			return err
		}
	}
	return c.app.confirm(fmt.Sprintf("delete %s?", plural(going, "file")))
}
