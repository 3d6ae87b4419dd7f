package compact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// errOtherBytes is returned for a file that is not what its hash names.
var errOtherBytes = errors.New("it is not the file that the hash names")

// KeepAttached archives the files that the records of a log name and that lie
// elsewhere, before the log itself: a copy of the log that needs them is never
// made first. It returns where those belong that are gone, or that are other
// files by now: the log is archived without them. The first of stores is that of the log;
// where a log lies elsewhere, what it names may be in another one of its runtime.
func KeepAttached(ctx context.Context, archiver Archiver, pins *durable.Pins, log io.Reader, stores ...session.Store) (missing []session.Ref, err error) {
	can := stores[0].Capabilities()
	if can.Attached == nil || can.Attacher == nil {
		return nil, nil
	}
	hashes, err := can.Attached(ctx, log)
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	for _, hash := range hashes {
		ref := can.Attacher.Attachment(hash)
		err := keepAttachment(ctx, archiver, pins, ref, hash)
		for i := 1; i < len(stores) && errors.Is(err, fs.ErrNotExist); i++ {
			if other := stores[i].Capabilities().Attacher; other != nil && stores[i].Runtime() == can.Runtime {
				err = keepAttachment(ctx, archiver, pins, other.Attachment(hash), hash)
			}
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errOtherBytes) {
			missing = append(missing, ref)
		} else if err != nil {
			return missing, unarchived{fmt.Errorf("archive %s, which the session names: %w", ref.Path, err)}
		}
	}
	return missing, nil
}

// keepAttachment archives one file. It may have other names: nothing but reading
// happens to it.
func keepAttachment(ctx context.Context, archiver Archiver, pins *durable.Pins, ref session.Ref, hash string) error {
	d, err := logfile.OpenPinned(pins, filepath.Dir(ref.Path))
	if err != nil {
		return err
	}
	defer d.Close()
	file, info, err := d.OpenLog(filepath.Base(ref.Path))
	if err != nil {
		return err
	}
	defer file.Close()
	snap, err := session.TakeSnapshot(ctx, file, ref.Path)
	if err != nil {
		return fmt.Errorf("take snapshot: %w", err)
	}
	if snap.SHA256 != hash {
		return errOtherBytes
	}
	archived, err := archiver.Put(ctx, ref, snap, io.NewSectionReader(file, 0, info.Size()))
	if err == nil && archived.SHA256 != hash {
		err = errOtherBytes
	}
	return err
}
