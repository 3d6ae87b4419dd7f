package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type pushOptions struct {
	DryRun bool
	SetUp  bool
	Verify bool
}

func (o *pushOptions) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.DryRun, "dry-run", false, "say what would be sent, and send nothing")
	fs.BoolVar(&o.SetUp, "setup", false, "make the tables of the shared memory, or bring them up to date, and send nothing")
	fs.BoolVar(&o.Verify, "verify", false, "compare all that the shared memory has of this host, and send what differs")
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

Exit codes: 0 done or nothing to do, 1 failed, 2 wrong usage, 3 some records
were not sent, 4 the memory is damaged, 75 the server cannot be reached or the
memory is busy (try again later), 130/143 interrupted.`,
		Example: `  sessctl push --dry-run
  sessctl push --setup
  sessctl push
  sessctl push --verify --json`,
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
	Indexed int              `json:"indexed"`           // months whose vectors were indexed
	Engine  string           `json:"engine,omitempty"`  // of --setup: what the server is
	Words   string           `json:"words,omitempty"`   // and what proposes records by their words
	Notes   []note           `json:"notes"`
}

// ownHost is the name of this host in the shared memory.
func (a *app) ownHost() (string, error) {
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
		return previewPush(ctx, a, look, shared, doc)
	}
	_ = look.Close() // it was only looked whether there is one
	store, err := memory.Open(ctx, a.memoryDir(), memory.Options{})
	if err != nil {
		return fmt.Errorf("open memory: %w", err)
	}
	defer store.Close()
	return errors.Join(a.push(ctx, store, shared, o.Verify, &doc), renderPush(a, doc))
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

func previewPush(ctx context.Context, a *app, store *memory.Store, shared sharedMemory, doc pushDocument) error {
	model, err := store.VectorModel(ctx)
	if err != nil {
		return err
	}
	pending, err := store.CountUnshared(ctx, memory.ShareQuery{Server: shared.Server(), Model: model})
	if err != nil {
		return err
	}
	doc.Pending, doc.LeftToSend = &pending, pending.Records
	counts, err := shared.Count(ctx)
	if err != nil {
		return explainShared(err)
	}
	doc.ThereNow = counts.Of(doc.Host)
	return renderPush(a, doc)
}

// push sends what is to be sent, and fills in the document.
func (a *app) push(ctx context.Context, store *memory.Store, shared sharedMemory, verify bool, doc *pushDocument) error {
	bar := newProgress(a)
	defer bar.clear()
	p := remote.Pusher{
		Local: store, Shared: shared, Host: doc.Host, Server: shared.Server(), Compare: verify,
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

func renderPush(a *app, doc pushDocument) error {
	if doc.Damaged > 0 {
		a.notice(note{Message: plural(doc.Damaged, "record") + " damaged and not sent", Hint: "sessctl memory verify"})
	}
	if doc.Lagging > 0 {
		a.notice(note{Message: plural(doc.Lagging, "record") + " sent and kept, but not found by every node of the cluster yet; questions ask the others", Hint: "a node that was away catches up by itself; sessctl push once more shows how far it is"})
	}
	if doc.Honoured > 0 {
		a.notice(note{Message: plural(doc.Honoured, "record") + " forgotten here, because another host forgot them"})
	}
	if doc.SetBack {
		a.notice(note{Message: "the shared memory is in an earlier state than the last push left it in (was it restored from a backup?): all that it has of this host was compared, and it was told again what is forgotten"})
	}
	doc.Notes = a.notes
	if a.global.JSON {
		return a.printJSON(doc)
	}
	to := visible(doc.Server)
	if doc.SetUp {
		_, err := fmt.Fprintf(a.Out, "the shared memory at %s is set up (%s, words by %s); nothing was sent\n", to, visible(doc.Engine), visible(doc.Words))
		return err
	}
	if doc.DryRun {
		_, err := fmt.Fprintf(a.Out, "%s, and that %s were forgotten, would be sent to %s; %s would be dropped there, which has %s of %s\n",
			plural(doc.Pending.Records, "record"), plural(doc.Pending.Tombstones, "record"), to, plural(doc.Pending.Gone, "record"), plural(doc.ThereNow, "record"), visible(doc.Host))
		return err
	}
	_, err := fmt.Fprintf(a.Out, "%s sent to %s and read back (%d new or changed), %d dropped, %d forgotten; it has %s of %s\n",
		plural(doc.Sent, "record"), to, doc.Stored, doc.Gone, doc.Removed, plural(doc.ThereNow, "record"), visible(doc.Host))
	return err
}

// buryShared tells the shared memory at once what was forgotten here. Where that
// cannot be, the next push does.
func (a *app) buryShared(ctx context.Context, store *memory.Store) {
	if !a.shares() {
		return
	}
	if err := a.tryBury(ctx, store); err != nil {
		a.notice(note{Message: "the shared memory still has it: " + err.Error(), Hint: "the next sessctl push tells it"})
	}
}

func (a *app) tryBury(ctx context.Context, store *memory.Store) error {
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
	list, err := store.UnsharedTombstones(ctx, shared.Server())
	if err != nil {
		return err
	}
	removed, err := shared.Bury(ctx, host, list)
	if err != nil {
		return err
	}
	ids := make([]string, len(list))
	for i, f := range list {
		ids[i] = f.ID
	}
	if removed > 0 {
		a.notice(note{Message: plural(removed, "record") + " forgotten in the shared memory too"})
	}
	return store.NoteTombstones(ctx, shared.Server(), ids)
}

// pushAfter sends what a compaction has stored, if that is configured. That it
// could not be sent is a note: the next one sends it too.
func (a *app) pushAfter(ctx context.Context, compacted error, dryRun bool) error {
	if compacted != nil || dryRun || !a.shares() || !a.config.Memory.Remote.AfterCompact {
		return compacted
	}
	quiet := a.inner()
	defer quiet.leave()
	quiet.global.JSON = true // whose document nobody reads
	if err := runPush(ctx, quiet, pushOptions{}); err != nil && ctx.Err() == nil {
		a.notice(note{Message: "not sent to the shared memory: " + err.Error(), Hint: "sessctl push tries again"})
	}
	return ctx.Err()
}
