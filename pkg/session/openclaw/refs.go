package openclaw

import (
	"errors"
	"io/fs"
	"os"

	"github.com/sessctl/sessctl/pkg/session"
)

// tell makes notices of what is wrong in a directory.
func (l *lister) tell(v *view) {
	if v.fileEra {
		l.tellIndex(v)
	}
	for _, name := range v.all.odd {
		l.notice(v.at(name), "", "skipped: not a name that the runtime gives a session")
	}
}

// tellIndex says what is wrong with the index.
func (l *lister) tellIndex(v *view) {
	path := v.at(indexName)
	switch {
	case errors.Is(v.indexErr, fs.ErrNotExist):
		if len(v.all.byName) > 0 {
			l.notice(path, "if the configuration names another index (session.store), sessions here are read but never changed", "there is none beside the transcripts")
		}
	case v.indexErr != nil:
		l.notice(path, "the runtime takes it for an empty index and writes that back: keep a copy before a gateway starts", "%v", v.indexErr)
	case v.index.unchangeable != "":
		l.notice(path, "its sessions are read, not changed", "%s", v.index.unchangeable)
	}
	if v.index == nil {
		return
	}
	for _, e := range v.index.entries {
		if e.problem != "" {
			l.notice(path, "", "entry %q skipped: %s", e.key, e.problem)
		}
	}
}

// log lists one log of a directory.
func (l *lister) log(v *view, n logName) {
	path := v.at(n.name)
	info, err := v.stat(n.name)
	if errors.Is(err, fs.ErrNotExist) {
		return // gone since the directory was read
	}
	if err != nil {
		l.notice(path, "", "skipped: %v", err)
		return
	}
	if reason := unusable(info); reason != "" {
		l.notice(path, "", "skipped: %s", reason)
		return
	}
	ref := session.Ref{
		Runtime: session.RuntimeOpenClaw, Agent: v.agent, ID: n.id, Store: l.store.root,
		Path: path, Kind: v.kind(n), Bytes: info.Size(), ModTime: info.ModTime(),
	}
	if best, primary := v.best(n); best != nil {
		ref.Primary = primary
		ref.Key, ref.Model, ref.ContextWindow, ref.Counter = best.key, best.model, best.window, best.counter
	}
	ref.State, ref.Reason = l.state(v, n, info, ref.Primary)
	l.listing.Refs = append(l.listing.Refs, ref)
}

// state says whether a log may be changed, as far as that is seen without
// reading it. Of main sessions the format is looked at too.
func (l *lister) state(v *view, n logName, info os.FileInfo, primary bool) (session.State, string) {
	if reason := v.refusal(n); reason != "" {
		return session.StateUnsupported, reason
	}
	if primary {
		if reason, err := v.newer(n); err == nil && reason != "" {
			return session.StateUnsupported, reason
		}
	}
	if holder, err := v.lockedNow(n, l.now); err != nil || holder != "" {
		return session.StateBusy, holder
	}
	var busy *session.BusyError
	if errors.As(session.CheckQuiet(v.at(n.name), info, l.now, session.RecentChange), &busy) {
		return session.StateBusy, busy.Reason
	}
	return session.StateIdle, ""
}
