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
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/spf13/cobra"
)

func newFleetCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet",
		Short: "Make hosts share one memory: set up the server, invite hosts, join",
		Long: `Let many hosts share one memory on a PostgreSQL server (docs/fleet.md): the owner of
the server sets it up and invites hosts, each host joins with the line that was
printed for it, and pushes from then on by itself.`,
		Example: `  sudo -u postgres sessctl fleet init --server db.example.org alpha beta
  sessctl fleet join -
  sessctl recall --everywhere "who moved the release"`,
	}
	c.AddCommand(newFleetInitCommand(a), newFleetJoinCommand(a))
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
reach it under that name afterwards, with TLS alone: a certificate is made if there
is none, pg_hba.conf gets a rule for the hosts of the fleet, and listen_addresses is
set. What was changed is told on stderr.

memory.remote.url and the usual variables and files of PostgreSQL say where the
server is. PGUSER counts before the role of that address. Of a cluster of Weaviate
the collections are made; it has no roles, and nobody is invited.`,
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
  sessctl fleet join - --no-schedule < line.txt`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return runFleetJoin(c.Context(), a, args[0], noSchedule) },
	}
	c.Flags().BoolVar(&noSchedule, "no-schedule", false, "install no timer")
	return c
}

// longestLine bounds, in bytes, a line that is read from stdin.
const longestLine = 64 << 10

func runFleetJoin(ctx context.Context, a *app, line string, noSchedule bool) error {
	if line == "-" {
		text, err := io.ReadAll(io.LimitReader(a.In, longestLine))
		if err != nil {
			return fmt.Errorf("read the line: %w", err)
		}
		line = string(text)
	}
	i, err := fleet.ParseLine(line)
	if err != nil {
		return err
	}
	doc, err := fleet.Join(ctx, a.Run, i)
	if err != nil {
		return err
	}
	if !noSchedule {
		doc.Schedule = scheduleJoined(ctx, a)
	}
	pushed, err := pushJoined(ctx, a)
	doc.Pushed, doc.ThereNow = err == nil, pushed.ThereNow
	if doc.Notes = a.Notes; a.JSON {
		return errors.Join(a.printJSON(doc), err)
	}
	_, failed := io.WriteString(a.Out, fleet.RenderJoin(doc))
	return errors.Join(failed, err)
}

// scheduleJoined installs what pushes every night. A host that has nothing which starts
// jobs has joined all the same.
func scheduleJoined(ctx context.Context, a *app) string {
	quiet := a.inner()
	defer quiet.Leave()
	quiet.JSON = true // whose document nobody reads
	var o unattended.ScheduleOptions
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
