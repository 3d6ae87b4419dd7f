package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
	"github.com/sessctl/sessctl/pkg/session/livelog"
)

// rotatedMark is between the name of a log and the time when it was rotated.
const (
	rotatedMark = ".rotated."
	stampForm   = "2006-01-02T15-04-05.000Z"
)

var rotatedName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^session\.jsonl\.rotated\.\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}Z$`)
})

// PlanRotation implements [session.Rotator].
func (s *Store) PlanRotation(_ context.Context, ref session.Ref, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	d, name, err := s.openLive(ref.Path)
	if err != nil {
		return session.Rotation{}, err
	}
	defer d.Close()
	now = now.UTC().Truncate(time.Millisecond)
	kept, err := d.FreeName(func(try int) string {
		return name + rotatedMark + now.Add(time.Duration(try)*time.Millisecond).Format(stampForm)
	})
	return session.Rotation{
		Runtime: session.RuntimeAgent, Agent: agentName, Session: ref.ID, Store: s.root,
		Live: ref.Path, Kept: d.At(kept), At: now, Snapshot: snap,
	}, err
}

// Rotate implements [session.Rotator]: an empty log, as a new session has one
// (S7.1), takes the place of the old one, and metadata.json counts from 0
// again.
func (s *Store) Rotate(ctx context.Context, r session.Rotation) error {
	d, err := s.openRotation(r)
	if err != nil {
		return err
	}
	defer d.Close()
	nothing, err := livelog.Proof(func(io.Writer) error { return nil })
	if err != nil {
		return err
	}
	change := &livelog.Change{Root: d.Root, Plan: session.Shortening{Rotation: r, After: nothing}, Step: s.step}
	if err := change.Replace(ctx, func(io.Writer, *os.File) error { return nil }); err != nil {
		return err
	}
	return countFromZero(d)
}

// openRotation checks that a rotation, which may come from a journal, stays in
// one directory of this store.
func (s *Store) openRotation(r session.Rotation) (*directory.Directory, error) {
	d, name, err := directory.Of(s.base, r.Live, 1)
	if err != nil {
		return nil, err
	}
	if name != logName || r.Kept != d.At(filepath.Base(r.Kept)) || !rotatedName().MatchString(filepath.Base(r.Kept)) {
		err = fmt.Errorf("rotate %s: the plan names files that do not belong together", r.Live)
	} else {
		err = d.InPlace()
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// countFromZero sets messageCount in metadata.json. Everything else in it stays
// byte for byte, and one that cannot be read stays whole: the log is what
// counts.
func countFromZero(d *directory.Directory) error {
	raw, info, err := readSmall(d, metadataName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read metadata: %w", err)
	}
	start, end, ok := memberOf(raw, "messageCount")
	if !ok || string(raw[start:end]) == "0" {
		return nil
	}
	return durable.ReplaceFile(d.At(metadataName), info.Mode().Perm(), func(w io.Writer) error {
		_, err := w.Write(slices.Concat(raw[:start], []byte("0"), raw[end:]))
		return err
	})
}

// memberOf finds the value of a member of the object that raw is.
func memberOf(raw []byte, name string) (start, end int64, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') || !json.Valid(raw) {
		return 0, 0, false
	}
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return 0, 0, false
		}
		if key == name { // of several the last counts, as for the runtime
			end = dec.InputOffset()
			start, ok = end-int64(len(value)), true
		}
	}
	return start, end, ok
}

// Dispose removes a rotated log for good, once it is archived and settled.
func (s *Store) Dispose(ctx context.Context, r session.Rotation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, err := s.openRotation(r)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	change := &livelog.Change{Root: d.Root, Plan: session.Shortening{Rotation: r}, Step: s.step}
	return change.Dispose()
}
