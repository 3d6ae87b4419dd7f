package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// examineShared looks at the memory that hosts share, if one is configured.
func examineShared(ctx context.Context, run *workspace.Run, report *findings) error {
	if !workspace.Shares(&run.Settings) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, run.Config.Memory.Remote.Timeout)
	defer cancel()
	shared, err := workspace.OpenShared(ctx, &run.Settings, false)
	var f *failure.Error
	if errors.As(err, &f) {
		if remote.IsLater(err) {
			report.warn("", f.Error(), f.Hint)
		} else {
			report.problem("", f.Error(), f.Hint)
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer shared.Close()
	counts, err := shared.Count(ctx)
	if err != nil {
		return err
	}
	host, err := recall.OwnHost(&run.Settings)
	if err != nil {
		return err
	}
	report.ok("", "%s, %s, words by %s, tables of version %d: %s of %s, %s of %s", shared.Address(), counts.Engine, counts.Words, counts.Schema,
		wording.Plural(counts.Records(), "record"), wording.Plural(counts.Remembered(), "host"), wording.Plural(counts.Of(host), "record"), wording.Visible(host))
	if counts.Unused != "" {
		report.note("", "the shared memory does not use "+counts.Unused, "as its owner: sessctl fleet init (docs/fleet.md)")
	}
	return examineSent(ctx, run, report, shared, counts.Host(host))
}

// examineSent looks at what the shared memory does not have of this host, or has
// of another one.
func examineSent(ctx context.Context, run *workspace.Run, report *findings, shared workspace.SharedMemory, there remote.HostCount) error {
	store, err := workspace.GlimpseMemory(ctx, run)
	if err != nil || store == nil {
		return nil // said elsewhere
	}
	defer store.Close()
	identity, err := store.Identity(ctx)
	if err != nil {
		return err
	}
	if there.OfOtherRole {
		report.problem("", "in the shared memory the name "+wording.Visible(there.Host)+" belongs to another role; nothing is pushed", workspace.AdviseRole)
		return nil
	}
	if there.Memory != "" && there.Memory != identity {
		report.problem("", wording.Plural(there.Records, "record")+" of "+wording.Visible(there.Host)+" in the shared memory came from another memory; nothing is pushed", workspace.AdviseOther)
		return nil
	}
	n, err := recall.Unsent(ctx, run, store, shared.Server())
	if waiting := n.Records + n.Gone + n.Tombstones; err == nil && waiting > 0 {
		report.note("", fmt.Sprintf("%s not sent yet, %d to be dropped there, %d forgotten here and not there", wording.Plural(n.Records, "record"), n.Gone, n.Tombstones), "sessctl push")
	}
	return err
}
