package recall

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// PushOptions are the options of push.
type PushOptions struct {
	DryRun   bool
	Verify   bool
	TakeOver bool
}

// PushDocument is `push --json` (docs/json.md).
type PushDocument struct {
	Schema int    `json:"schema"`
	DryRun bool   `json:"dry_run"`
	Server string `json:"server"` // hosts, ports and database
	Host   string `json:"host"`   // the name of this host there
	remote.Report
	Pending *memory.Unshared `json:"pending,omitempty"` // of --dry-run: what would go
	Other   *remote.Other    `json:"other,omitempty"`   // of --take-over --dry-run: what another memory has there
	Indexed int              `json:"indexed"`           // quarters whose vectors were indexed
	Notes   []workspace.Note `json:"notes"`
}

// OwnHost is the name of this host in the shared memory.
func OwnHost(a *workspace.Settings) (string, error) {
	return HostNamed(a.Config.Memory.Remote.Host, os.Hostname)
}

// HostNamed is the name of a host: the configured one, else that of the machine. One
// that could not be an argument of ssh on other hosts is refused.
func HostNamed(configured string, ofMachine func() (string, error)) (name string, err error) {
	what, hint := "memory.remote.host", "write the name by which ssh reaches this host"
	if name = configured; name == "" {
		what, hint = "the name of this machine", "set memory.remote.host to the name by which ssh reaches it"
		if name, err = ofMachine(); err != nil {
			return "", failure.Usage(hint, "this machine has no name: %w", err)
		}
	}
	if !IsHostName(name) {
		return "", failure.Usage(hint, "%s: %q is not the name of a host", what, name)
	}
	return name, nil
}

// MayTakeOver refuses to drop what a memory lacks that does not have all of the
// archives yet.
func MayTakeOver(ctx context.Context, store *memory.Store, o PushOptions) error {
	if !o.TakeOver {
		return nil
	}
	incomplete, err := store.Incomplete(ctx)
	if err == nil && incomplete {
		err = &failure.Error{Code: "memory_incomplete", Exit: failure.ExitFailed, Hint: "sessctl memory reindex --from-archives goes on; then push again",
			Err: errors.New("the memory was being made from the archives and has not all of them yet: what it still lacks would be dropped in the shared memory")}
	}
	return err
}

// Transfer is what a push sends, or what a dry run of one looks at.
type Transfer struct {
	Store    *memory.Store          // of this host
	Shared   workspace.SharedMemory // where its records go
	TakeOver bool                   // what another memory has sent for this host may go
	Verify   bool                   // compare everything that is there
}

// Push sends what is to be sent, and fills in the document.
func Push(ctx context.Context, run *workspace.Run, t Transfer, doc *PushDocument) error {
	bar := workspace.NewProgress(run)
	defer bar.Clear()
	p := remote.Pusher{
		Local: t.Store, Shared: t.Shared, Host: doc.Host, Server: t.Shared.Server(), Compare: t.Verify, TakeOver: t.TakeOver,
		Lock: func(ctx context.Context) (func(), error) {
			lock, err := run.Lock(ctx)
			if err != nil {
				return nil, err
			}
			return lock.Unlock, nil
		},
		Progress: func(done, total int) { bar.Draw("push", int64(done), int64(total)) },
	}
	var err error
	if p.Only, err = shareOnly(ctx, run, t.Store); err != nil {
		return err
	}
	doc.Report, err = p.Push(ctx)
	if told := workspace.TellUnwiped(run, err); told != nil {
		return workspace.ExplainShared(told)
	}
	model, err := t.Store.VectorModel(ctx)
	if err == nil {
		bar.Draw("index", 0, 1)
		doc.Indexed, err = t.Shared.Index(ctx, model)
	}
	if err == nil {
		err = tellHealth(ctx, run, t.Shared, doc.Host, true)
	}
	return workspace.ExplainShared(err)
}

// TellNotes says what a push has met that its line does not say.
func TellNotes(run *workspace.Run, doc PushDocument) {
	if doc.Damaged > 0 {
		run.Notice(workspace.Note{Message: wording.Plural(doc.Damaged, "record") + " damaged and not sent", Hint: "sessctl memory verify"})
	}
	if doc.Lagging > 0 {
		run.Notice(workspace.Note{Message: wording.Plural(doc.Lagging, "record") + " sent and kept, but not found by every node of the cluster yet; questions ask the others", Hint: "a node that was away catches up by itself; sessctl push once more shows how far it is"})
	}
	tellLeftOut(run, doc)
	forgotten, compared := " forgotten here, because another host forgot them", "everything it has of this host was compared, and what is forgotten was sent to it again"
	if doc.DryRun {
		forgotten, compared = " would be forgotten here, because another host forgot them", "a push compares everything it has of this host, and sends it again what is forgotten"
	}
	if doc.Honoured > 0 {
		run.Notice(workspace.Note{Message: wording.Plural(doc.Honoured, "record") + forgotten})
	}
	if doc.SetBack {
		run.Notice(workspace.Note{Message: "the shared memory is in an earlier state than the last push left it in (was it restored from a backup?): " + compared})
	}
}

