package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
)

// examineProfiles reports of every profile whether its last run succeeded.
func examineProfiles(ctx context.Context, run *workspace.Run, f *findings) error {
	runs, err := audit.ListedRuns(ctx, run)
	if err != nil {
		return err
	}
	failed := audit.LastFailures(runs)
	for _, r := range failed {
		f.warn("", r.Profile+": "+audit.FailureOf(r), audit.AdviseRun(r.Profile))
	}
	if len(failed) == 0 && len(runs) > 0 {
		f.ok("", "the last run of every profile succeeded")
	}
	return nil
}

// examineRuns reports the changes that earlier runs began, and what settling
// them will do.
func (d *checkup) examineRuns(context.Context) error {
	journal := d.Journal()
	intents, unreadable, err := journal.Examine()
	if err != nil {
		return err
	}
	for _, u := range unreadable {
		id := strings.TrimSuffix(filepath.Base(u.Path), ".json")
		d.problem(u.Path, u.Err.Error()+"; until it is decided, nothing is deleted", "update sessctl, if a newer one has made it; "+removal.AdviseGiveUp(id))
	}
	d.intents = intents
	for _, in := range intents {
		d.examineRun(journal.Path(in.ID), in)
	}
	given, err := journal.GivenUp().List()
	if err != nil {
		return err
	}
	for _, s := range d.sessions.Sessions {
		isKept := func(in compact.Intent) bool {
			return in.Rotation.Kept == s.Path || workspace.SameFile(in.Rotation.Kept, s.Path)
		}
		if !strings.Contains(s.Path, ".rotated.") || slices.ContainsFunc(intents, isKept) {
			continue
		}
		if slices.ContainsFunc(given, func(in compact.Intent) bool { return in.Names(s.Path) }) {
			d.note(s.Path, "an old log; the change that put it aside was given up", "keep it until sessctl archive --session "+s.ID+" and sessctl archives verify have ended with 0: then every byte of it is in an archive, and it can go")
		} else {
			d.warn(s.Path, "a log that was rotated away, and no run remembers it", "sessctl archive --session "+s.ID+" makes sure that its bytes are in the archive")
		}
	}
	if len(intents)+len(unreadable) == 0 {
		d.ok(journal.Dir, "no run was left unfinished")
	}
	return nil
}

// examineRun reports one change.
func (d *checkup) examineRun(path string, in compact.Intent) {
	r := in.Rotation
	what := fmt.Sprintf("%s, begun %s ago", in, wording.Age(d.Now().Sub(r.At)))
	if _, ok := d.StoresByRoot(d.stores)(r.Runtime, r.Store); !ok && r.Store != "" {
		d.warn(path, what+": its store "+r.Store+" is not found", "name it with --store "+r.Runtime+"="+r.Store+"; if it is gone for good: "+removal.AdviseGiveUp(in.ID))
		return
	}
	if !in.Kind.Known() {
		d.problem(path, what+": no change that this version knows; until it is decided, its session is neither changed nor deleted", "update sessctl, if a newer one has made it; "+removal.AdviseGiveUp(in.ID))
		return
	}
	if note, stuck := d.Journal().Note(in.ID); stuck {
		d.problem(path, what+", could not be finished: "+note.Reason+"; until it is decided, its session is neither changed nor deleted", adviseStuck(d.Run, in))
		return
	}
	if !in.Switched {
		d.warn(path, what+", is not finished: settling finishes it, or drops it if the session has gone on", audit.AdviseFix)
		return
	}
	info, err := os.Lstat(r.Kept)
	switch {
	case r.Kept == "" || os.IsNotExist(err):
		d.note(path, what+", is done: settling drops the entry", audit.AdviseFix)
	case err != nil:
		d.warn(r.Kept, err.Error(), "")
	case info.Size() != in.Settled:
		d.warn(r.Kept, fmt.Sprintf("%s: %d bytes reached the old log since: settling archives and remembers them", what, info.Size()-in.Settled), audit.AdviseFix)
	case in.Late != nil && in.Late.Proof.Waiting:
		d.note(r.Kept, fmt.Sprintf("%s: what was added to the old log since is archived and remembered, and waits for the session that follows to begin and to be idle: %s", what, in.Late.Proof.Reason), "")
	default:
		d.note(r.Kept, what+": the old log is kept until nobody can write it any more", "")
	}
}

// adviseStuck says what can be done about a change that no run can finish.
func adviseStuck(run *workspace.Run, in compact.Intent) string {
	advice := ""
	items, _ := run.ArchiveTrash().List() // what cannot be listed cannot be brought back either
	for _, item := range items {
		e, err := retention.ArchiveOf(item)
		if err == nil && e.Runtime == in.Rotation.Runtime && e.Agent == in.Rotation.Agent && e.Session == in.Rotation.Session {
			advice += "sessctl archives prune --undelete " + e.ID + " brings back an archive of the session; "
		}
	}
	return advice + "sessctl doctor --fix tries again; " + removal.AdviseGiveUp(in.ID)
}
