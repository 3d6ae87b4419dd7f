package audit

import (
	"context"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/session"
)

// AttachmentOf returns the archive of a file that records name by its hash.
func AttachmentOf(ctx context.Context, archives *archive.Store, runtime, hash string) (archive.Entry, bool, error) {
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

// AttachedTo lists the hashes of the files that an archived log names.
func AttachedTo(ctx context.Context, archives *archive.Store, e archive.Entry) ([]string, error) {
	list := workspace.TraitsOf(e.Runtime).Attached
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
func (v *Verifier) attached(ctx context.Context, e archive.Entry) error {
	hashes, err := AttachedTo(ctx, v.Archives, e)
	if err != nil {
		return err
	}
	for _, hash := range hashes {
		file, there, err := AttachmentOf(ctx, v.Archives, e.Runtime, hash)
		if err != nil {
			return err
		}
		if !there {
			return fmt.Errorf("it names a file that has no archive: blob %.12s", hash)
		}
		if workspace.Place(file) == "only" {
			continue // it has a row of its own
		}
		if err := v.Archives.Look(file); err != nil {
			return fmt.Errorf("the archive of a file that it names: %w", err)
		}
	}
	return nil
}
