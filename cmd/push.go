package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type pushOptions struct {
	DryRun   bool
	SetUp    bool
	Verify   bool
	TakeOver bool
}

func (o *pushOptions) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.DryRun, "dry-run", false, "print what would be sent, and send nothing")
	fs.BoolVar(&o.SetUp, "setup", false, "make the tables of the shared memory, or bring them up to date, and send nothing")
	fs.BoolVar(&o.Verify, "verify", false, "compare all that the shared memory has of this host, and send what differs")
	fs.BoolVar(&o.TakeOver, "take-over", false, "take the name of this host over from another memory, and drop what that one has sent and this one lacks")
}

func newPushCommand(a *app) *cobra.Command {
	var o pushOptions
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
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return runPush(c.Context(), a, o) },
	}
	o.addFlags(c.Flags())
	return c
}

// pushDocument is `push --json` (docs/json.md).
type pushDocument struct {
	Schema int    `json:"schema"`
	DryRun bool   `json:"dry_run"`
	SetUp  bool   `json:"setup"`  // the tables are made and up to date; nothing was sent
	Server string `json:"server"` // hosts, ports and database
	Host   string `json:"host"`   // the name of this host there
	remote.Report
	Pending *memory.Unshared `json:"pending,omitempty"` // of --dry-run: what would go
	Other   *remote.Other    `json:"other,omitempty"`   // of --take-over --dry-run: what another memory has there
	Indexed int              `json:"indexed"`           // months whose vectors were indexed
	Engine  string           `json:"engine,omitempty"`  // of --setup: what the server is
	Words   string           `json:"words,omitempty"`   // and what proposes records by their words
	Notes   []note           `json:"notes"`
}

// ownHost is the name of this host in the shared memory.
func (a *settings) ownHost() (string, error) {
	if name := a.config.Memory.Remote.Host; name != "" {
		return name, nil
	}
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "", usageError("set memory.remote.host", "this machine has no name: %w", cmp.Or(err, fs.ErrNotExist))
	}
	return name, nil
}

// errNoShared is the answer where a shared memory is asked for and none is named.
func errNoShared() error {
	return &failure{code: "no_shared_memory", exit: exitFailed, hint: "set memory.remote.url (docs/fleet.md), for example to postgres://db.example.org/sessctl", err: errors.New("no shared memory is configured")}
}

func runPush(ctx context.Context, a *app, o pushOptions) error {
	host, err := a.ownHost()
	if err != nil {
		return err
	}
	shared, err := a.openShared(ctx, o.SetUp && !o.DryRun)
	if err != nil {
		return err
	}
	defer shared.Close()
	doc := pushDocument{Schema: 1, DryRun: o.DryRun, SetUp: o.SetUp && !o.DryRun, Server: shared.Address(), Host: host}
	if doc.SetUp {
		return tellSetUp(ctx, a, shared, doc)
	}
	look, err := a.readMemory(ctx)
	if err != nil {
		return err
	}
	if o.DryRun {
		defer look.Close()
		return previewPush(ctx, a, preview{look, shared, o.TakeOver, o.Verify}, doc)
	}
	err = mayTakeOver(ctx, look, o)
	_ = look.Close() // it was only looked at
	if err != nil {
		return err
	}
	store, err := memory.Open(ctx, a.memoryDir(), memory.Options{})
	if err != nil {
		return fmt.Errorf("open memory: %w", err)
	}
	defer store.Close()
	pushed := a.push(ctx, store, shared, o, &doc)
	return errors.Join(pushed, tellPushed(a, doc, pushed))
}

// tellPushed says what a push has done. One that failed before it did anything has
// no result, and what is there now only one knows that came to its end.
func tellPushed(a *app, doc pushDocument, pushed error) error {
	if pushed == nil || a.JSON && doc.Changed() {
		return renderPush(a, doc)
	}
	tellNotes(a.invocation, doc)
	if !doc.Changed() {
		return nil
	}
	_, err := fmt.Fprintln(a.Out, renderSent(doc)+"; then the push failed")
	return err
}

// tellSetUp says what was set up.
func tellSetUp(ctx context.Context, a *app, shared sharedMemory, doc pushDocument) error {
	counts, err := shared.Count(ctx)
	if err != nil {
		return explainShared(err)
	}
	doc.Engine, doc.Words = counts.Engine, counts.Words
	if counts.Unused != "" {
		a.notice(note{Message: "not used: " + counts.Unused, Hint: "docs/fleet.md says what the server needs for it"})
	}
	return renderPush(a, doc)
}

