package compact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// look remembers which bytes a log has now, without a hash for a file, and
// returns how they are read.
func look(ctx context.Context, store session.Store, ref session.Ref) (session.Snapshot, func() (io.ReadCloser, error), error) {
	if source, ok := session.SourceOf(store, ref); ok {
		snap, err := SnapshotSource(ctx, source, ref)
		return snap, func() (io.ReadCloser, error) { return source.OpenLog(ctx, ref) }, err
	}
	info, err := os.Lstat(ref.Path)
	if err != nil {
		return session.Snapshot{}, nil, fmt.Errorf("look at the log: %w", err)
	}
	snap := session.Observe(ref.Path, info)
	return snap, func() (io.ReadCloser, error) {
		f, err := durable.OpenSingle(ref.Store, ref.Path)
		if err != nil {
			return nil, err
		}
		return section(f, snap.Size), nil
	}, nil
}

// SnapshotSource pins the bytes of a session that is not a file, by length and
// hash.
func SnapshotSource(ctx context.Context, source session.LogSource, ref session.Ref) (session.Snapshot, error) {
	log, err := source.OpenLog(ctx, ref)
	if err != nil {
		return session.Snapshot{}, fmt.Errorf("read the session: %w", err)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, log)
	if err := errors.Join(err, log.Close()); err != nil {
		return session.Snapshot{}, fmt.Errorf("read the session: %w", err)
	}
	return session.Snapshot{Path: ref.Path, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

// secureSource archives a session that is not a file. Its bytes are pinned by
// their hash: what the archive got is compared with it.
func (r *run) secureSource(ctx context.Context, source session.LogSource) error {
	if err := r.pinSource(ctx, source); err != nil {
		return err
	}
	log, err := source.OpenLog(ctx, r.plan.Ref)
	if err != nil {
		return fmt.Errorf("read the session: %w", err)
	}
	err = r.archive(ctx, log)
	return errors.Join(err, log.Close())
}

func (r *run) pinSource(ctx context.Context, source session.LogSource) error {
	snap, err := SnapshotSource(ctx, source, r.plan.Ref)
	if errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	if err != nil {
		return err
	}
	if !snap.SameBytes(r.plan.seen) {
		return &session.BusyError{Path: r.plan.Ref.Path, Reason: "it changed while it was read"}
	}
	r.snapshot, r.result.Bytes = snap, snap.Size
	return nil
}

// rememberLive remembers a session without a copy of it.
func (r *run) rememberLive(ctx context.Context) error {
	if source, ok := session.SourceOf(r.store, r.plan.Ref); ok {
		if err := r.pinSource(ctx, source); err != nil {
			return err
		}
		return r.remember(ctx, func() (io.ReadCloser, error) { return source.OpenLog(ctx, r.plan.Ref) })
	}
	log, err := openLog(r.plan.Ref.Store, r.plan.Ref.Path)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := r.pin(ctx, log); err != nil {
		return err
	}
	return r.remember(ctx, func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(log, 0, r.snapshot.Size)), nil
	})
}
