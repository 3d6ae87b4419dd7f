package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/fleet"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/unattended"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/spf13/cobra"
)

func newFleetCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet",
		Short: "Make hosts share one memory: set up the server, invite hosts, join",
		Long: `Let many hosts share one memory on a PostgreSQL server (docs/fleet.md): its owner
invites hosts, each joins with its line, and from then on pushes by itself.`,
		Example: `  sudo -u postgres sessctl fleet init --server db.example.org alpha beta
  sessctl fleet join -
  sessctl recall --everywhere "who moved the release"`,
	}
	c.AddCommand(newFleetInitCommand(a), newFleetJoinCommand(a), newFleetHostsCommand(a), newFleetRemoveCommand(a))
	return c
}

func newFleetInitCommand(a *app) *cobra.Command {
	var o fleet.InitOptions
	c := &cobra.Command{
		Use:   "init [HOST]...",
		Short: "Set up the server, or bring it up to date, and print a line for each host",
		Long: `Make the tables of the shared memory, or bring them up to date, and print a line for
each HOST with which it joins. The line is a secret: it has a password that works
until the host has joined. To invite more hosts, run it again.

A superuser of the server also makes the database, its owner and the extension
pgvector. With --server, on the machine of the server as its account, hosts can
reach it under that name afterwards, with TLS alone: docs/fleet.md says what is
changed for that. PGUSER counts before the role of memory.remote.url. A cluster of
Weaviate has no roles, and nobody is invited to it.`,
		Example: `  sudo -u postgres sessctl fleet init --server db.example.org alpha beta
  PGUSER=sessctl sessctl fleet init gamma
  sessctl fleet init`,
		Args: usageArgs(cobra.ArbitraryArgs),
		RunE: func(c *cobra.Command, args []string) error {
			o.Hosts = args
			doc, err := fleet.Init(c.Context(), a.Run, o)
			if err != nil && len(doc.Hosts) == 0 {
				return err
			}
			if doc.Notes = a.Notes; a.JSON {
				return errors.Join(err, a.printJSON(doc))
			}
			_, failed := io.WriteString(a.Out, fleet.RenderInit(doc))
			return errors.Join(err, failed)
		},
	}
	c.Flags().StringVar(&o.Server, "server", "", "let hosts reach the server under this `name`, or name:port, and invite them to it")
	c.Flags().StringVar(&o.Database, "database", "sessctl", "the `name` of the database, and of its owner, that a superuser makes")
	c.Flags().BoolVar(&o.Again, "again", false, "new lines for hosts that were invited before, whose passwords end")
	return c
}

func newFleetJoinCommand(a *app) *cobra.Command {
	var noSchedule bool
	var o unattended.ScheduleOptions
	c := &cobra.Command{
		Use:   "join LINE",
		Short: "Join the shared memory with the line that fleet init printed for this host",
		Long: `Join with the LINE that sessctl fleet init printed for this host: fleet.yaml beside
the configuration file gets the address, the name of the host and a password that
only this host has, the profile nightly is scheduled, and the memory is pushed. The
line is of no use to others afterwards.

With - the line is read from stdin: on a machine with other users, who can see the
command lines of all programs, use that. A join that was cut off can be repeated.`,
		Example: `  sessctl fleet join -
  sessctl fleet join --no-schedule -`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return runFleetJoin(c.Context(), a, args[0], o, noSchedule)
		},
	}
	c.Flags().BoolVar(&noSchedule, "no-schedule", false, "install no timer")
	c.Flags().BoolVar(&o.User, "user", false, "a timer of this user (the default unless root)")
	c.Flags().StringVar(&o.Manager, "manager", "", "what starts it: `systemd`, launchd or cron (default: the one of this machine)")
	return c
}

func newFleetHostsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "hosts",
		Short: "Say when each host last pushed, uploaded and read its archives",
		Long: `List the hosts of the shared memory, as they told at the end of their last push
or run. sessctl status --fleet says which hosts need somebody.`,
		Example: `  sessctl fleet hosts`,
		RunE: func(c *cobra.Command, _ []string) error {
			doc, err := fleet.Hosts(c.Context(), a.Run)
			if err != nil {
				return err
			}
			if doc.Notes = a.Notes; a.JSON {
				return a.printJSON(doc)
			}
			t := table{columns: []column{{name: "HOST", least: 6}, {name: "RECORDS", right: true}, {name: "PUSHED"}, {name: "UPLOADED"}, {name: "READ IN FULL"}, {name: "WRONG", least: 10}}, empty: "no host has pushed yet"}
			for i := range doc.Hosts {
				t.rows = append(t.rows, doc.Hosts[i].Cells())
			}
			return a.printListOf(false, nil, t, t.rows)
		},
	}
}

func newFleetRemoveCommand(a *app) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "remove HOST",
		Short: "Take a host out: its records in the shared memory, and its right to push",
		Long: `As the owner of the server, remove the role of a host and its records from the
shared memory. What the host itself remembers stays there; for one that is gone for
good this removes the last copy of its memory.`,
		Example: `  PGUSER=postgres sessctl fleet remove laptop --yes`,
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if !yes {
				if err := a.confirm("remove the records of " + args[0] + " from the shared memory?"); err != nil {
					return err
				}
			}
			doc, err := fleet.Remove(c.Context(), a.Run, args[0])
			if err != nil {
				return err
			}
			if doc.Notes = a.Notes; a.JSON {
				return a.printJSON(doc)
			}
			_, err = fmt.Fprintf(a.Out, "%s is no host of %s any more; %s removed there\n", wording.Visible(doc.Host), wording.Visible(doc.Server), wording.Plural(doc.Records, "record"))
			return err
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func runFleetJoin(ctx context.Context, a *app, line string, o unattended.ScheduleOptions, noSchedule bool) error {
	i, err := fleet.ReadLine(line, a.In)
	if err != nil {
		return err
	}
	doc, err := fleet.Join(ctx, a.Run, i)
	if err != nil {
		return err
	}
	if !noSchedule {
		doc.Schedule = scheduleJoined(ctx, a, o)
	}
	pushed, err := pushJoined(ctx, a)
	doc.Pushed, doc.ThereNow = err == nil && pushed.Schema > 0, pushed.ThereNow
	if doc.Notes = a.Notes; a.JSON {
		return errors.Join(a.printJSON(doc), err)
	}
	_, failed := io.WriteString(a.Out, fleet.RenderJoin(doc))
	return errors.Join(failed, err)
}

// scheduleJoined installs what pushes every night. A host that has nothing which starts
// jobs has joined all the same.
func scheduleJoined(ctx context.Context, a *app, o unattended.ScheduleOptions) string {
	quiet := a.inner()
	defer quiet.Leave()
	quiet.JSON = true // whose document nobody reads
	err := o.Validate([]string{operate.DefaultProfile})
	if err == nil {
		err = runScheduleInstall(ctx, quiet, o)
	}
	if err != nil {
		a.Notice(workspace.Note{Message: "nothing pushes by itself: " + err.Error(), Hint: failure.Explain(err).Hint})
		return ""
	}
	return operate.DefaultProfile
}

// pushJoined sends what there is. A host without a memory has nothing to send yet.
func pushJoined(ctx context.Context, a *app) (doc recall.PushDocument, err error) {
	quiet := a.inner()
	defer quiet.Leave()
	quiet.JSON, quiet.document = true, func(printed any) { doc, _ = printed.(recall.PushDocument) }
	err = runPush(ctx, quiet, recall.PushOptions{})
	if f := (*failure.Error)(nil); errors.As(err, &f) && f.Code == "no_memory" {
		a.Notice(workspace.Note{Message: "nothing is pushed yet: " + strings.TrimSpace(f.Error()), Hint: f.Hint})
		return doc, nil
	}
	return doc, err
}