// mayTakeOver refuses to drop what a memory lacks that does not have all of the
// archives yet.
func mayTakeOver(ctx context.Context, store *memory.Store, o pushOptions) error {
	if !o.TakeOver {
		return nil
	}
	incomplete, err := store.Incomplete(ctx)
	if err == nil && incomplete {
		err = &failure{code: "memory_incomplete", exit: exitFailed, hint: "sessctl memory reindex --from-archives goes on; then push again",
			err: errors.New("the memory was being made from the archives and has not all of them yet: what it still lacks would be dropped in the shared memory")}
	}
	return err
}

// preview is what a dry run looks at.
type preview struct {
	store    *memory.Store
	shared   sharedMemory
	takeOver bool
	verify   bool
}

func previewPush(ctx context.Context, a *app, p preview, doc pushDocument) error {
	pusher := remote.Pusher{Local: p.store, Shared: p.shared, Host: doc.Host, Server: p.shared.Server(), Compare: p.verify, TakeOver: p.takeOver}
	other, err := pusher.Preview(ctx)
	if err != nil {
		return explainShared(err)
	}
	if other.Records > 0 && !p.takeOver {
		return explainShared(other.Refusal(doc.Host))
	}
	if p.takeOver {
		doc.Other = &other
	}
	f, err := pusher.Foresee(ctx)
	if err != nil {
		return explainShared(err)
	}
	doc.Pending, doc.LeftToSend = &f.Unshared, f.Records
	doc.Honoured, doc.Compared, doc.SetBack = f.Honoured, f.Compared, f.SetBack
	counts, err := p.shared.Count(ctx)
	if err != nil {
		return explainShared(err)
	}
	doc.ThereNow = counts.Of(doc.Host)
	return errors.Join(mayTakeOver(ctx, p.store, pushOptions{TakeOver: p.takeOver}), renderPush(a, doc))
}

// push sends what is to be sent, and fills in the document.
func (a *invocation) push(ctx context.Context, store *memory.Store, shared sharedMemory, o pushOptions, doc *pushDocument) error {
	bar := newProgress(a)
	defer bar.clear()
	p := remote.Pusher{
		Local: store, Shared: shared, Host: doc.Host, Server: shared.Server(), Compare: o.Verify, TakeOver: o.TakeOver,
		Lock: func(ctx context.Context) (func(), error) {
			lock, err := a.lock(ctx)
			if err != nil {
				return nil, err
			}
			return lock.Unlock, nil
		},
		Progress: func(done, total int) { bar.draw("push", int64(done), int64(total)) },
	}
	var err error
	doc.Report, err = p.Push(ctx)
	if told := a.tellUnwiped(err); told != nil {
		return explainShared(told)
	}
	model, err := store.VectorModel(ctx)
	if err == nil {
		bar.draw("index", 0, 1)
		doc.Indexed, err = shared.Index(ctx, model)
	}
	return explainShared(err)
}

// tellNotes says what a push has met that its line does not say.
func tellNotes(a *invocation, doc pushDocument) {
	if doc.Damaged > 0 {
		a.notice(note{Message: plural(doc.Damaged, "record") + " damaged and not sent", Hint: "sessctl memory verify"})
	}
	if doc.Lagging > 0 {
		a.notice(note{Message: plural(doc.Lagging, "record") + " sent and kept, but not found by every node of the cluster yet; questions ask the others", Hint: "a node that was away catches up by itself; sessctl push once more shows how far it is"})
	}
	forgotten, compared := " forgotten here, because another host forgot them", "everything it has of this host was compared, and what is forgotten was sent to it again"
	if doc.DryRun {
		forgotten, compared = " would be forgotten here, because another host forgot them", "a push compares everything it has of this host, and sends it again what is forgotten"
	}
	if doc.Honoured > 0 {
		a.notice(note{Message: plural(doc.Honoured, "record") + forgotten})
	}
	if doc.SetBack {
		a.notice(note{Message: "the shared memory is in an earlier state than the last push left it in (was it restored from a backup?): " + compared})
	}
}

