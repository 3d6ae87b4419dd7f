package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// keepAttached archives the files that a log names, before the log itself.
func keepAttached(ctx context.Context, a *invocation, archives *archive.Store, s found) error {
	if s.store.Capabilities().Attacher == nil || s.Kind == session.KindOutput {
		return nil
	}
	log, err := a.pins.OpenSingle(s.Store, s.Path)
	if err != nil {
		return err
	}
	defer log.Close()
	missing, err := compact.KeepAttached(ctx, archiver{store: archives, now: a.now, reason: "archive"}, a.pins, s.store, log)
	if err != nil || len(missing) == 0 {
		return err
	}
	return a.tellMissing(ctx, archives, s.Path, missing)
}

// tellMissing tells which files that a log names are gone and in no archive.
func (a *invocation) tellMissing(ctx context.Context, archives *archive.Store, path string, missing []session.Ref) error {
	lost := 0
	for _, ref := range missing {
		_, there, err := attachmentOf(ctx, archives, ref.Runtime, ref.ID)
		if err != nil {
			return err
		}
		if !there {
			lost++
		}
	}
	if lost > 0 {
		a.notice(note{
			Path: path, Message: fmt.Sprintf("it names %s that %s gone: its archive lacks them", plural(lost, "file"), map[bool]string{true: "is", false: "are"}[lost == 1]),
			Hint: "put them back from a backup and archive the session again",
		})
	}
	return nil
}

// attachmentOf returns the archive of a file that records name by its hash.
func attachmentOf(ctx context.Context, archives *archive.Store, runtime, hash string) (archive.Entry, bool, error) {
	all, err := archives.List(ctx, archive.Filter{Session: hash})
	if err != nil {
		return archive.Entry{}, false, err
	}
	i := slices.IndexFunc(all, func(e archive.Entry) bool { return e.Runtime == runtime && e.SHA256 == hash })
	if i < 0 {
		return archive.Entry{}, false, nil
	}
	return all[i], true, nil
}

// isAttachment reports whether an archive is of a file that records name by its
// hash.
func isAttachment(e archive.Entry) bool {
	return traitsOf(e.Runtime).Attached != nil && e.Kind == string(session.KindOutput) && e.Session == e.SHA256
}

// attachedTo lists the hashes of the files that an archived log names.
func attachedTo(ctx context.Context, archives *archive.Store, e archive.Entry) ([]string, error) {
	list := traitsOf(e.Runtime).Attached
	if list == nil || e.Kind == string(session.KindOutput) {
		return nil, nil
	}
	log, err := archives.OpenEntry(ctx, e)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	return list(ctx, log)
}

// attached returns an error for an archive of a log that names files of which
// there is no archive: it is not the whole session.
func (v *verifier) attached(ctx context.Context, e archive.Entry) error {
	hashes, err := attachedTo(ctx, v.archives, e)
	if err != nil {
		return err
	}
	for _, hash := range hashes {
		file, there, err := attachmentOf(ctx, v.archives, e.Runtime, hash)
		if err != nil {
			return err
		}
		if !there {
			return fmt.Errorf("it names a file that has no archive: blob %.12s", hash)
		}
		if place(file) == "only" {
			continue // it has a row of its own
		}
		if err := v.archives.Look(file); err != nil {
			return fmt.Errorf("the archive of a file that it names: %w", err)
		}
	}
	return nil
}

// undoAttached is [app.restoreAttached] for the log that an undo has put back:
// its runtime may have removed what only lines named that were away.
func (a *invocation) undoAttached(ctx context.Context, w *workspace, r compact.Receipt) error {
	if r.Archive == nil || traitsOf(r.Runtime).Attached == nil {
		return nil
	}
	e, err := w.archives.Get(ctx, r.Archive.ID)
	if err != nil {
		return err
	}
	log := session.Ref{Runtime: e.Runtime, Agent: e.Agent, ID: e.Session, Path: e.Source}
	home, err := a.restoreRequest(ctx, e, compact.Destination{Log: log}, restoreOptions{})
	if err == nil {
		_, err = a.restoreAttached(ctx, w, e, home)
	}
	return err
}

// tellOther tells of a file that is there and is not what its hash names.
func (a *invocation) tellOther(ctx context.Context, file session.Ref) {
	f, err := a.pins.OpenRegular(file.Path)
	if err == nil {
		defer f.Close()
		var there session.Snapshot
		if there, err = session.TakeSnapshot(ctx, f, file.Path); err == nil && there.SHA256 == file.ID {
			return
		}
	}
	a.notice(note{
		Path: file.Path, Message: strings.TrimSuffix(fmt.Sprintf("the session names it, and it is not the file that was named: %v", err), ": <nil>"),
		Hint: "sessctl archive restore " + file.ID + " --to " + session.ShellWord(file.Path) + " --force puts the archived one in its place",
	})
}

// attachments says where the files belong that an archived log names, once the log
// lies at a place: where its store has them, or in a directory beside it.
func attachments(request compact.RestoreRequest) (of func(hash string) session.Ref, dir string) {
	if attacher := session.CapabilitiesOf(request.Store).Attacher; attacher != nil {
		return attacher.Attachment, filepath.Dir(attacher.Attachment("-").Path)
	}
	dir = request.Place.Path + ".blobs"
	return func(hash string) session.Ref {
		return session.Ref{Runtime: request.Place.Ref.Runtime, ID: hash, Kind: session.KindOutput, Path: filepath.Join(dir, hash)}
	}, dir
}

// restoreAttached puts the files that an archived log names where they belong
// ([attachments]), if they are not there, also if they were archived with the log
// of another home. It returns how many, and tells which are in no archive.
func (a *invocation) restoreAttached(ctx context.Context, w *workspace, e archive.Entry, place compact.RestoreRequest) (restored int, err error) {
	hashes, err := attachedTo(ctx, w.archives, e)
	if err != nil {
		return 0, err
	}
	var missing []session.Ref
	of, _ := attachments(place)
	for _, hash := range hashes {
		log := of(hash)
		if _, err := os.Lstat(log.Path); err == nil {
			a.tellOther(ctx, log)
			continue
		}
		file, there, err := attachmentOf(ctx, w.archives, e.Runtime, hash)
		if err != nil {
			return restored, err
		}
		if !there {
			missing = append(missing, log)
			continue
		}
		done, err := a.restoreFile(ctx, w, file, log, place.Store == nil)
		if err != nil {
			return restored, err
		}
		if done {
			restored++
		}
	}
	return restored, errors.Join(ctx.Err(), a.tellMissing(ctx, w.archives, e.Source, missing))
}

// restoreFile puts one of them back, in its store or outside of every one.
func (a *invocation) restoreFile(ctx context.Context, w *workspace, file archive.Entry, log session.Ref, outside bool) (done bool, err error) {
	to := compact.Destination{Log: log}
	if outside {
		to.To = log.Path
	}
	request, err := a.restoreRequest(ctx, file, to, restoreOptions{})
	if err != nil {
		return false, err
	}
	plan, err := w.compactor.PlanRestore(ctx, request)
	if err != nil {
		return false, restoreFailure(err)
	}
	result, err := w.compactor.Restore(ctx, plan)
	if err != nil || result.Outcome != compact.Restored {
		return false, err
	}
	return true, a.noteRestored(plan)
}
