package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addPushFlags(o *recall.PushOptions, fs *pflag.FlagSet) {
	fs.BoolVar(&o.DryRun, "dry-run", false, "print what would be sent, and send nothing")
	fs.BoolVar(&o.Verify, "verify", false, "compare all that the shared memory has of this host, and send what differs")
	fs.BoolVar(&o.TakeOver, "take-over", false, "take the name of this host over from another memory, and drop what that one has sent and this one lacks")
}

func newPushCommand(a *app) *cobra.Command {
	var o recall.PushOptions
	c := &cobra.Command{
		Use:   "push",
		Short: "Send the memory of this host to the one that many hosts share",
		Long: `Send what is new or changed in the memory of this host to a PostgreSQL server,
where "sessctl recall --everywhere" finds it from every host. A push can be
repeated and cut off at any time: nothing is stored twice, the next one goes
on, and "sent" means that it was read back from the server. What was forgotten
here is forgotten there and by all hosts; what others have forgotten is
forgotten here.

sessctl fleet join says which server, or memory.remote.url and the usual variables
and files of PostgreSQL (PGHOST, PGSERVICE, PGPASSFILE, ...). It may also be a
cluster of Weaviate: weaviate+https://NODE,NODE,NODE, with the key that
memory.remote.api_key_file or the variable WEAVIATE_API_KEY holds.

The server notes which memory pushes under which host name. A push under the same
name from another machine, or from a memory that was rebuilt, is refused and
changes nothing. If it is another machine, give it another name
(memory.remote.host). If this memory replaces the old one, use --take-over:
with --dry-run it first shows what would be dropped.

Exit codes: 0 done or nothing to do, 1 failed, 2 wrong usage, 3 some records
were not sent, 4 the memory is damaged, 75 the server cannot be reached or the
memory is busy (try again later), 130/143 interrupted.`,
		Example: `  sessctl push --dry-run
  sessctl push
  sessctl push --verify --json
  sessctl push --take-over --dry-run`,
		RunE: func(c *cobra.Command, _ []string) error { return runPush(c.Context(), a, o) },
	}
	addPushFlags(&o, c.Flags())
	return c
}

func runPush(ctx context.Context, a *app, o recall.PushOptions) error {
	host, err := recall.OwnHost(&a.Run.Settings)
	if err != nil {
		return err
	}
	shared, err := workspace.OpenShared(ctx, &a.Run.Settings, false)
	if err != nil {
		return err
	}
	defer shared.Close()
	doc := recall.PushDocument{Schema: 1, DryRun: o.DryRun, Server: shared.Address(), Host: host}
	look, err := recall.ReadMemory(ctx, a.Run)
	if err != nil {
		return err
	}
	if o.DryRun {
		defer look.Close()
		if err := recall.Preview(ctx, a.Run, recall.Transfer{Store: look, Shared: shared, TakeOver: o.TakeOver, Verify: o.Verify}, &doc); err != nil {
			return err
		}
		return errors.Join(recall.MayTakeOver(ctx, look, o), renderPush(a, doc))
	}
	err = recall.MayTakeOver(ctx, look, o)
	_ = look.Close() // it was only looked at
	if err != nil {
		return err
	}
	store, err := memory.Open(ctx, a.MemoryDir(), memory.Options{Pins: a.Pins})
	if err != nil {
		return fmt.Errorf("open memory: %w", err)
	}
	defer store.Close()
	pushed := recall.Push(ctx, a.Run, recall.Transfer{Store: store, Shared: shared, TakeOver: o.TakeOver, Verify: o.Verify}, &doc)
	return errors.Join(pushed, tellPushed(a, doc, pushed))
}

// tellPushed says what a push has done. One that failed before it did anything has
// no result, and what is there now only one knows that came to its end.
func tellPushed(a *app, doc recall.PushDocument, pushed error) error {
	if pushed == nil || a.JSON && doc.Changed() {
		return renderPush(a, doc)
	}
	recall.TellNotes(a.Run, doc)
	if !doc.Changed() {
		return nil
	}
	_, err := fmt.Fprintln(a.Out, recall.RenderSent(doc)+"; then the push failed")
	return err
}

func renderPush(a *app, doc recall.PushDocument) error {
	recall.TellNotes(a.Run, doc)
	if doc.Notes = a.Notes; a.JSON {
		return a.printJSON(doc)
	}
	_, err := fmt.Fprintln(a.Out, recall.Render(doc))
	return err
}

// pushAfter sends what a compaction has stored, if that is configured. That it
// could not be sent is a note: the next one sends it too.
func pushAfter(ctx context.Context, a *app, compacted error, dryRun bool) error {
	if compacted != nil || dryRun || !workspace.Shares(&a.Run.Settings) || !a.Config.Memory.Remote.AfterCompact {
		return compacted
	}
	quiet := a.inner()
	defer quiet.Leave()
	quiet.JSON = true // whose document nobody reads
	if err := runPush(ctx, quiet, recall.PushOptions{}); err != nil && ctx.Err() == nil {
		a.Notice(workspace.Note{Message: "not sent to the shared memory: " + err.Error(), Hint: "sessctl push tries again"})
	}
	return ctx.Err()
}