func renderPush(a *app, doc pushDocument) error {
	tellNotes(a.invocation, doc)
	doc.Notes = a.notes
	if a.JSON {
		return a.printJSON(doc)
	}
	to := visible(doc.Server)
	if doc.SetUp {
		_, err := fmt.Fprintf(a.Out, "the shared memory at %s is set up (%s, words by %s); nothing was sent\n", to, visible(doc.Engine), visible(doc.Words))
		return err
	}
	if doc.Other != nil {
		return renderTakeOver(a, doc)
	}
	if doc.DryRun {
		_, err := fmt.Fprintln(a.Out, renderPending(doc))
		return err
	}
	_, err := fmt.Fprintf(a.Out, "%s; it has %s of %s\n", renderSent(doc), plural(doc.ThereNow, "record"), visible(doc.Host))
	return err
}

// renderPending says what a push would do there.
func renderPending(doc pushDocument) string {
	text := fmt.Sprintf("%s would be sent to %s, which has %s of %s",
		plural(doc.Pending.Records, "record"), visible(doc.Server), plural(doc.ThereNow, "record"), visible(doc.Host))
	if n := doc.Pending.Tombstones; n > 0 {
		text += "; " + plural(n, "record") + " would be forgotten there"
	}
	if n := doc.Pending.Gone; n > 0 {
		text += "; " + plural(n, "record") + " would be dropped there"
	}
	return text
}

// renderSent says what a push has done there.
func renderSent(doc pushDocument) string {
	return fmt.Sprintf("%s sent to %s and read back (%d new or changed), %d dropped, %d forgotten",
		plural(doc.Sent, "record"), visible(doc.Server), doc.Stored, doc.Gone, doc.Removed)
}

// renderTakeOver says what --take-over would take over.
func renderTakeOver(a *app, doc pushDocument) error {
	to, host := visible(doc.Server), visible(doc.Host)
	if doc.Other.Records == 0 {
		_, err := fmt.Fprintf(a.Out, "%s has nothing of %s from another memory: sessctl push does it\n", to, host)
		return err
	}
	last := "at a time that is not known"
	if doc.Other.LastPush > 0 {
		last = "last on " + time.UnixMilli(doc.Other.LastPush).Format("2006-01-02 15:04")
	}
	_, err := fmt.Fprintf(a.Out, "%s has %s of %s that another memory has sent, %s; %d of them this memory never had, and they would be dropped there; %s would be sent\n",
		to, plural(doc.Other.Records, "record"), host, last, doc.Other.Unknown, plural(doc.Pending.Records, "record"))
	return err
}

// buryShared tells the shared memory at once what was forgotten here. Where that
// cannot be, the next push does.
func (a *invocation) buryShared(ctx context.Context, store *memory.Store) {
	if !a.shares() {
		return
	}
	if err := a.tryBury(ctx, store); err != nil {
		a.notice(note{Message: "the shared memory still has it: " + err.Error(), Hint: "the next sessctl push removes it there"})
	}
}

func (a *invocation) tryBury(ctx context.Context, store *memory.Store) error {
	ctx, cancel := context.WithTimeout(ctx, a.config.Memory.Remote.Timeout)
	defer cancel()
	host, err := a.ownHost()
	if err != nil {
		return err
	}
	shared, err := a.openShared(ctx, false)
	if err != nil {
		return err
	}
	defer shared.Close()
	p := remote.Pusher{Local: store, Shared: shared, Host: host, Server: shared.Server()}
	removed, err := p.Bury(ctx)
	if removed > 0 {
		a.notice(note{Message: plural(removed, "record") + " forgotten in the shared memory too"})
	}
	return err
}

// pushAfter sends what a compaction has stored, if that is configured. That it
// could not be sent is a note: the next one sends it too.
func (a *app) pushAfter(ctx context.Context, compacted error, dryRun bool) error {
	if compacted != nil || dryRun || !a.shares() || !a.config.Memory.Remote.AfterCompact {
		return compacted
	}
	quiet := a.inner()
	defer quiet.leave()
	quiet.JSON = true // whose document nobody reads
	if err := runPush(ctx, quiet, pushOptions{}); err != nil && ctx.Err() == nil {
		a.notice(note{Message: "not sent to the shared memory: " + err.Error(), Hint: "sessctl push tries again"})
	}
	return ctx.Err()
}