// Preview fills in what a push would do.
func Preview(ctx context.Context, run *workspace.Run, t Transfer, doc *PushDocument) (err error) {
	p := remote.Pusher{Local: t.Store, Shared: t.Shared, Host: doc.Host, Server: t.Shared.Server(), Compare: t.Verify, TakeOver: t.TakeOver}
	if p.Only, err = shareOnly(ctx, run, t.Store); err != nil {
		return err
	}
	other, err := p.Preview(ctx)
	if err != nil {
		return workspace.ExplainShared(err)
	}
	if other.Records > 0 && !t.TakeOver {
		return workspace.ExplainShared(other.Refusal(doc.Host))
	}
	if t.TakeOver {
		doc.Other = &other
	}
	f, err := p.Foresee(ctx)
	if err != nil {
		return workspace.ExplainShared(err)
	}
	doc.Pending, doc.LeftToSend = &f.Unshared, f.Records
	doc.Honoured, doc.Compared, doc.SetBack = f.Honoured, f.Compared, f.SetBack
	doc.LeftOut, doc.LeftThere = f.Left.Records, f.Left.There
	counts, err := t.Shared.Count(ctx)
	doc.ThereNow = counts.Of(doc.Host)
	return workspace.ExplainShared(err)
}

// Render is the line of a push.
func Render(doc PushDocument) string {
	switch {
	case doc.Other != nil:
		return renderTakeOver(doc)
	case doc.DryRun:
		return renderPending(doc)
	}
	return fmt.Sprintf("%s; it has %s of %s", RenderSent(doc), wording.Plural(doc.ThereNow, "record"), wording.Visible(doc.Host))
}

// renderTakeOver says what --take-over would take over.
func renderTakeOver(doc PushDocument) string {
	to, host := wording.Visible(doc.Server), wording.Visible(doc.Host)
	if doc.Other.Records == 0 {
		return fmt.Sprintf("%s has nothing of %s from another memory: sessctl push does it", to, host)
	}
	last := "at a time that is not known"
	if doc.Other.LastPush > 0 {
		last = "last on " + time.UnixMilli(doc.Other.LastPush).Format("2006-01-02 15:04")
	}
	return fmt.Sprintf("%s has %s of %s that another memory has sent, %s; %d of them this memory never had, and they would be dropped there; %s would be sent",
		to, wording.Plural(doc.Other.Records, "record"), host, last, doc.Other.Unknown, wording.Plural(doc.Pending.Records, "record"))
}

// renderPending says what a push would do there.
func renderPending(doc PushDocument) string {
	text := fmt.Sprintf("%s would be sent to %s, which has %s of %s",
		wording.Plural(doc.Pending.Records, "record"), wording.Visible(doc.Server), wording.Plural(doc.ThereNow, "record"), wording.Visible(doc.Host))
	if n := doc.Pending.Tombstones; n > 0 {
		text += "; " + wording.Plural(n, "record") + " would be forgotten there"
	}
	if n := doc.Pending.Gone; n > 0 {
		text += "; " + wording.Plural(n, "record") + " would be dropped there"
	}
	return text
}

// RenderSent says what a push has done there.
func RenderSent(doc PushDocument) string {
	return fmt.Sprintf("%s sent to %s and read back (%d new or changed), %d dropped, %d forgotten",
		wording.Plural(doc.Sent, "record"), wording.Visible(doc.Server), doc.Stored, doc.Gone, doc.Removed)
}

// BuryShared tells the shared memory at once what was forgotten here. Where that
// cannot be, the next push does.
func BuryShared(ctx context.Context, run *workspace.Run, store *memory.Store) {
	if !workspace.Shares(&run.Settings) {
		return
	}
	if err := tryBury(ctx, run, store); err != nil {
		run.Notice(workspace.Note{Message: "the shared memory still has it: " + err.Error(), Hint: "the next sessctl push removes it there"})
	}
}

func tryBury(ctx context.Context, run *workspace.Run, store *memory.Store) error {
	ctx, cancel := context.WithTimeout(ctx, run.Config.Memory.Remote.Timeout)
	defer cancel()
	host, err := OwnHost(&run.Settings)
	if err != nil {
		return err
	}
	shared, err := workspace.OpenShared(ctx, &run.Settings, false)
	if err != nil {
		return err
	}
	defer shared.Close()
	p := remote.Pusher{Local: store, Shared: shared, Host: host, Server: shared.Server()}
	removed, err := p.Bury(ctx)
	if removed > 0 {
		run.Notice(workspace.Note{Message: wording.Plural(removed, "record") + " forgotten in the shared memory too"})
	}
	return err
}

// shareOnly are the agents whose records a push sends. A pattern that names nobody is told:
// what was meant by it goes.
func shareOnly(ctx context.Context, run *workspace.Run, store *memory.Store) ([]agentset.ID, error) {
	only, unused, err := selection.Shareable(ctx, run, store)
	for _, pattern := range unused {
		run.Notice(workspace.Note{Message: fmt.Sprintf("memory.remote.except: nobody in memory is called %q", pattern), Hint: "sessctl sizes lists agents and projects"})
	}
	return only, err
}

// tellLeftOut says what a push leaves out.
func tellLeftOut(run *workspace.Run, doc PushDocument) {
	if doc.LeftOut > 0 {
		run.Notice(workspace.Note{Message: wording.Plural(doc.LeftOut, "record") + " left out (memory.remote.except)"})
	}
	if doc.LeftThere > 0 {
		run.Notice(workspace.Note{
			Message: wording.Plural(doc.LeftThere, "record") + " of these sent before, and still there",
			Hint:    "sessctl memory forget --agent NAME forgets them everywhere, here too; or, as the owner, sessctl fleet remove HOST, then push here again",
		})
	}
}
