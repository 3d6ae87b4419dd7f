package cmd

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

const adviseFix = "sessctl doctor --fix, or the next compaction, does it"

// examineRuns reports the changes that earlier runs began, and what settling
// them will do.
func (d *checkup) examineRuns(context.Context) error {
	journal := d.journal()
	intents, unreadable, err := journal.Examine()
	if err != nil {
		return err
	}
	for _, u := range unreadable {
		d.problem(u.Path, u.Err.Error(), "it may be all that remembers a half-done change: update sessctl, or ask before you remove it; no run goes on until then")
	}
	d.intents = intents
	waiting := map[string]bool{}
	for _, in := range intents {
		waiting[in.Rotation.Kept] = true
		d.examineRun(journal.Path(in.ID), in)
	}
	for _, s := range d.sessions.sessions {
		if strings.Contains(s.Path, ".rotated.") && !waiting[s.Path] {
			d.warn(s.Path, "a log that was rotated away, and no run remembers it", "sessctl archive --session "+s.ID+" makes sure that its bytes are in the archive")
		}
	}
	if len(intents)+len(unreadable) == 0 {
		d.ok(journal.Dir, "no run was left unfinished")
	}
	return nil
}

func (d *checkup) journal() compact.Journal { return compact.Journal{Dir: d.journalDir()} }

// examineRun reports one change.
func (d *checkup) examineRun(path string, in compact.Intent) {
	r := in.Rotation
	what := fmt.Sprintf("%s of session %s of %s, begun %s ago", kindName(in.Kind), r.Session, r.Agent, formatAge(d.now().Sub(r.At)))
	if _, ok := storesByRoot(d.stores)(r.Runtime, r.Store); !ok && r.Store != "" {
		d.warn(path, what+": its store "+r.Store+" is not found", "name it with --store "+r.Runtime+"="+r.Store)
		return
	}
	if !in.Switched {
		d.warn(path, what+", is not finished: settling finishes it, or drops it if the session has gone on", adviseFix)
		return
	}
	info, err := os.Lstat(r.Kept)
	switch {
	case r.Kept == "" || os.IsNotExist(err):
		d.note(path, what+", is done: settling drops the entry", adviseFix)
	case err != nil:
		d.warn(r.Kept, err.Error(), "")
	case info.Size() != in.Settled:
		d.warn(r.Kept, fmt.Sprintf("%s: %d bytes reached the old log since: settling archives and remembers them", what, info.Size()-in.Settled), adviseFix)
	case in.Late != nil && in.Late.Proof.Waiting:
		d.note(r.Kept, fmt.Sprintf("%s: what was added to the old log since is archived and remembered, and waits for the session that follows to begin and to be idle: %s", what, in.Late.Proof.Reason), "")
	default:
		d.note(r.Kept, what+": the old log is kept until nobody can write it any more", "")
	}
}

// kindName is a kind of change for people.
func kindName(k compact.Kind) string {
	if k == compact.KindRotation {
		return "rotation"
	}
	return string(k)
}

// lockLister is a store whose runtime keeps lock files.
type lockLister interface {
	Locks(ctx context.Context, now time.Time) ([]session.RuntimeLock, error)
}

// examineRuntimeLocks reports the runtimes' own locks: whose they are, and
// whether they still count.
func (d *checkup) examineRuntimeLocks(ctx context.Context) error {
	seen := 0
	for _, store := range d.stores {
		lister, ok := store.(lockLister)
		if !ok {
			continue
		}
		locks, err := lister.Locks(ctx, d.now())
		if err != nil {
			return err
		}
		for _, lock := range locks {
			d.examineRuntimeLock(lock)
		}
		seen += len(locks)
	}
	if seen == 0 {
		d.ok("", "no runtime holds a lock")
	}
	return nil
}

func (d *checkup) examineRuntimeLock(l session.RuntimeLock) {
	age := formatAge(d.now().Sub(l.Since))
	const remove = "the runtime removes it by itself; sessctl never does"
	switch {
	case !l.Stale && l.Process == 0:
		d.note(l.Path, fmt.Sprintf("a lock that does not say whose it is, %s old: the session is taken for busy", age), "")
	case !l.Stale:
		d.note(l.Path, fmt.Sprintf("process %d holds it since %s: the session is busy", l.Process, age), "")
	case l.Process == 0:
		d.note(l.Path, fmt.Sprintf("a lock that does not say whose it is, %s old: it does not count", age), remove)
	case l.Alive:
		d.note(l.Path, fmt.Sprintf("process %d has had it for %s, longer than the runtime itself allows: it does not count", l.Process, age), remove)
	default:
		d.note(l.Path, fmt.Sprintf("left by process %d, which is gone, %s ago: it does not count", l.Process, age), remove)
	}
}

// examineLeftovers reports temporary files of killed runs.
func (d *checkup) examineLeftovers(ctx context.Context) error {
	places, err := d.placesOfLeftovers(ctx)
	if err != nil {
		return err
	}
	found := 0
	for _, place := range places {
		paths, err := durable.Leftovers(place.dir, 0)
		if err != nil {
			d.warn(place.dir, err.Error(), "")
			continue
		}
		found += len(paths)
		for _, path := range paths {
			d.note(path, "half-written by a run that was cut off", place.advice)
		}
	}
	if found == 0 {
		d.ok("", "no temporary files")
	}
	return nil
}
