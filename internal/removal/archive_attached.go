package removal

import (
	"context"
	"fmt"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// keepAttached archives the files that a log names, before the log itself.
func keepAttached(ctx context.Context, run *workspace.Run, archives *archive.Store, s workspace.Found) error {
	if s.Adapter.Capabilities().Attacher == nil || s.Kind == session.KindOutput {
		return nil
	}
	log, err := run.Pins.OpenSingle(s.Store, s.Path)
	if err != nil {
		return err
	}
	defer log.Close()
	stores := append([]session.Store{s.Adapter}, run.Opened...)
	missing, err := compact.KeepAttached(ctx, workspace.Archiver{Store: archives, Now: run.Now, Reason: "archive"}, run.Pins, log, stores...)
	if err != nil || len(missing) == 0 {
		return err
	}
	return TellMissing(ctx, run, archives, s.Path, missing)
}

// TellMissing tells which files that a log names are gone and in no archive.
func TellMissing(ctx context.Context, run *workspace.Run, archives *archive.Store, path string, missing []session.Ref) error {
	lost := 0
	for _, ref := range missing {
		_, there, err := audit.AttachmentOf(ctx, archives, ref.Runtime, ref.ID)
		if err != nil {
			return err
		}
		if !there {
			lost++
		}
	}
	if lost > 0 {
		run.Notice(workspace.Note{
			Path: path, Message: fmt.Sprintf("it names %s that %s gone: its archive lacks them", wording.Plural(lost, "file"), map[bool]string{true: "is", false: "are"}[lost == 1]),
			Hint: "put them back from a backup and archive the session again",
		})
	}
	return nil
}
