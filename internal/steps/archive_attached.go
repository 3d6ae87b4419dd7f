package steps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// UndoAttached is [app.RestoreAttached] for the log that an undo has put back:
// its runtime may have removed what only lines named that were away.
func UndoAttached(ctx context.Context, run *workspace.Run, w *workspace.Workspace, r compact.Receipt) error {
	if r.Archive == nil || workspace.TraitsOf(r.Runtime).Attached == nil {
		return nil
	}
	e, err := w.Archives.Get(ctx, r.Archive.ID)
	if err != nil {
		return err
	}
	log := session.Ref{Runtime: e.Runtime, Agent: e.Agent, ID: e.Session, Path: e.Source}
	home, err := RestoreRequest(ctx, run, e, compact.Destination{Log: log}, RestoreOptions{})
	if err == nil {
		_, err = RestoreAttached(ctx, run, w, e, home)
	}
	return err
}

// tellOther tells of a file that is there and is not what its hash names.
func tellOther(ctx context.Context, run *workspace.Run, file session.Ref) {
	f, err := run.Pins.OpenRegular(file.Path)
	if err == nil {
		defer f.Close()
		var there session.Snapshot
		if there, err = session.TakeSnapshot(ctx, f, file.Path); err == nil && there.SHA256 == file.ID {
			return
		}
	}
	run.Notice(workspace.Note{
		Path: file.Path, Message: strings.TrimSuffix(fmt.Sprintf("the session names it, and it is not the file that was named: %v", err), ": <nil>"),
		Hint: "sessctl restore " + file.ID + " --to " + session.ShellWord(file.Path) + " --force puts the archived one in its place",
	})
}

// Attachments says where the files belong that an archived log names, once the log
// lies at a place: where its store has them, or in a directory beside it.
func Attachments(request compact.RestoreRequest) (of func(hash string) session.Ref, dir string) {
	if attacher := session.CapabilitiesOf(request.Store).Attacher; attacher != nil {
		return attacher.Attachment, filepath.Dir(attacher.Attachment("-").Path)
	}
	dir = request.Place.Path + ".blobs"
	return func(hash string) session.Ref {
		return session.Ref{Runtime: request.Place.Ref.Runtime, ID: hash, Kind: session.KindOutput, Path: filepath.Join(dir, hash)}
	}, dir
}

// RestoreAttached puts the files that an archived log names where they belong
// ([attachments]), if they are not there, also if they were archived with the log
// of another home. It returns how many, and tells which are in no archive.
func RestoreAttached(ctx context.Context, run *workspace.Run, w *workspace.Workspace, e archive.Entry, place compact.RestoreRequest) (restored int, err error) {
	hashes, err := audit.AttachedTo(ctx, w.Archives, e)
	if err != nil {
		return 0, err
	}
	var missing []session.Ref
	of, _ := Attachments(place)
	for _, hash := range hashes {
		log := of(hash)
		if _, err := os.Lstat(log.Path); err == nil {
			tellOther(ctx, run, log)
			continue
		}
		file, there, err := audit.AttachmentOf(ctx, w.Archives, e.Runtime, hash)
		if err != nil {
			return restored, err
		}
		if !there {
			missing = append(missing, log)
			continue
		}
		to := compact.Destination{Log: log}
		if place.Store == nil {
			to.To = log.Path
		}
		done, err := restoreFile(ctx, run, w, file, to)
		if err != nil {
			return restored, err
		}
		if done {
			restored++
		}
	}
	return restored, errors.Join(ctx.Err(), removal.TellMissing(ctx, run, w.Archives, e.Source, missing))
}

// restoreFile puts one of them back, in its store or outside of every one.
func restoreFile(ctx context.Context, run *workspace.Run, w *workspace.Workspace, file archive.Entry, to compact.Destination) (done bool, err error) {
	request, err := RestoreRequest(ctx, run, file, to, RestoreOptions{})
	if err != nil {
		return false, err
	}
	plan, err := w.Compactor.PlanRestore(ctx, request)
	if err != nil {
		return false, RestoreFailure(err)
	}
	result, err := w.Compactor.Restore(ctx, plan)
	if err != nil || result.Outcome != compact.Restored {
		return false, err
	}
	return true, noteRestored(run, plan)
}
