package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// view is what a sessions directory held at one moment: its names, its index,
// and which entries of the index mean which log.
type view struct {
	*directory
	all    *logs
	index  *index // nil if it cannot be read
	owners owners
	main   *entry // of the agent's main session, or nil
	// frozen says why no session of the directory may be changed, "" if they
	// may be.
	frozen string
	// indexErr is why there is no index.
	indexErr error
	// fileEra is false where a database has taken the place of the files, or
	// may have.
	fileEra bool
}

// look reads names and index. frozen is what is known already about why
// nothing may be changed. An index that cannot be read is no error: the
// transcripts can still be.
func (d *directory) look(ctx context.Context, frozen string) (*view, error) {
	names, err := d.names()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", d.path, err)
	}
	v := &view{directory: d, all: sortLogs(names), frozen: frozen, fileEra: frozen == ""}
	v.index, v.indexErr = d.readIndex(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(v.indexErr, fs.ErrNotExist):
		v.freeze("there is no sessions.json")
	case v.indexErr != nil:
		v.freeze(ErrIndex.Error())
	default:
		v.freeze(v.index.unchangeable)
		v.owners = ownersOf(v.index, v.all, d.agent)
		if v.fileEra {
			v.main = v.index.mainOf(d.agent)
		}
	}
	return v, nil
}

func (v *view) freeze(reason string) {
	if v.frozen == "" {
		v.frozen = reason
	}
}

// kind returns what a log is, the index considered.
func (v *view) kind(n logName) session.Kind {
	if n.open() && len(v.owners[n.name]) == 0 {
		return session.KindOrphan
	}
	return n.kind
}

// best returns the entry that stands for a log, nil if the index does not name
// it, and whether it is the agent's main session.
func (v *view) best(n logName) (best *entry, primary bool) {
	for _, e := range v.owners[n.name] {
		if e == v.main {
			return e, true
		}
		if best == nil {
			best = e
		}
	}
	return best, false
}

// refusal says why a log is never rotated, "" if it may be.
func (v *view) refusal(n logName) string {
	switch {
	case v.frozen != "":
		return v.frozen
	case !n.open():
		return "a log that the runtime has closed: it is archived, never changed"
	case n.topic != "" && len(v.owners[n.name]) == 0 && v.names(n.session):
		return "a thread of session " + n.session + ", and which entry of sessions.json uses it is not known"
	}
	return ""
}

// names reports whether an entry of the index names a session.
func (v *view) names(id string) bool {
	for _, e := range v.index.entries {
		if e.session == id {
			return true
		}
	}
	return false
}

// newer says that a log has a format newer than those of the file era, ""
// otherwise.
func (v *view) newer(n logName) (string, error) {
	f, err := v.open(n.name)
	if err != nil {
		return "", fmt.Errorf("open log: %w", err)
	}
	defer f.Close()
	header, ok, err := piformat.ReadHeader(f)
	if err != nil {
		return "", fmt.Errorf("read the header of %s: %w", v.at(n.name), err)
	}
	if ok && header.Version > maxVersion {
		return fmt.Sprintf("its format has version %d, this tool knows up to %d", header.Version, maxVersion), nil
	}
	return "", nil
}

// lockedNow says who holds the lock of a log, "" if nobody does.
func (v *view) lockedNow(n logName, now time.Time) (string, error) {
	if !v.all.locks[n.name+lockEnd] {
		return "", nil
	}
	return v.lockedBy(n.name+lockEnd, now)
}
