package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addPushFlags(o *recall.PushOptions, fs *pflag.FlagSet) {
	fs.BoolVar(&o.DryRun, "dry-run", false, "print what would be sent, and send nothing")
	fs.BoolVar(&o.SetUp, "setup", false, "make the tables of the shared memory, or bring them up to date, and send nothing")
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

The server is named by memory.remote.url and by the usual variables and files
of PostgreSQL (PGHOST, PGSERVICE, PGPASSFILE, ...). It may also be a cluster of
Weaviate: weaviate+https://NODE,NODE,NODE, with the key that
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
  sessctl push --setup
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
	shared, err := workspace.OpenShared(ctx, &a.Run.Settings, o.SetUp && !o.DryRun)
	if err != nil {
		return err
	}
	defer shared.Close()
	doc := recall.PushDocument{Schema: 1, DryRun: o.DryRun, SetUp: o.SetUp && !o.DryRun, Server: shared.Address(), Host: host}
	if doc.SetUp {
		return tellSetUp(ctx, a, shared, doc)
	}
	look, err := recall.ReadMemory(ctx, a.Run)
	if err != nil {
		return err
	}
	if o.DryRun {
		defer look.Close()
		return previewPush(ctx, a, recall.Transfer{Store: look, Shared: shared, TakeOver: o.TakeOver, Verify: o.Verify}, doc)
	}
	err = recall.MayTakeOver(ctx, look, o)
	_ = look.Close() // it was only looked at
	if err != nil {
		return err
	}
	store, err := memory.Open(ctx, a.MemoryDir(), memory.Options{})
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

// tellSetUp says what was set up.
func tellSetUp(ctx context.Context, a *app, shared workspace.SharedMemory, doc recall.PushDocument) error {
	counts, err := shared.Count(ctx)
	if err != nil {
		return workspace.ExplainShared(err)
	}
	doc.Engine, doc.Words = counts.Engine, counts.Words
	if counts.Unused != "" {
		a.Notice(workspace.Note{Message: "not used: " + counts.Unused, Hint: "docs/fleet.md says what the server needs for it"})
	}
	return renderPush(a, doc)
}

func previewPush(ctx context.Context, a *app, p recall.Transfer, doc recall.PushDocument) error {
	pusher := remote.Pusher{Local: p.Store, Shared: p.Shared, Host: doc.Host, Server: p.Shared.Server(), Compare: p.Verify, TakeOver: p.TakeOver}
	other, err := pusher.Preview(ctx)
	if err != nil {
		return workspace.ExplainShared(err)
	}
	if other.Records > 0 && !p.TakeOver {
		return workspace.ExplainShared(other.Refusal(doc.Host))
	}
	if p.TakeOver {
		doc.Other = &other
	}
	f, err := pusher.Foresee(ctx)
	if err != nil {
		return workspace.ExplainShared(err)
	}
	doc.Pending, doc.LeftToSend = &f.Unshared, f.Records
	doc.Honoured, doc.Compared, doc.SetBack = f.Honoured, f.Compared, f.SetBack
	counts, err := p.Shared.Count(ctx)
	if err != nil {
		return workspace.ExplainShared(err)
	}
	doc.ThereNow = counts.Of(doc.Host)
	return errors.Join(recall.MayTakeOver(ctx, p.Store, recall.PushOptions{TakeOver: p.TakeOver}), renderPush(a, doc))
}

func renderPush(a *app, doc recall.PushDocument) error {
	recall.TellNotes(a.Run, doc)
	doc.Notes = a.Notes
	if a.JSON {
		return a.printJSON(doc)
	}
	to := wording.Visible(doc.Server)
	if doc.SetUp {
		_, err := fmt.Fprintf(a.Out, "the shared memory at %s is set up (%s, words by %s); nothing was sent\n", to, wording.Visible(doc.Engine), wording.Visible(doc.Words))
		return err
	}
	if doc.Other != nil {
		return renderTakeOver(a, doc)
	}
	if doc.DryRun {
		_, err := fmt.Fprintln(a.Out, recall.RenderPending(doc))
		return err
	}
	_, err := fmt.Fprintf(a.Out, "%s; it has %s of %s\n", recall.RenderSent(doc), wording.Plural(doc.ThereNow, "record"), wording.Visible(doc.Host))
	return err
}

// renderTakeOver says what --take-over would take over.
func renderTakeOver(a *app, doc recall.PushDocument) error {
	to, host := wording.Visible(doc.Server), wording.Visible(doc.Host)
	if doc.Other.Records == 0 {
		_, err := fmt.Fprintf(a.Out, "%s has nothing of %s from another memory: sessctl push does it\n", to, host)
		return err
	}
	last := "at a time that is not known"
	if doc.Other.LastPush > 0 {
		last = "last on " + time.UnixMilli(doc.Other.LastPush).Format("2006-01-02 15:04")
	}
	_, err := fmt.Fprintf(a.Out, "%s has %s of %s that another memory has sent, %s; %d of them this memory never had, and they would be dropped there; %s would be sent\n",
		to, wording.Plural(doc.Other.Records, "record"), host, last, doc.Other.Unknown, wording.Plural(doc.Pending.Records, "record"))
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
